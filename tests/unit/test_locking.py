"""Locks: who holds one, and what stays of it."""

import fcntl
import os
import platform
import subprocess
import sys

import pytest

import rankfold as rf
from rankfold import locking
from rankfold.locking import holder_of, is_held, is_lock, remove_unheld, take


def test_a_lock_is_held_once(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    lock = take(path)
    with lock:
        assert is_held(path)
        assert take(path) is None
        assert holder_of(path).startswith("process ")
    assert not path.exists()
    with take(path):
        assert is_held(path)


def test_several_may_ask_at_a_time(tmp_path):
    """Two that asked took each other for a holder."""
    path = tmp_path / "lock"
    path.touch()
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert not is_held(path)


def test_a_file_that_stays_is_not_held(tmp_path):
    path = tmp_path / "lock"
    with take(path, stays=True):
        pass
    assert path.exists()
    assert not is_held(path)
    with take(path):
        assert is_held(path)


def test_a_lock_goes_with_its_process(tmp_path):
    path = tmp_path / "lock"
    code = (
        "import sys; from pathlib import Path; from rankfold.locking import take; "
        "lock = take(Path(sys.argv[1])).__enter__(); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        assert is_held(path)
        assert str(process.pid) in holder_of(path)
        process.kill()
    assert path.exists()
    assert not is_held(path)


def test_a_file_that_its_last_holder_removes_meanwhile_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    locked = locking._lock
    opened = []

    def removed_before(file):
        opened.append(file)
        if len(opened) == 1:
            path.unlink()
        return locked(file)

    monkeypatch.setattr(locking, "_lock", removed_before)
    with take(path):
        assert len(opened) == 2
        assert path.exists()


def test_a_file_system_without_locks_holds_nothing(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locking.fcntl, "flock", unsupported)
    with take(tmp_path / "lock"), take(tmp_path / "lock"):
        assert not is_held(tmp_path / "lock")


def test_nor_does_a_system_without_them(tmp_path, monkeypatch):
    monkeypatch.setattr(locking, "fcntl", None)
    with take(tmp_path / "lock"), take(tmp_path / "lock"):
        assert not is_held(tmp_path / "lock")
    assert holder_of(tmp_path / "lock") == "another process"


def test_it_is_held_on_a_full_disk_too(tmp_path, monkeypatch):
    """Its file used to stay, because writing down who holds it failed."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with take(tmp_path / "lock"):
        assert is_held(tmp_path / "lock")
    assert not (tmp_path / "lock").exists()


class TestWhatIsNoLock:
    """Something else with such a name was emptied, or what a link led to."""

    @pytest.mark.parametrize("kind", ["link", "file", "pipe"])
    def test_it_is_left_alone(self, tmp_path, kind):
        thesis = tmp_path / "thesis.txt"
        thesis.write_text("the only copy")
        path = tmp_path / ".run.rankfold-lock"
        if kind == "link":
            path.symlink_to(thesis)
        elif kind == "file":
            path.write_text("mine, called so by chance")
        else:
            os.mkfifo(path)
        with pytest.raises(rf.WriteError, match=r"rankfold-lock is there, and is no lock"):
            take(path)
        assert not is_lock(path)
        assert thesis.read_text() == "the only copy"
        if kind == "file":
            assert path.read_text() == "mine, called so by chance"

    def test_what_a_killed_holder_wrote_is_one(self, tmp_path):
        path = tmp_path / "lock"
        path.write_text("process 12 on somewhere")
        assert is_lock(path)
        with take(path):
            assert path.read_text() == f"process {os.getpid()} on {platform.node()}"
        assert not path.exists()

    def test_an_unheld_file_is_removed_and_a_held_one_is_not(self, tmp_path):
        path = tmp_path / "lock"
        with take(path):
            assert not remove_unheld(path)
        path.write_text("a draft, with anything in it")
        assert remove_unheld(path)
        assert not path.exists()


def test_who_only_asks_keeps_nobody_from_taking_it(tmp_path, monkeypatch):
    """To ask, it is taken for a moment."""
    path = tmp_path / "lock"
    path.touch()
    asking = path.open()
    fcntl.flock(asking, fcntl.LOCK_EX)
    monkeypatch.setattr(locking.time, "sleep", lambda _: asking.close())
    with take(path) as lock:
        assert lock is not None
