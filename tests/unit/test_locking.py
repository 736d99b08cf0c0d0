"""Locks: who holds one, and what stays of it."""

import subprocess
import sys

from rankfold import locking
from rankfold.locking import holder_of, is_held, take


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
