"""Real commands that are interrupted at a chosen moment."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import ROOT, finished_run, run
from rankfold.cli.app import Voice
from sessions import LIMIT, wait_until

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


MOMENTS = [
    ("import", 1, ["methods"]),
    ("write", 1, ["datasets", "textures", "-o", "new", "--images", "3"]),
    ("write", 3, ["datasets", "textures", "-o", "new", "--images", "3"]),
    ("write", 1, ["export", "run", "-o", "new.csv"]),
    ("write", 4, ["apply", "run", "views", "-o", "new"]),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("interrupted"))


def interrupted(place, marks, kind, number, words, signals):
    """Interrupt a command; its exit code and what it said."""
    script = [sys.executable, ROOT / "tests" / "moments.py", marks, kind, str(number)]
    process = subprocess.Popen(
        [*script, "rankfold", *words],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            wait_until(process, (marks / "here").exists)
            for one in signals:
                process.send_signal(one)
            (marks / "go").touch()
            _, said = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    return process.returncode, said


def tree(place):
    return {path: path.stat().st_mtime_ns for path in Path(place).rglob("*") if path.is_file()}


@pytest.mark.parametrize(("kind", "count", "words"), MOMENTS)
def test_it_ends_with_a_sentence_and_leaves_nothing(finished, tmp_path, kind, count, words):
    before = tree(finished)
    # Half of them by Ctrl-C, twice, because the second must not interrupt the cleaning.
    signals = [signal.SIGINT] * 2 if count == 1 else [signal.SIGTERM, signal.SIGINT]
    code, said = interrupted(finished, tmp_path, kind, count, words, signals)
    assert code in {CODES[one] for one in signals}
    words = "Stopped" if code == 130 else "Ended by SIGTERM"
    assert said.splitlines()[-1] == f"{words}; nothing was written."
    assert "Traceback" not in said
    assert tree(finished) == before


class TestWhatIsSaidOfIt:
    def test_what_was_written_is_not_denied(self, tmp_path, monkeypatch):
        """It used to say that nothing was written, whenever it came."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(Voice, "result", lambda *_: signal.raise_signal(signal.SIGTERM))
        outcome = run("datasets", "textures", "-o", "views", "--images", "2", code=143)
        assert outcome.stderr.splitlines()[-1] == "Ended by SIGTERM; views was written."
        assert len(list(Path("views").glob("*.png"))) == 2

    def test_nor_is_a_file(self, finished, monkeypatch):
        monkeypatch.chdir(finished)
        monkeypatch.setattr(Voice, "result", lambda *_: signal.raise_signal(signal.SIGINT))
        outcome = run("export", "run", "-o", "transforms.csv", code=130)
        assert outcome.stderr.splitlines()[-1] == "Stopped; transforms.csv was written."
        Path("transforms.csv").unlink()

    def test_an_error_that_a_library_makes_of_it_is_one_too(self, tmp_path, monkeypatch):
        def failing(*_):
            try:
                signal.raise_signal(signal.SIGTERM)
            except BaseException as error:
                raise ImportError("a part cannot be loaded") from error

        monkeypatch.setattr("rankfold.datasets.write_batch", failing)
        outcome = run("datasets", "textures", "-o", tmp_path / "x", code=143)
        assert outcome.stderr.splitlines()[-1] == "Ended by SIGTERM; nothing was written."


class TestDefects:
    def failing(self, *_):
        raise ZeroDivisionError("division\nby zero")

    def test_are_one_sentence(self, tmp_path, monkeypatch):
        monkeypatch.delenv("RANKFOLD_TRACEBACK", raising=False)
        monkeypatch.setattr("rankfold.datasets.write_batch", self.failing)
        said = run("datasets", "textures", "-o", tmp_path / "x", code=1).stderr
        assert said.startswith("Error: ZeroDivisionError: division by zero; this is a defect of")
        assert len(said.splitlines()) == 1

    def test_are_shown_where_they_happened_if_somebody_wants_that(self, tmp_path, monkeypatch):
        monkeypatch.setenv("RANKFOLD_TRACEBACK", "1")
        monkeypatch.setattr("rankfold.datasets.write_batch", self.failing)
        outcome = run("datasets", "textures", "-o", tmp_path / "x", code=1)
        assert isinstance(outcome.exception, ZeroDivisionError)
