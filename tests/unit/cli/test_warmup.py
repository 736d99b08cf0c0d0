"""Compiling ahead of time: what is said, where it is kept, and what a failure looks like."""

import importlib
import json
import os
import re
import subprocess
import sys
import warnings

import pytest

from commands import QUICK, RESULT_ONLY, run, write_views
from rankfold.align.kernels import tile_peaks
from rankfold.cli import compiling, demo
from rankfold.cli.compiling import PARTS, compile_all, compile_beside, is_compiled
from rankfold.compiled import FOLDER
from rankfold.errors import RankfoldError

LIMIT = 120.0  # seconds; only ends the wait for something that never comes
# In the place of a part: a process that ends at once.
AT_ONCE = "pass"
# One that fails, with a line before the one that says why.
FAILING = "import sys; print('a line\\nOSError: the folder is full', file=sys.stderr); sys.exit(3)"
# One that compiles a kernel of its own, which numba keeps where it is told to.
TINY = """
from numba import njit

@njit(cache=True)
def add(one, other):
    return one + other

add(1, 2)
"""


@pytest.fixture
def parts_are(monkeypatch):
    """Replace the process of every part by one that runs a few lines of Python."""

    def replace(program, **others):
        def command(part):
            return [sys.executable, "-c", others.get(part, program), part]

        monkeypatch.setattr(compiling, "_command", command)

    return replace


