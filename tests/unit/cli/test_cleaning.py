"""rankfold clean: what it says and removes."""

import json
import sys
from pathlib import Path

import pytest

from commands import run
from rankfold.storage import DRAFT


@pytest.fixture
def draft(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draft = Path(f".run-abcdefgh{DRAFT}")
    draft.mkdir()
    (draft / "arrays.npz").write_bytes(bytes(2000))
    return draft


@pytest.mark.parametrize("place", [[], ["."], ["run"]])
def test_says_what_it_removes(draft, place):
    outcome = run("clean", *place)
    assert outcome.stdout.splitlines() == [
        f"removed: {draft} (a draft, 2,000 bytes)",
        "2,000 bytes in all",
    ]
    assert not draft.exists()
    assert run("clean", *place).stdout == f"nothing is left over in {(place or ['.'])[0]}\n"


def test_says_what_it_cannot_remove(draft, monkeypatch):
    """It said that nothing was left over."""
    # The function of the same name hides its module.
    monkeypatch.setattr(sys.modules["rankfold.runs.leftovers"], "remove_ours", lambda _: None)
    outcome = run("clean", code=1)
    assert outcome.stdout.splitlines() == [
        f"could not be removed: {draft}; see what is in it, and whether you may write there",
        "0 bytes in all",
    ]
    (one,) = json.loads(run("clean", "--json", code=1).stdout)["cleaned"]
    assert one["stays"]


def test_the_lock_of_many_runs_in_the_working_folder(tmp_path, monkeypatch):
    """The working folder has no name, and nothing could be cleaned."""
    monkeypatch.chdir(tmp_path)
    Path(".rankfold-lock").touch()
    assert "removed: .rankfold-lock" in run("clean").stdout
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_that_are_called_like_ours(tmp_path, monkeypatch):
    """Who trains a network has a folder like this, and all but the thesis was deleted."""
    monkeypatch.chdir(tmp_path)
    for folder in (Path("model"), Path("model/x.unfinished")):
        folder.mkdir()
        (folder / "checkpoint.json").write_text('{"epoch": 3}')
        (folder / "rankfold.lock").write_text("mine")
        for name in ("newest.npz", "0003-epoch.npz", "thesis.txt"):
            (folder / name).write_text("weights")
    before = sorted(tmp_path.rglob("*"))
    for place in ("model", "model/x", "."):
        assert run("clean", place).stdout == f"nothing is left over in {place}\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_plan_only_says_it(draft):
    assert run("clean", "--plan").stdout.startswith(f"would be removed: {draft}")
    assert draft.exists()


def test_programs_get_json(draft):
    value = json.loads(run("clean", "run", "--json").stdout)
    assert value == {
        "cleaned": [
            {
                "path": str(draft),
                "kind": "draft",
                "run": "run",
                "bytes": 2000,
                "put_back": False,
                "stays": False,
            }
        ],
        "bytes": 2000,
        "plan": False,
    }
