"""What killed runs leave: found, named, removed or put back, and nothing else."""

import sys
from pathlib import Path

import pytest

from rankfold import runs, storage
from rankfold.align.checkpoints import LOCK as CHECKPOINT_LOCK
from rankfold.locking import take
from rankfold.runs import Leftover
from rankfold.storage import DRAFT, INSIDE, LOCK, REPLACED

RANDOM = "-a1b2_c3d"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with everything that a killed run called "run" may leave, and other things."""
    monkeypatch.chdir(tmp_path)
    draft = Path(f".run{RANDOM}{DRAFT}")
    draft.mkdir()
    (draft / "arrays.npz").write_bytes(bytes(100))
    unfinished = Path("run.unfinished")
    unfinished.mkdir()
    (unfinished / CHECKPOINT_LOCK).write_bytes(bytes(10))
    Path(f".run{LOCK}").touch()
    # None of these is a leftover of rankfold, or not of "run".
    Path(".run-old").mkdir()
    Path("mine.unfinished").mkdir()
    Path("mine.unfinished/notes.txt").touch()
    Path(f"run{RANDOM}{DRAFT}").mkdir()
    Path(f".other{RANDOM}{DRAFT}").mkdir()
    return tmp_path


def names(found):
    return {one.path.name: one.kind for one in found}


OF_RUN = {f".run{RANDOM}{DRAFT}": "draft", "run.unfinished": "unfinished", f".run{LOCK}": "lock"}
OTHERS = {".run-old", "mine.unfinished", f"run{RANDOM}{DRAFT}", f".other{RANDOM}{DRAFT}"}


def test_those_of_a_run_are_found(place):
    assert names(runs.leftovers("run")) == OF_RUN
    Path("run").mkdir()
    assert names(runs.leftovers("run")) == OF_RUN
    assert runs.leftovers("nothing") == []


def test_those_in_a_folder_are_found(place):
    everything = OF_RUN | {f".other{RANDOM}{DRAFT}": "draft"}
    assert names(runs.leftovers(".")) == names(runs.leftovers(place)) == everything
    assert {one.run.name for one in runs.leftovers(".")} == {"run", "other"}


def test_a_checkpoint_is_found_by_its_own_name(place):
    found = runs.leftovers("run.unfinished")
    assert names(found) == {"run.unfinished": "unfinished"}
    assert found[0].run == Path("run")
    Path("run.unfinished").rename("mine")
    found = runs.leftovers("mine")
    assert [(one.path, one.run) for one in found] == [(Path("mine"), Path("mine"))]


def test_they_say_what_they_are(place):
    said = {one.kind: one.sentence for one in runs.leftovers("run")}
    assert said["draft"] == (
        f"leftover of a run that was killed: .run{RANDOM}{DRAFT} (a draft); "
        "`rankfold clean run` removes it"
    )


def test_clean_removes_them_and_nothing_else(place):
    done = runs.clean("run")
    assert {one.leftover.path.name: one.size for one in done} == {
        f".run{RANDOM}{DRAFT}": 100,
        "run.unfinished": 10,
        f".run{LOCK}": 0,
    }
    assert {path.name for path in place.iterdir()} == OTHERS
    assert "removed: " in done[0].sentence
    assert "(a draft, 100 bytes)" in " ".join(one.sentence for one in done)
    assert runs.clean("run") == []


def test_a_plan_removes_nothing(place):
    before = sorted(place.rglob("*"))
    assert len(runs.clean("run", plan=True)) == 3
    assert sorted(place.rglob("*")) == before


def test_what_a_living_run_needs_stays(place):
    with take(Path(f".run{LOCK}")):
        assert runs.leftovers("run") == []
        assert runs.clean("run") == []
        assert names(runs.leftovers(".")) == {f".other{RANDOM}{DRAFT}": "draft"}
    with take(Path("run.unfinished") / CHECKPOINT_LOCK):
        assert "run.unfinished" not in names(runs.leftovers("run"))
        assert runs.leftovers("run.unfinished") == []


def test_a_run_that_begins_while_it_is_cleaned_keeps_what_it_needs(place, monkeypatch):
    # The function of the same name hides its module.
    module = sys.modules["rankfold.runs.leftovers"]
    found = runs.leftovers("run")
    monkeypatch.setattr(module, "leftovers", lambda _: found)
    with take(Path(f".run{LOCK}")):
        assert runs.clean("run") == []
    assert Path("run.unfinished").is_dir()


class TestReplaced:
    """The folder that a run was to replace when it was killed: somebody's earlier result."""

    @pytest.fixture
    def aside(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        aside = Path(f".run{RANDOM}{REPLACED}")
        (aside / INSIDE).mkdir(parents=True)
        (aside / INSIDE / "result.json").write_text("{}")
        return aside

    def test_is_put_back_where_its_place_is_empty(self, aside):
        (found,) = runs.leftovers("run")
        assert found.sentence.endswith("`rankfold clean run` puts it back or removes it")
        (done,) = runs.clean("run", plan=True)
        assert done.put_back
        assert aside.is_dir()
        (done,) = runs.clean("run")
        assert done.sentence == "put back: run, which a killed run was about to replace"
        assert done.as_dict()["put_back"] is True
        assert [path.name for path in Path().iterdir()] == ["run"]
        assert Path("run/result.json").read_text() == "{}"

    def test_is_removed_where_it_was_replaced(self, aside):
        Path("run").mkdir()
        Path("run/newer").touch()
        (done,) = runs.clean("run")
        assert not done.put_back
        assert [path.name for path in Path().rglob("*")] == ["run", "newer"]

    def test_an_empty_one_is_only_a_folder(self, aside):
        (aside / INSIDE / "result.json").unlink()
        (aside / INSIDE).rmdir()
        (done,) = runs.clean("run")
        assert not done.put_back
        assert list(Path().iterdir()) == []

    def test_is_what_a_kill_between_two_renames_leaves(self, tmp_path, monkeypatch):
        """The names here and those that :func:`whole_or_nothing` makes are the same."""
        monkeypatch.chdir(tmp_path)
        with storage.whole_or_nothing("run") as draft:
            (draft / "old").touch()
            assert names(runs.leftovers("run")) == {}
        seen = []
        rename = Path.rename

        def look(self, target):
            if self.name.endswith(DRAFT):
                with monkeypatch.context() as patched:
                    # As if this process were dead.
                    patched.setattr(Leftover, "is_in_use", False)
                    seen.append(sorted(names(runs.leftovers("run")).values()))
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", look)
        with storage.whole_or_nothing("run", overwrite=True) as draft:
            (draft / "new").touch()
        assert seen == [["draft", "lock", "replaced"]]
        assert [path.name for path in Path().iterdir()] == ["run"]
