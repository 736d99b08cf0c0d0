"""Names of files that are written: one each, and none outside of its folder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankfold as rf
from rankfold.io.file_names import are_distinct, distinct, flat, inside

ENDINGS = (".png", ".jpg")


def named(*names):
    return distinct(names, ENDINGS, ["png"] * len(names))


def test_without_folders_where_that_is_enough():
    assert named("p/a.png", "q/b") == ["a.png", "b.png"]


def test_folders_become_a_part_of_the_name():
    assert named("p/a.png", "q/a.png") == ["p_a.png", "q_a.png"]


def test_folders_stay_where_their_names_would_meet():
    """a/b/x and a_b/x became one file: three pictures in, two files out."""
    names = ["p/a/b/x.png", "p/a_b/x.png", "p/c/x.png"]
    assert named(*names) == names


def test_case_does_not_count_everywhere():
    assert named("A.png", "p/a.png") == ["A.png", "p_a.png"]


def test_an_ending_that_is_added_can_make_two_names_one():
    assert named("p/a", "q/a.png") == ["p_a.png", "q_a.png"]


def test_names_that_are_the_same_are_refused():
    with pytest.raises(rf.InputError, match=r"a\.png and a\.png cannot be in one folder"):
        named("a.png", "a.png")


@pytest.mark.parametrize(
    "names",
    [
        ("A.png", "a.png"),
        # An e with an accent, as one character and as two.
        ("\u00e9.png", "e\u0301.png"),
        ("a.png", "a.png/b.png", "c/b.png", "a.png_b.png"),
    ],
)
def test_names_that_some_systems_take_for_one(names):
    with pytest.raises(rf.InputError, match="cannot be in one folder on every system"):
        named(*names)


def test_a_file_is_no_folder_of_another_one():
    assert not are_distinct(["a.png", "a.png/b.png"])
    assert named("a.png", "a.png/b.png") == ["a.png", "b.png"]


def test_no_name_becomes_too_long():
    """The folder became a part of it, and nothing could be written at the end of a run."""
    long = "d" * 200
    names = [f"{long}/x{long}.png", f"e/x{long}.png"]
    assert named(*names) == names
    with pytest.raises(rf.InputError, match="too long a name"):
        named("x" * 253)


@pytest.mark.parametrize("name", ["../../a.png", "/etc/a.png", "..", "/", "", "a/../b", "a\0b"])
def test_nothing_leads_out(name, tmp_path):
    for shorten in (flat, inside):
        place = (tmp_path / shorten(name)).resolve()
        assert place.is_relative_to(tmp_path.resolve())
        assert place != tmp_path.resolve()


NAMES = st.lists(st.text("ab_/.\\\n=", min_size=1, max_size=6), min_size=1, max_size=5)


@given(NAMES)
def test_as_many_files_as_pictures_or_a_sentence(names):
    try:
        files = named(*names)
    except rf.InputError:
        return
    assert len(files) == len(names)
    assert are_distinct(files)
    assert all(".." not in Path(file).parts and not Path(file).is_absolute() for file in files)