class TestCommand:
    def test_it_lists_the_parts_and_ends_with_a_sentence(self, parts_are):
        parts_are(AT_ONCE)
        outcome = run("warmup")
        assert re.fullmatch(r"Compiled in \d+ s\.\n", outcome.stdout)
        first, *listed = outcome.stderr.splitlines()
        assert first == f"compiling once, about {compiling.ABOUT} s"
        assert sorted(line.split(":")[0] for line in listed) == sorted(PARTS)
        assert all(re.fullmatch(r"\w+: \d+ s", line) for line in listed)

    def test_json_has_the_same_facts(self, parts_are, tmp_path):
        parts_are(AT_ONCE)
        outcome = run("warmup", "--json")
        assert outcome.stderr == ""
        value = json.loads(outcome.stdout)
        assert set(value) == {"seconds", "parts", "cache"}
        assert set(value["parts"]) == set(PARTS)
        assert value["cache"] is None
        assert 0 <= max(value["parts"].values()) <= value["seconds"] + 0.1
        value = json.loads(run("warmup", "--json", "--cache", tmp_path).stdout)
        assert value["cache"] == str(tmp_path)

    def test_quiet_says_nothing(self, parts_are, tmp_path):
        parts_are(AT_ONCE)
        assert run("warmup", "--quiet", "--cache", tmp_path).output == ""

    def test_a_cache_is_written_there_and_how_to_use_it_is_said(self, monkeypatch, tmp_path):
        program = tmp_path / "tiny.py"
        program.write_text(TINY)
        monkeypatch.setattr(compiling, "_command", lambda _: [sys.executable, str(program)])
        monkeypatch.setattr(compiling, "PARTS", {"tiny": None})
        before = dict(os.environ)
        cache = tmp_path / "a" / "cache"
        outcome = run("warmup", "--cache", cache)
        assert list(cache.rglob("tiny.add-*.nbi"))
        assert outcome.stdout.splitlines()[-1] == (
            f"To use it, set {FOLDER}={cache} before rankfold starts."
        )
        # pytest itself writes the name of the test into it.
        assert {**os.environ, "PYTEST_CURRENT_TEST": ""} == {**before, "PYTEST_CURRENT_TEST": ""}

    def test_a_relative_cache_is_named_in_full(self, parts_are, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        parts_are(f"import os; open(os.environ['{FOLDER}'] + '/here', 'w').close()")
        outcome = run("warmup", "--cache", "cache")
        assert (tmp_path / "cache" / "here").exists()
        assert f"{FOLDER}={tmp_path / 'cache'} before" in outcome.stdout

    def test_a_part_that_fails_gives_one_sentence_and_an_exit_code(self, parts_are):
        parts_are(AT_ONCE, solver=FAILING)
        outcome = run("warmup", code=1)
        assert outcome.stdout == ""
        assert outcome.stderr.splitlines()[-1] == (
            "Error: the solver could not be compiled (OSError: the folder is full); check that "
            "the folder of the cache can be written"
        )
        assert "a line" not in outcome.stderr

    def test_a_cache_that_cannot_be_made_gives_one_sentence_too(self, parts_are, tmp_path):
        parts_are(AT_ONCE)
        file = tmp_path / "file"
        file.write_text("")
        outcome = run("warmup", "--cache", file / "cache", code=1)
        assert outcome.stderr.splitlines()[-1].startswith("Error: ")

    def test_so_many_processes_run_at_a_time(self, parts_are, tmp_path):
        # Every process writes down how many there are, and with it leaves no trace but that.
        alone = (
            "import sys; from pathlib import Path; "
            f"here = Path({str(tmp_path)!r}); mine = here / f'running-{{sys.argv[1]}}'; "
            "mine.touch(); count = len(list(here.glob('running-*'))); mine.unlink(); "
            "(here / sys.argv[1]).write_text(str(count))"
        )
        parts_are(alone)
        run("warmup", "--jobs", 1, "--quiet")
        assert {(tmp_path / part).read_text() for part in PARTS} == {"1"}
        # Every process waits until all are there, which one after the other never are.
        together = (
            "import sys, time; from pathlib import Path; "
            f"here = Path({str(tmp_path)!r}); (here / f'together-{{sys.argv[1]}}').touch(); "
            f"there = lambda: len(list(here.glob('together-*'))) == {len(PARTS)}; "
            "until = time.monotonic() + 120\n"
            "while not there() and time.monotonic() < until: time.sleep(0.01)\n"
            "sys.exit(not there())"
        )
        parts_are(together)
        run("warmup", "--jobs", len(PARTS), "--quiet")
        run("warmup", "--jobs", 0, code=2)


class TestParts:
    @pytest.mark.parametrize("part", PARTS)
    def test_each_runs(self, part):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PARTS[part]()

    def test_a_process_runs_the_part_of_that_name_without_a_word(self, tmp_path):
        # Whatever lies where the caller works.
        for name in ("rankfold", "numba", "numpy"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
        command = compiling._command("decomposition")
        assert command[-1] == "decomposition"
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        done = subprocess.run(compiling._command("nothing"), capture_output=True, check=False)
        assert done.returncode != 0

    def test_each_is_yielded_when_it_is_done(self, parts_are, tmp_path):
        """The last one waits for a word that is only given when the others are here."""
        word = tmp_path / "go on"
        waits = (
            "import sys, time; from pathlib import Path; until = time.monotonic() + 120\n"
            f"while not Path({str(word)!r}).exists() and time.monotonic() < until: time.sleep(0.01)"
        )
        parts_are(AT_ONCE, search=waits)
        done = compile_all(None, jobs=len(PARTS))
        first = {next(done)[0] for _ in range(len(PARTS) - 1)}
        word.touch()
        last, seconds = next(done)
        assert (first, last) == (set(PARTS) - {"search"}, "search")
        assert seconds > 0

    def test_one_that_says_nothing_of_why_it_failed(self, parts_are):
        parts_are("raise SystemExit(1)")
        with pytest.raises(RankfoldError, match=r"the \w+ could not be compiled \(no message\)"):
            list(compile_all(None, jobs=1))

    def test_the_search_looks_for_a_better_place_too(self, monkeypatch):
        """Or the kernels of the rescue would be compiled in the first run that needs them."""
        rescue = importlib.import_module("rankfold.align.rescue")
        searched = []
        plain = rescue.better_place

        def noted(job, motion, index, *others):
            searched.append(index)
            return plain(job, motion, index, *others)

        monkeypatch.setattr(rescue, "better_place", noted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiling.compile_search()
        assert searched


class TestIsCompiled:
    @pytest.fixture
    def folder(self, monkeypatch, tmp_path):
        """Where numba would keep the kernels."""
        monkeypatch.setattr(tile_peaks._cache, "_cache_path", str(tmp_path))
        return tmp_path

    def test_an_index_of_this_python_says_so(self, folder):
        assert not is_compiled()
        version = f"py{sys.version_info.major}{sys.version_info.minor}"
        for name in (f"kernels.other-1.{version}.nbi", "kernels.tile_peaks-64.py26.nbi"):
            (folder / name).touch()
        assert not is_compiled()
        (folder / f"kernels.tile_peaks-64.{version}.nbi").touch()
        assert is_compiled()

    def test_so_does_the_one_that_numba_writes(self, folder):
        (folder / tile_peaks._cache._cache_file._index_name).touch()
        assert is_compiled()

    @pytest.mark.parametrize("folder", ["a folder of nothing", "no folder"])
    def test_a_process_that_keeps_them_elsewhere_looks_there(self, folder, tmp_path):
        program = "from rankfold.cli.compiling import is_compiled; print(is_compiled())"
        if folder == "a folder of nothing":
            (tmp_path / folder).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, FOLDER: str(tmp_path / folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "False"


class TestBeside:
    def test_another_process_compiles_the_solver_without_a_word(self, parts_are, capfd):
        parts_are("import sys; print(sys.argv[1]); print('oh', file=sys.stderr)")
        process = compile_beside()
        assert process.args[-1] == "solver"
        assert process.wait(LIMIT) == 0
        assert capfd.readouterr() == ("", "")

    def test_it_is_not_waited_for(self, parts_are):
        # It ends only when it is killed.
        parts_are("import threading; threading.Event().wait()")
        process = compile_beside()
        assert process.poll() is None
        process.kill()
        process.wait(LIMIT)


class TestWord:
    """What a run says that compiles first, where there is no terminal."""

    LINE = f"compiling once, about {compiling.ABOUT} s; `rankfold warmup` does it ahead of time\n"

    @pytest.fixture
    def begun(self, monkeypatch):
        """How often a process has been started beside a run."""
        calls = []
        monkeypatch.setattr(compiling, "compile_beside", lambda: calls.append("beside"))
        return calls

    @pytest.mark.parametrize("compiled", [False, True])
    def test_it_is_said_where_nothing_is_compiled_and_only_there(
        self, compiled, begun, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(compiling, "is_compiled", lambda: compiled)
        write_views(tmp_path / "views")
        words = ["align", tmp_path / "views", *RESULT_ONLY, *QUICK]
        outcome = run(*words, "-o", tmp_path / "run")
        assert outcome.stderr.count(self.LINE) == (not compiled)
        assert outcome.stderr.count("compiling") == (not compiled)
        assert begun == ([] if compiled else ["beside"])

    @pytest.mark.parametrize("voice", ["--json", "--quiet"])
    def test_programs_are_not_told_and_it_is_hastened_all_the_same(
        self, voice, begun, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(compiling, "is_compiled", lambda: False)
        write_views(tmp_path / "views")
        words = ["align", tmp_path / "views", *RESULT_ONLY, *QUICK]
        outcome = run(*words, "-o", tmp_path / "run", voice)
        assert "compiling" not in outcome.output
        assert begun == ["beside"]

    @pytest.mark.parametrize("compiled", [False, True])
    def test_the_demo_says_it_before_it_begins(self, compiled, begun, monkeypatch, tmp_path):
        def far_enough(_):
            raise RankfoldError("far enough")

        monkeypatch.setattr(compiling, "is_compiled", lambda: compiled)
        monkeypatch.setattr(demo, "_compile", far_enough)
        outcome = run("demo", "-o", tmp_path / "demo", code=1)
        assert "far enough" in outcome.stderr
        assert outcome.stderr.count(self.LINE) == (not compiled)
        assert len(begun) == (not compiled)

    def test_a_process_that_is_still_running_is_no_warning(self, parts_are, monkeypatch):
        from rankfold.cli.app import Voice, say_compiling

        parts_are("import time; time.sleep(0.5)")
        monkeypatch.setattr(compiling, "is_compiled", lambda: False)
        caught = []
        monkeypatch.setattr(sys, "unraisablehook", caught.append)
        say_compiling(Voice(quiet=True))
        assert caught == []
        # It is kept until the end of this process, where Python would warn of it again.
        assert compiling._beside[-1].wait(LIMIT) == 0


def test_where_nothing_can_be_kept_nothing_is_compiled(monkeypatch):
    """It compiled for half a minute, said that it had, and kept nothing."""
    monkeypatch.setattr("rankfold.cli.compiling.can_be_kept", lambda: False)
    assert "name one with --cache DIR" in run("warmup", code=1).stderr
