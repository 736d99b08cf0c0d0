"""align-many: what it says, and its exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from commands import QUICK, RESULT_ONLY, ROOT, run, usage_error, write_views
from rankfold.cli.app import Voice
from rankfold.cli.batch_bar import BatchBar
from rankfold.runs import BatchRow, BatchState
from sessions import left_in

WORDS = [*QUICK, *RESULT_ONLY]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with two batches of views in ``in``."""
    monkeypatch.chdir(tmp_path)
    write_views("in/a")
    write_views("in/b", 7)
    return tmp_path


def rows(out="out"):
    return json.loads(Path(out, "summary.json").read_text())["batches"]


class TestRuns:
    def test_every_batch_has_a_folder_and_all_have_a_page(self, folder):
        outcome = run("align-many", "in/*", "-o", "out", *QUICK, "--no-pictures")
        assert "2 batches: a, b" in outcome.stderr
        assert "b: 7 of 7 pictures found their place." in outcome.stderr
        assert outcome.stdout.startswith("2 of 2 batches have a result (2 good).")
        assert outcome.stdout.strip().endswith("out/summary.html")
        assert Path("out/a/report.html").is_file()
        assert len(rf.load("out/b").names) == 7

    def test_json_is_the_summary(self, folder):
        outcome = run("align-many", "in/a", "in/b", "-o", "out", "--json", *WORDS)
        assert outcome.stderr == ""
        assert json.loads(outcome.stdout) == json.loads(Path("out/summary.json").read_text())
        assert [row["pictures"] for row in rows()] == [6, 7]

    def test_the_recorded_command_aligns_one_batch_to_the_same_bits(self, folder):
        words = ["--frame", "40x40", "--jobs", "1", "--workers", "1"]
        run("align-many", "in/*", "-o", "out", *words, "-m", "rasl", *RESULT_ONLY)
        command = tomllib.loads(Path("out/a/config.toml").read_text())["command"]
        assert "--workers" not in command
        again = shlex.split(command)
        assert again[:3] == ["rankfold", "align", str(folder / "in" / "a")]
        again[again.index("--out") + 1] = "again"
        run(*again[1:])
        for part in ("transforms", "low_rank", "sparse"):
            ours = getattr(rf.load("out/a"), part)
            np.testing.assert_array_equal(ours, getattr(rf.load("again"), part))

    def test_what_is_there_is_taken_only_if_asked_for(self, folder):
        run("align-many", "in/*", "-o", "out", *WORDS)
        outcome = run("align-many", "in/*", "-o", "out", *WORDS, code=1)
        assert "go on there with --skip-existing" in outcome.stderr
        outcome = run("align-many", "in/*", "-o", "out", "--skip-existing", *WORDS)
        assert "a (kept): 6 of 6" in outcome.stderr
        assert [row["state"] for row in rows()] == ["kept", "kept"]

    def test_the_plan_is_a_row_a_batch(self, folder):
        Path("in/c").mkdir()
        words = ["align-many", "in/*", "-o", "out", "--frame", "40x40", "--plan"]
        outcome = run(*words, "--json", code=1)
        values = json.loads(outcome.stdout)
        assert [value["name"] for value in values] == ["a", "b", "c"]
        assert values[1]["images"] == 7
        assert values[0]["frame"] == [40, 40]
        assert "has no pictures" in values[2]["error"]
        assert not Path("out").exists()
        assert "GiB" in run(*words, code=1).stdout


