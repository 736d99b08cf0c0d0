"""What the words of a command line mean."""

from pathlib import Path

import pytest
import typer

from rankfold.cli.parsing import complete, one_of, run_name, shown_size, size_of


@pytest.mark.parametrize(
    ("given", "name"), [("photos", "photos"), ("photos/*.png", "photos"), ("a.ome.tif", "a")]
)
def test_the_default_folder_is_named_after_the_pictures(given, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run_name(given) == Path(f"{name}-run")


def test_pictures_in_the_working_folder_give_it_their_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run_name(".") == Path(f"{tmp_path.name}-run")


def test_a_size_is_shown_as_it_is_typed():
    assert size_of("45x42") == (45, 42)
    assert shown_size((45, 42, 3)) == "45x42"
    assert size_of(shown_size((45, 42))) == (45, 42)
    assert size_of(None) is None


@pytest.mark.parametrize("text", ["big", "45", "45x42x3", "4.5x4"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(typer.BadParameter, match="height x width, as in 240x320"):
        size_of(text)


def test_a_name_that_is_unknown_offers_the_nearest():
    check = one_of("method", lambda: ["rasl", "rpca", "meadmm"])
    assert check("rasl") == "rasl"
    assert check(None) is None
    with pytest.raises(typer.BadParameter, match=r"did you mean rasl or rpca\? choose from"):
        check("rals")


def test_names_are_completed():
    assert complete(lambda: ["rasl", "rpca", "meadmm"])("r") == ["rasl", "rpca"]
