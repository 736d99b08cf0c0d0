"""What killed runs leave: found, named, removed or put back, and nothing else."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from rankfold import runs, storage
from rankfold.align.checkpoints import HEAD, NEWEST, PARTIAL
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
    (unfinished / CHECKPOINT_LOCK).write_text("process 1\n")
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


def test_one_that_goes_meanwhile_is_none(place, monkeypatch):
    """A run beside it ended, and this one failed."""
    Path("other.unfinished").mkdir()
    real = Path.is_dir

    def is_dir(path):
        was = real(path)
        if path.name == "other.unfinished" and was:
            path.rmdir()
        return was

    monkeypatch.setattr(Path, "is_dir", is_dir)
    assert names(runs.leftovers("run")) == OF_RUN
    assert not Path("other.unfinished").exists()


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


@pytest.mark.parametrize("function", ["take", "remove_ours"])
def test_what_the_system_refuses_is_named_and_the_others_go(place, monkeypatch, function):
    """The first error ended it, and said of what it was only the number."""
    module = sys.modules["rankfold.runs.leftovers"]
    real = getattr(module, function)

    def refused(path):
        if path.name.startswith(".run"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(module, function, refused)
    done = {one.leftover.path.name: one.stays for one in runs.clean(".")}
    assert done[f".other{RANDOM}{DRAFT}"] is False
    assert any(done.values())
    assert all(stays == Path(name).exists() for name, stays in done.items())


def test_what_somebody_else_removes_meanwhile_is_not_told(place, monkeypatch):
    module = sys.modules["rankfold.runs.leftovers"]

    def beaten(one):
        shutil.rmtree(one.path, ignore_errors=True)
        one.path.unlink(missing_ok=True)
        return False

    monkeypatch.setattr(module, "_removed", beaten)
    assert runs.clean("run") == []


class TestCheckpoints:
    """Of a checkpoint, only its own files are ever removed."""

    @pytest.fixture
    def checkpoint(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        folder = Path("run.unfinished")
        folder.mkdir()
        for name in (HEAD, NEWEST, "0000-loop.npz", f"{NEWEST}{PARTIAL}", CHECKPOINT_LOCK):
            (folder / name).touch()
        return folder

    def test_something_else_in_it_stays(self, checkpoint):
        """It went with the folder, also at the end of the run that went on from there."""
        (checkpoint / "thesis.txt").write_text("three years")
        runs.clean("run")
        assert [path.name for path in checkpoint.iterdir()] == ["thesis.txt"]
        assert runs.leftovers("run") == []

    def test_one_that_is_half_removed_is_still_known(self, checkpoint, monkeypatch):
        """Without its lock, neither a run nor clean knew it any more."""
        unlink = Path.unlink

        def interrupted(self, missing_ok=False):
            if self.name == "0000-loop.npz":
                raise PermissionError(13, "Permission denied", str(self))
            unlink(self, missing_ok)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", interrupted)
            (outcome,) = runs.clean("run")
        assert outcome.stays
        assert outcome.sentence.startswith("could not be removed: run.unfinished")
        assert names(runs.leftovers("run")) == {"run.unfinished": "unfinished"}
        assert len(runs.clean("run")) == 1
        assert list(Path().iterdir()) == []


class TestFiles:
    """What was being written is beside its place, under a name of its own."""

    @pytest.mark.parametrize("name", ["transforms.csv", "x.tar.gz", "noending", ".rankfold"])
    def test_those_that_nobody_writes_are_found(self, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        with storage.whole_file(name) as draft:
            left = Path(draft.name)
            assert runs.leftovers(".") == []
        left.touch()
        (found,) = runs.leftovers(name)
        assert (found.kind, found.run) == ("file", Path(name))
        assert "a file that was being written" in found.sentence
        runs.clean(".")
        assert [path.name for path in Path().iterdir()] == [name]

    @pytest.mark.parametrize("name", [".x.rankfold-lock", ".x-abcdefgh.rankfold-draft.csv"])
    def test_a_link_is_none_and_leads_nowhere(self, tmp_path, name):
        """What it leads to was overwritten."""
        thesis = tmp_path / "thesis.txt"
        thesis.write_text("the only copy")
        (tmp_path / name).symlink_to(thesis)
        assert runs.leftovers(tmp_path) == []
        assert runs.clean(tmp_path) == []
        assert thesis.read_text() == "the only copy"

    def test_a_lock_in_name_only_stays(self, tmp_path):
        (tmp_path / ".x.rankfold-lock").write_text("mine")
        assert runs.clean(tmp_path) == []

    def test_the_lock_of_many_runs(self, tmp_path):
        (tmp_path / LOCK).touch()
        with take(tmp_path / LOCK):
            assert runs.leftovers(tmp_path) == []
        (tmp_path / LOCK).touch()
        (found,) = runs.leftovers(tmp_path)
        assert (found.kind, found.run) == ("lock", tmp_path)
        runs.clean(tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestReplaced:
    """The folder that a run was to replace when it was killed: somebody's earlier result."""

    @pytest.fixture
    def aside(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        aside = Path(f".run{RANDOM}{REPLACED}")
        (aside / INSIDE).mkdir(parents=True)
        (aside / INSIDE / "result.json").write_text("{}")
        mark = {"format": "rankfold-folder", "format_version": 1, "files": ["result.json"]}
        (aside / INSIDE / storage.MARK).write_text(json.dumps(mark))
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

    def test_what_is_the_users_stays(self, aside):
        """It came in while the older folder went, and clean removed it without a word."""
        Path("run").mkdir()
        (aside / INSIDE / "thesis.txt").write_text("three years")
        (outcome,) = runs.clean("run")
        assert outcome.stays
        assert (aside / INSIDE / "thesis.txt").read_text() == "three years"
        assert not (aside / INSIDE / "result.json").exists()

    def test_an_empty_one_is_only_a_folder(self, aside):
        shutil.rmtree(aside / INSIDE)
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

        # As where the system cannot let two folders change places in one step.
        monkeypatch.setattr("rankfold.storage.places.exchanged", lambda *_: False)
        monkeypatch.setattr(Path, "rename", look)
        with storage.whole_or_nothing("run", overwrite=True) as draft:
            (draft / "new").touch()
        assert seen == [["draft", "lock", "replaced"]]
        assert [path.name for path in Path().iterdir()] == ["run"]
