"""What is said before a run starts, and what is refused because it cannot fit."""

import json

import numpy as np
import pytest

import rankfold as rf
from commands import QUICK, RESULT_ONLY, run, work_in


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with six views."""
    return work_in(tmp_path, monkeypatch)


class TestPlan:
    def test_computes_nothing(self, folder):
        value = json.loads(run("align", "views", "--plan", "--json").stdout)
        assert value["frame"] == [68, 68]
        assert 1e8 < value["memory_bytes"] < 1e9
        assert value["fits"] is True
        assert value["seconds"] > 0
        assert "GiB" in run("align", "views", "--plan").stdout
        assert {p.name for p in folder.iterdir()} == {"views"}

    def test_says_sizes_as_they_are_typed(self, folder):
        shown = run("align", "views", "--plan", "--frame", "40x60").stdout
        assert "40x60 (height x width)" in shown

    def test_a_coarser_reading_of_much_data(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        shape = (120, 600, 800)
        np.lib.format.open_memmap("much.npy", mode="w+", dtype=np.uint8, shape=shape).flush()
        value = json.loads(run("decompose", "much.npy", "--plan", "--json").stdout)
        assert value["reduction"] == 2
        assert value["frame"] == [300, 400]
        assert value["memory_bytes"] < 4e9

    def test_of_what_cannot_fit_is_an_error_with_the_remedy(self, folder):
        words = ["align", "views", "--plan", "--frame", "20000x30000"]
        outcome = run(*words, code=1)
        assert "GiB" in outcome.stdout
        for remedy in ("smaller --frame", "--reduce", "--float32", "fewer pictures", "--force"):
            assert remedy in outcome.stderr
        assert len(outcome.stderr.strip().splitlines()[-1].split(". ")) == 1
        value = json.loads(run(*words, "--json", code=1).stdout)
        assert value["fits"] is False
        assert value["disk_bytes"] > 1e11
        run(*words, "--force")


class TestMemory:
    def test_a_run_that_cannot_fit_is_not_started(self, folder):
        outcome = run("align", "views", "-o", "run", "--max-memory", "100M", *QUICK, code=1)
        assert "6 pictures in a frame of 68x68 do not fit: the run needs at least" in outcome.stderr
        assert "may take 0.10 GiB; raise --max-memory" in outcome.stderr
        outcome = run("decompose", "views", "-o", "run", "--max-memory", "100M", code=1)
        assert "--frame" not in outcome.stderr
        assert "use --reduce" in outcome.stderr
        assert {p.name for p in folder.iterdir()} == {"views"}

    def test_arrays_that_go_to_disk_are_planned(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        shape = (60, 400, 500)
        np.lib.format.open_memmap("much.npy", mode="w+", dtype=np.uint8, shape=shape).flush()
        words = ["decompose", "much.npy", "--plan", "--reduce", "1", "--max-memory", "1G"]
        assert "on disk" in run(*words).stdout
        value = json.loads(run(*words, "--json").stdout)
        assert value["memory_bytes"] < value["limit_bytes"] == 2**30 < value["disk_bytes"]

    def test_other_words_are_no_size(self, folder):
        outcome = run("align", "views", "--max-memory", "much", code=2)
        assert "'much' is not a size; write 500M or 2G" in " ".join(outcome.stderr.split())

    def test_unless_it_is_forced(self, folder):
        words = ["--force", "--max-memory", "100M"]
        run("align", "views", "-o", "run", *words, *RESULT_ONLY, *QUICK)
        assert len(rf.load("run").names) == 6

    def test_a_machine_that_does_not_tell_refuses_nothing(self, folder, monkeypatch):
        monkeypatch.setattr("rankfold.scale.limits.free_memory", lambda: None)
        outcome = run("align", "views", "--plan", "--frame", "20000x30000")
        assert "unknown" in outcome.stdout

    def test_single_precision_is_a_remedy(self, folder):
        words = ["align", "views", "--plan", "--json", "--force", "--frame", "2000x3000"]
        double = json.loads(run(*words).stdout)["memory_bytes"]
        single = json.loads(run(*words, "--float32").stdout)["memory_bytes"]
        assert single < 0.75 * double