class TestExitCodes:
    def test_a_batch_with_an_error(self, folder):
        Path("in/c").mkdir()
        outcome = run("align-many", "in/*", "-o", "out", *WORDS, code=1)
        assert "Error: c:" in outcome.stderr
        assert "with an error: c" in outcome.stdout
        assert [row["state"] for row in rows()] == ["done", "done", "error"]
        quiet = run("align-many", "in/c", "in/a", "-o", "two", "-q", *WORDS, code=1)
        assert quiet.stdout == ""
        assert "Error: c:" in quiet.stderr

    @pytest.mark.parametrize(
        ("changed", "code"),
        [
            ({"verdict": "good"}, 0),
            ({"verdict": "partial", "doubtful": 1}, 0),
            ({"verdict": "partial", "failed": 1}, 3),
            ({"verdict": "only roughly"}, 3),
            ({"verdict": "failed", "failed": 6}, 1),
            ({"verdict": "good", "status": rf.Status.NON_FINITE}, 1),
        ],
    )
    def test_are_that_of_the_worst_batch(self, folder, monkeypatch, changed, code):
        def made_up(job, watch=None):
            plain = {"state": BatchState.DONE, "status": rf.Status.CONVERGED, "failed": 0}
            own = changed if job.batch.name == "b" else {"verdict": "good"}
            return BatchRow(job.batch.name, job.batch.path, job.folder, **{**plain, **own})

        monkeypatch.setattr("rankfold.many.running.run_batch", made_up)
        run("align-many", "in/*", "-o", "out", *WORDS, code=code)

    def test_errors_name_the_flags(self, folder):
        Path("in/b/bad.png").write_text("no picture")
        outcome = run("align-many", "in/b", "-o", "out", *WORDS, code=1)
        assert "bad.png is not a picture (PNG, JPEG, BMP, PPM, WEBP); remove it" in outcome.stderr
        assert "or leave it out with --skip-bad" in outcome.stderr

    def test_wrong_usage(self, folder):
        assert "Missing option" in usage_error("align-many", "in/*")
        assert "--workers" in usage_error("align-many", "in/*", "-o", "out", "--workers", "0")

    def test_nothing_to_do(self, folder):
        outcome = run("align-many", "none/*", "-o", "out", code=1)
        assert "none/* names no batches" in outcome.stderr
        outcome = run("align-many", "in", "-o", "out", code=1)
        assert "has no pictures but folders; write" in outcome.stderr
        outcome = run("align-many", "in/a/*", "-o", "out", code=1)
        assert "it is a single picture" in outcome.stderr


class TestInterrupt:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_what_is_done_stays(self, folder, monkeypatch, number, code):
        real = BatchBar.batch_ends

        def interrupted(self, row):
            real(self, row)
            signal.raise_signal(number)

        monkeypatch.setattr(BatchBar, "batch_ends", interrupted)
        before = signal.getsignal(signal.SIGTERM)
        outcome = run("align-many", "in/*", "-o", "out", *WORDS, code=code)
        assert signal.getsignal(signal.SIGTERM) is before
        assert "the batches that are done stay" in outcome.stderr
        said = outcome.stderr.split("To go on from here: ")[1]
        assert [row["state"] for row in rows()] == ["done", "waiting"]
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        run(*shlex.split(said)[1:])
        assert [row["state"] for row in rows()] == ["kept", "done"]

    def test_json_says_what_is_done(self, folder, monkeypatch):
        def interrupted(self, row):
            raise KeyboardInterrupt

        monkeypatch.setattr(BatchBar, "batch_ends", interrupted)
        outcome = run("align-many", "in/*", "-o", "out", "--json", *WORDS, code=130)
        assert json.loads(outcome.stdout)["stopped"]

    def test_it_survives_being_killed(self, folder):
        """The whole of it in a process group of its own, killed when the first batch is done."""
        words = [sys.executable, "-m", "rankfold", "align-many", "in/*", "-o", "out"]
        words += ["--workers", "2", *WORDS]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
        with subprocess.Popen(
            words, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
        ) as process:
            # It says which batch is done after it has written the summary.
            for line in process.stderr:
                if "found their place" in line:
                    break
            os.killpg(process.pid, signal.SIGKILL)
        # One that waits for the disk still has its locks.
        assert not left_in(process.pid)
        done = [row["name"] for row in rows() if row["state"] == "done"]
        assert done
        run("align-many", "in/*", "-o", "out", "--skip-existing", *WORDS)
        states = {row["name"]: row["state"] for row in rows()}
        assert {states[name] for name in done} == {"kept"}
        assert set(states) == {"a", "b"}


class TestBar:
    def test_it_draws_what_is_under_way(self):
        bar = BatchBar(Voice(quiet=True))
        drawn = []
        bar.progress.update = lambda _, **words: drawn.append(words.get("description"))
        bar.begin(["a", "b"])
        bar.batch_begins("a")
        bar.batch_begins("b")
        assert drawn[-1] == "a, b"
        bar.inside("a").begin_stage("pixels", ("features", "pixels"))
        assert drawn[-1] == "a, b · pixels, stage 2 of 2"
        bar.batch_ends(BatchRow("a", "in/a", Path("out/a"), state=BatchState.DONE))
        assert drawn[-1] == "b"
        bar.say("writing pictures", 3)
        assert drawn[-1] == "b · writing pictures"
