"""Many batches from Python: one run folder each, one summary, and what cannot be done."""

import json
import shutil
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import rendered_heads, write_batch
from rankfold.many import Batch, workers
from rankfold.many.recipe import recipe_of
from rankfold.many.running import UnwatchedMany
from rankfold.many.work import Job, run_batch
from rankfold.runs import BatchState, open_run

QUICK = {"method": "rasl", "max_outer": 2}
RESULT_ONLY = {"pictures": False, "report": False}
ARRAYS = ("transforms", "aligned", "low_rank", "sparse", "lost")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with two batches, a text file, and between the batches one that is broken."""
    place = tmp_path_factory.mktemp("given")
    for k in (1, 3):
        write_batch(rendered_heads(6, frame=(30, 28), seed=k), place / f"b{k}")
    (place / "b2").mkdir()
    (place / "b2" / "a.png").write_text("no picture")
    (place / "notes.txt").touch()
    return place


@pytest.fixture(scope="module")
def one_by_one(given, tmp_path_factory):
    """All of it in this process."""
    out = tmp_path_factory.mktemp("one") / "out"
    return rf.align_many(f"{given}/*", out, **QUICK)


def of_state(summary):
    return {row.name: row.state.value for row in summary.rows}


class TestRuns:
    def test_every_batch_has_its_folder_and_its_row(self, one_by_one):
        assert of_state(one_by_one) == {"b1": "done", "b2": "error", "b3": "done"}
        for row in (one_by_one.rows[0], one_by_one.rows[2]):
            result = rf.load(row.folder)
            assert row.folder == one_by_one.folder / row.name
            assert (row.pictures, row.rank) == (6, result.rank)
            assert (row.verdict, row.status) == (result.verdict, result.status)
            assert row.outcome == result.outcome
            assert row.placed + row.doubtful + row.failed == 6
            assert row.failed == result.failed.sum()
            assert row.report.is_file()
            assert (row.folder / "aligned").is_dir()

    def test_a_bad_batch_is_listed_and_stops_no_other(self, one_by_one):
        (bad,) = one_by_one.failures
        assert "a.png is not a picture" in bad.error
        assert not bad.folder.exists()
        assert not one_by_one.stopped

    def test_the_summary_is_on_disk(self, one_by_one):
        names = {path.name for path in one_by_one.folder.iterdir()}
        tables = {"summary.json", "summary.csv", "summary.html"}
        assert names == {"b1", "b3", ".rankfold", *tables}
        value = json.loads((one_by_one.folder / "summary.json").read_text())
        assert value == one_by_one.as_dict()

    def test_is_what_align_gives(self, given, one_by_one):
        direct = rf.align(given / "b1", **QUICK)
        ours = rf.load(one_by_one.folder / "b1")
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(ours, name), getattr(direct, name))

    def test_two_processes_give_the_same_bits(self, given, one_by_one, tmp_path):
        summary = rf.align_many(f"{given}/*", tmp_path / "two", workers=2, **QUICK, **RESULT_ONLY)
        assert of_state(summary) == of_state(one_by_one)
        assert summary.rows[1].error == one_by_one.rows[1].error
        for name in ("b1", "b3"):
            ours = rf.load(summary.folder / name)
            theirs = rf.load(one_by_one.folder / name)
            for array in ARRAYS:
                np.testing.assert_array_equal(getattr(ours, array), getattr(theirs, array))
        assert not (summary.folder / "summary.html").exists()

    def test_an_executor_takes_the_place_of_processes(self, given, one_by_one, tmp_path):
        with ThreadPoolExecutor(1) as executor:
            summary = rf.align_many(
                f"{given}/*", tmp_path / "out", executor=executor, **QUICK, **RESULT_ONLY
            )
        assert of_state(summary) == of_state(one_by_one)
        assert summary.rows[0].outcome == one_by_one.rows[0].outcome

    def test_names_can_be_given(self, given, tmp_path):
        batches = {"z": given / "b3", "a": f"{given}/b1/00*.png"}
        summary = rf.align_many(batches, tmp_path / "out", **QUICK, **RESULT_ONLY)
        assert of_state(summary) == {"z": "done", "a": "done"}

    def test_pictures_are_read_as_was_asked_for(self, given, tmp_path):
        batch = tmp_path / "batch"
        batch.mkdir()
        for file in (given / "b1").iterdir():
            (batch / file.name).write_bytes(file.read_bytes())
        (batch / "bad.png").write_text("no picture")
        options = {**QUICK, **RESULT_ONLY, "frame": (26, 24)}
        summary = rf.align_many(batch, tmp_path / "out", reading={"skip_bad": True}, **options)
        assert summary.rows[0].pictures == 6
        assert rf.load(tmp_path / "out" / "batch").frame.shape == (26, 24)


class TestDeath:
    def test_of_a_process_is_a_sentence(self, given, tmp_path, monkeypatch):
        def died(jobs, function, count, begins):
            begins(0)
            yield 1, workers.Died(1)
            yield 0, workers.Died(-9)

        monkeypatch.setattr("rankfold.many.running.run_jobs", died)
        summary = rf.align_many([given / "b1", given / "b3"], tmp_path / "out", workers=2)
        killed, mistaken = summary.rows
        assert "was killed twice, probably for want of memory" in killed.error
        assert "exit code 1" in mistaken.error
        assert "__main__" in mistaken.error

    def test_of_a_worker_of_an_executor_is_a_sentence(self, given, tmp_path):
        class Lost:
            """Has two kinds of bad news."""

            def __init__(self):
                self.futures = [Future(), Future()]
                self.futures[0].set_exception(RuntimeError("worker lost"))
                self.futures[1].cancel()

            def submit(self, function, job):
                return self.futures.pop(0)

        batches = [given / "b1", given / "b3"]
        summary = rf.align_many(batches, tmp_path / "out", executor=Lost())
        assert "RuntimeError: worker lost" in summary.rows[0].error
        assert "it was cancelled" in summary.rows[1].error

    def test_want_of_memory_is_a_sentence(self, given, tmp_path, monkeypatch):
        def too_much(*_, **__):
            raise MemoryError

        monkeypatch.setattr("rankfold.runs.run_align", too_much)
        summary = rf.align_many(given / "b1", tmp_path / "out")
        assert "not enough memory; use fewer workers" in summary.rows[0].error

    def test_a_plan_that_cannot_fit_is_refused_unless_it_is_forced(self, given, tmp_path):
        words = {**QUICK, **RESULT_ONLY, "memory_limit": "1M"}
        summary = rf.align_many(given / "b1", tmp_path / "a", **words)
        assert "may take 0.00 GiB" in summary.rows[0].error
        forced = rf.align_many(given / "b1", tmp_path / "b", force=True, **words)
        assert forced.rows[0].state is BatchState.DONE


def test_what_a_run_has_to_say_is_in_its_row(given, tmp_path, monkeypatch):
    from rankfold.runs import run_align

    def talking(folder, source, choice, *, watch, **options):
        watch.remark("Something was left there.")
        watch.going_on(Path("b1.unfinished"), 7)
        return run_align(folder, source, choice, watch=watch, **options)

    monkeypatch.setattr("rankfold.runs.run_align", talking)
    job = Job(Batch("b1", str(given / "b1")), tmp_path / "b1", recipe_of(None, {**QUICK}))
    assert run_batch(job).remarks == (
        "Something was left there.",
        "It went on from b1.unfinished (7 outer iterations were done)",
    )


class TestInterrupt:
    def test_what_is_done_stays_and_the_summary_is_true(self, given, tmp_path):
        class Impatient(UnwatchedMany):
            def batch_ends(self, row):
                raise KeyboardInterrupt

        batches = [given / "b1", given / "b3"]
        out = tmp_path / "out"
        with pytest.raises(KeyboardInterrupt):
            rf.align_many(batches, out, watch=Impatient(), **QUICK)
        value = json.loads((out / "summary.json").read_text())
        assert value["stopped"]
        assert [row["state"] for row in value["batches"]] == ["done", "waiting"]
        assert "stopped before all batches" in (out / "summary.html").read_text()
        assert not (out / "b3").exists()
        summary = rf.align_many(batches, out, skip_existing=True, **QUICK)
        assert of_state(summary) == {"b1": "kept", "b3": "done"}
        assert not summary.stopped


@pytest.fixture(scope="module")
def out(given, tmp_path_factory):
    """The folder of one run."""
    out = tmp_path_factory.mktemp("skip") / "out"
    rf.align_many(given / "b1", out, **QUICK, **RESULT_ONLY)
    return out


class TestSkipExisting:
    def again(self, batches, out, **changed):
        options = {**QUICK, **RESULT_ONLY, "skip_existing": True, **changed}
        return rf.align_many(batches, out, **options).rows[0]

    def test_a_folder_is_taken_as_it_is_and_its_row_is_read(self, given, out):
        before = (out / "b1" / "result.json").stat().st_mtime_ns
        row = self.again(given / "b1", out, n_jobs=2)
        assert row.state is BatchState.KEPT
        assert (out / "b1" / "result.json").stat().st_mtime_ns == before
        run = open_run(out / "b1")
        assert row.outcome == run.result.outcome
        assert row.seconds == run.config["seconds"]

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"family": "affine"}, "another family"),
            ({"frame": (20, 20)}, "another frame"),
            ({"reading": {"grey": True}}, "another grey"),
            ({"settings": rf.AlignSettings().changed({"steps.trust": 2})}, "another settings"),
        ],
    )
    def test_one_that_was_made_otherwise_is_not(self, given, out, changed, said):
        row = self.again(given / "b1", out, **changed)
        assert row.state is BatchState.ERROR
        assert said in row.error
        assert "overwrite=True" in row.error

    def test_one_of_other_pictures_is_not(self, given, out):
        row = self.again({"b1": given / "b3"}, out)
        assert f"it was made from {given / 'b1'}" in row.error

    def test_one_whose_pictures_have_changed_is_made_again_if_asked_for(self, given, tmp_path):
        batch = tmp_path / "b"
        write_batch(rendered_heads(6, frame=(30, 28), seed=1), batch)
        out = tmp_path / "out"
        self.again(batch, out)
        (batch / "000.png").unlink()
        assert "its pictures are others by now" in self.again(batch, out).error
        row = self.again(batch, out, overwrite=True)
        assert (row.state, row.pictures) == (BatchState.DONE, 5)

    def test_a_damaged_one_is_not(self, given, out, tmp_path):
        other = tmp_path / "out"
        shutil.copytree(out, other)
        (other / "b1" / "arrays.npz").write_bytes(b"x")
        assert "is damaged" in self.again(given / "b1", other).error

    def test_a_run_of_align_is_not(self, given, tmp_path):
        rf.align(given / "b1", **QUICK).save(tmp_path / "out" / "b1")
        assert "not a whole run" in self.again(given / "b1", tmp_path / "out").error


class TestRefused:
    def test_an_earlier_summary_is_not_lost(self, given, tmp_path):
        rf.align_many(given / "b2", tmp_path)
        with pytest.raises(rf.InputError, match=r"earlier summary; go on.*skip_existing"):
            rf.align_many(given / "b2", tmp_path)
        rf.align_many(given / "b2", tmp_path, overwrite=True)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"workers": 0}, "workers=0 must be at least 1"),
            ({"workers": 2, "executor": object()}, "workers=2 has no effect with an executor"),
            ({"metod": "rasl"}, "metod is no option of many batches"),
            ({"masks": []}, "masks is no option"),
            ({"init": np.eye(3)}, "init has to be a word or a path"),
            ({"reading": {"gray": True}}, "gray is no way to read pictures"),
        ],
    )
    def test_options_that_make_no_sense_start_nothing(self, given, tmp_path, options, said):
        with pytest.raises(rf.InputError, match=said):
            rf.align_many(given / "b1", tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()

    def test_a_folder_of_folders_alone_starts_nothing(self, given, tmp_path):
        with pytest.raises(rf.InputError, match=r"but folders; write"):
            rf.align_many(given, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_place_that_cannot_be_made(self, given, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(rf.WriteError, match="choose a folder that you may write to"):
            rf.align_many(given / "b1", tmp_path / "file" / "out")


def test_without_jinja_there_are_tables_and_a_remark(given, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    summary = rf.align_many(given / "b2", tmp_path / "out")
    assert "pip install rankfold[report]" in summary.remarks[0]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"summary.json", "summary.csv", ".rankfold"}


def test_an_init_is_found_from_any_folder(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert recipe_of(None, {"init": "points.csv"}).init == str(Path("points.csv").absolute())
    assert recipe_of(None, {"init": "identity"}).init == "identity"


def test_what_is_as_by_default_leaves_no_trace():
    said = recipe_of(None, {"method": "meadmm", "dtype": np.float64, "gauge": "mean", "n_jobs": 2})
    assert said.traced == recipe_of(None, {}).traced
    plain = recipe_of(None, {"n_jobs": 1, "dtype": np.float32})
    assert plain.traced["options"] == {"dtype": "float32"}
    assert plain.traced == replace(plain, options={"dtype": np.float32}, force=True).traced


def test_a_second_run_on_the_same_folder_is_refused(given, tmp_path):
    from rankfold.locking import take
    from rankfold.many import api

    (tmp_path / "out").mkdir()
    lock = take(tmp_path / "out" / api.LOCK)
    with lock, pytest.raises(rf.InputError, match=r"out is being written by .*; wait until"):
        rf.align_many(f"{given}/b1", tmp_path / "out", **QUICK)
