"""Commands whose standard streams are closed, full, gone, or of few characters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankfold.process import drop_output, settle_streams

RANKFOLD = [sys.executable, "-m", "rankfold"]
# A device that is always full.
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no full device here")


def shell(command, **variables):
    """Run a command of the shell; its exit code, and what it says in bytes."""
    done = subprocess.run(
        ["sh", "-c", command, "sh", *RANKFOLD],
        capture_output=True,
        env={**os.environ, **variables},
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@needs_full
@pytest.mark.parametrize("words", ["methods", "--help"])
def test_a_full_disk_is_one_sentence(words):
    code, _, said = shell(f'"$@" {words} > /dev/full')
    assert code == 1
    assert said.decode().splitlines() == ["Error: [Errno 28] No space left on device"]


@needs_full
def test_remarks_that_cannot_be_said_stop_nothing():
    assert shell('"$@" align nowhere 2> /dev/full') == (1, b"", b"")


def test_whoever_has_read_enough_is_not_told_so():
    code, _, said = shell('"$@" settings --json | true')
    assert (code, said) == (0, b"")


def test_closed_streams_are_not_given_to_files(tmp_path):
    """A file that is opened next would get the number, and what is printed would end up there."""
    target = tmp_path / "views"
    code, _, _ = shell(f'"$@" datasets textures -o {target} --images 2 <&- >&- 2>&-')
    assert code == 0
    assert len(list(target.glob("*.png"))) == 2


def test_a_terminal_of_few_characters_gets_escapes():
    code, shown, said = shell('"$@" align "b\u00e4ume\u2603"', PYTHONIOENCODING="ascii")
    assert (code, shown) == (1, b"")
    assert b"u2603" in said
    assert b"Traceback" not in said


def test_what_nobody_takes_is_dropped(monkeypatch):
    ear, mouth = os.pipe()
    os.close(ear)
    with os.fdopen(mouth, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        stream.write("something")
        settle_streams()
        # What is left in it goes nowhere, and so does not fail when it is closed.
        stream.flush()


def test_a_stream_that_is_no_file_is_left_alone(capsys):
    drop_output(sys.stdout)
    sys.stdout.write("still there\n")
    assert capsys.readouterr().out == "still there\n"
