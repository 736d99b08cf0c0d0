"""Whole jobs from Python: a folder appears with everything in it, or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold import runs, storage
from rankfold.align.checkpoints import iterations_in
from rankfold.datasets import street, warped_low_rank, write_batch
from rankfold.io import open_pictures
from rankfold.runs import Output

QUICK = {"method": "rasl"}
NO_PICTURES = Output(pictures=False)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Six textured views."""
    monkeypatch.chdir(tmp_path)
    write_batch(warped_low_rank(6, seed=0), "views")
    return open_pictures("views")


class Watching:
    """Writes down what it is told, and stops a run after so many iterations."""

    def __init__(self, limit=10**9):
        self.said = []
        self.parts = 0
        self.records = 0
        self.limit = limit

    def say(self, text, total=None):
        self.said.append((text, total))

    def advance(self):
        self.parts += 1

    def __call__(self, record):
        self.records += 1
        return self.records >= self.limit


class Interrupting(Watching):
    """Interrupts a run after so many outer iterations."""

    def __init__(self, limit=1):
        super().__init__()
        self.limit = limit
        self.outer = 0
        self.remarks = []

    def remark(self, text):
        self.remarks.append(text)

    def going_on(self, folder, done):
        self.done = (folder, done)

    def __call__(self, record):
        self.outer += isinstance(record, rf.OuterRecord)
        if self.outer == self.limit:
            raise InterruptedError
        return False


class TestAlign:
    def test_the_summary_is_that_of_the_result(self, source):
        summary = runs.run_align("run", source, runs.choose(source), output=NO_PICTURES, **QUICK)
        result = rf.load("run")
        assert summary.folder == summary.place == Path("run")
        assert summary.status is result.status
        assert (summary.images, summary.rank) == (6, result.rank)
        assert summary.frame == result.frame.shape
        assert summary.objective == result.objective
        assert summary.failed == summary.rescued == summary.remarks == ()

    def test_is_what_align_gives_on_the_same_pictures(self, source):
        runs.run_align("run", source, runs.choose(source), output=NO_PICTURES, **QUICK)
        direct = rf.align(source.stack(), **QUICK)
        np.testing.assert_array_equal(rf.load("run").transforms, direct.transforms)
        np.testing.assert_array_equal(rf.load("run").low_rank, direct.low_rank)

    def test_it_can_be_watched_and_stopped(self, source):
        watching = Watching(limit=5)
        summary = runs.run_align(
            "run", source, runs.choose(source), watch=watching, output=Output(report=str), **QUICK
        )
        assert summary.status is rf.Status.STOPPED
        assert watching.said == [
            ("reading", 6),
            ("writing pictures", 18),
            ("writing the report", None),
        ]
        assert watching.parts == 6 + 18
        assert watching.records == 5

    def test_the_report_gets_the_run_in_memory(self, source):
        seen = []
        output = Output(pictures=False, report=seen.append)
        runs.run_align("run", source, runs.choose(source), output=output, **QUICK)
        assert isinstance(seen[0], runs.Run)
        assert seen[0].config["input"]["path"] == "views"

    def test_a_report_that_fails_is_a_remark(self, source):
        def failing(run):
            raise rf.InputError("no ink")

        output = Output(pictures=False, report=failing)
        summary = runs.run_align("run", source, runs.choose(source), output=output, **QUICK)
        assert summary.remarks == ("No report: no ink",)
        assert len(rf.load("run").names) == 6

    def test_it_says_how_the_pictures_were_placed(self, source):
        words = {"output": NO_PICTURES, "start": "pyramid", **QUICK}
        summary = runs.run_align("run", source, runs.choose(source), **words)
        result = rf.load("run")
        assert summary.verdict == result.verdict
        assert summary.outcome == result.outcome
        assert summary.advice == result.advice
        assert summary.lost == dict(zip(result.names, result.lost.tolist(), strict=True))
        assert [start.route for start in summary.starts] == ["pyramid"]

    def test_pictures_that_are_not_placed_are_named(self, source, monkeypatch):
        plain = rf.align

        def judged(*args, **options):
            result = plain(*args, **options)
            words = np.array(["failed", "placed", "doubtful", "placed", "placed", "failed"])
            return replace(result, verdicts=words, verdict="partial")

        monkeypatch.setattr("rankfold.runs.jobs.align", judged)
        words = {"output": NO_PICTURES, **QUICK}
        summary = runs.run_align("run", source, runs.choose(source), **words)
        assert summary.failed == ("000.png", "005.png")
        assert summary.doubtful == ("002.png",)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"frame_of": "x.png"}, "no picture is called 'x.png'"),
            ({"start": "auto", "frame_of": 1}, "frame_of=1 has no effect"),
            ({"start": "nowhere"}, "unknown start='nowhere'"),
        ],
    )
    def test_a_start_that_cannot_be_is_refused_before_anything_is_read(
        self, source, options, message
    ):
        pytest.importorskip("cv2")
        watching = Watching()
        with pytest.raises(rf.InputError, match=message):
            runs.run_align("run", source, runs.choose(source), watch=watching, **options)
        assert watching.said == []
        assert not Path("run").exists()

    @pytest.mark.parametrize(("start", "kept"), [("given", False), ("auto", True)])
    def test_small_copies_are_kept_where_keypoints_may_be_looked_for(
        self, source, monkeypatch, start, kept
    ):
        monkeypatch.setattr("rankfold.runs.planning.available", lambda: True)
        seen = []

        def looked_at(stack, **options):
            seen.append(len(stack.views))
            raise rf.InputError("seen enough")

        monkeypatch.setattr("rankfold.runs.jobs.align", looked_at)
        choice = runs.choose(source, reduction=2)
        with pytest.raises(rf.InputError, match="seen enough"):
            runs.run_align("run", source, choice, start=start)
        assert seen == [6 if kept else 0]

    def test_no_common_area_is_a_remark(self, source, monkeypatch):
        def nothing(result):
            raise rf.InputError("nothing in common")

        monkeypatch.setattr("rankfold.runs.jobs.crop_to_common", nothing)
        choice = runs.choose(source)
        summary = runs.run_align("run", source, choice, crop=True, output=NO_PICTURES, **QUICK)
        assert "no area in common" in summary.remarks[0]
        assert summary.frame == choice.frame.shape


class TestDecompose:
    def test_results_are_in_the_units_of_the_files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write_batch(street(8), "street")
        source = open_pictures("street")
        choice = runs.choose_as_they_lie(source)
        summary = runs.run_decompose("run", source, choice, output=NO_PICTURES, tol=1e-5)
        result = rf.load("run")
        given = np.stack([picture.values for picture in source.pictures()])
        np.testing.assert_allclose(result.low_rank + result.sparse, given, atol=0.1)
        np.testing.assert_allclose(summary.objective, result.objective)
        assert summary.as_dict()["images"] == 8


class TestInterruptedRuns:
    def interrupt(self, source, observe, **options):
        with pytest.raises(InterruptedError):
            runs.run_align(
                "run",
                source,
                runs.choose(source),
                output=NO_PICTURES,
                watch=observe,
                **QUICK,
                **options,
            )

    def test_go_on_from_the_folder_beside_their_own(self, source):
        self.interrupt(source, Interrupting())
        assert runs.unfinished("run").is_dir()
        assert sorted(p.name for p in Path().iterdir()) == ["run.unfinished", "views"]
        watch = Interrupting(limit=10**9)
        runs.run_align(
            "run",
            source,
            runs.choose(source),
            output=NO_PICTURES,
            watch=watch,
            resume=True,
            **QUICK,
        )
        assert watch.done == (Path("run.unfinished"), 1)
        assert not runs.unfinished("run").exists()
        runs.run_align("plain", source, runs.choose(source), output=NO_PICTURES, **QUICK)
        for name in ("transforms", "low_rank", "sparse"):
            one = getattr(rf.load("run"), name)
            np.testing.assert_array_equal(one, getattr(rf.load("plain"), name))

    def test_also_where_writing_was_interrupted(self, source, monkeypatch):
        def interrupted(*_):
            raise InterruptedError

        choice = runs.choose(source)
        failing = replace(NO_PICTURES, report=interrupted)
        with pytest.raises(InterruptedError):
            runs.run_align("run", source, choice, output=failing, **QUICK)
        watch = Interrupting(limit=10**9)
        summary = runs.run_align("run", source, choice, output=NO_PICTURES, watch=watch, **QUICK)
        assert watch.outer == 0  # nothing was computed again but the decomposition
        assert summary.status is rf.Status.CONVERGED

    def test_other_options_are_refused_and_nothing_is_lost(self, source):
        self.interrupt(source, Interrupting())
        with pytest.raises(rf.InputError, match=r"run\.unfinished is the checkpoint of a run with"):
            runs.run_align("run", source, runs.choose(source), method="rasl", max_outer=9)
        assert iterations_in(runs.unfinished("run")) == 1

    def test_to_resume_there_must_be_something(self, source):
        said = "nothing to go on from, because run.unfinished is not there or has nothing yet"
        with pytest.raises(rf.InputError, match=said):
            runs.run_align("run", source, runs.choose(source), resume=True, **QUICK)

    def test_leftovers_are_named_when_the_next_one_begins(self, source):
        Path(".run-abcd1234.rankfold-draft").mkdir()
        Path(".run.rankfold-lock").touch()
        Path(".other-abcd1234.rankfold-draft").mkdir()
        watch = Interrupting(limit=10**9)
        runs.run_align("run", source, runs.choose(source), output=NO_PICTURES, watch=watch, **QUICK)
        assert len(watch.remarks) == 1
        assert (
            "killed: .run-abcd1234.rankfold-draft (a draft); `rankfold clean run`"
            in (watch.remarks[0])
        )
        assert Path(".run-abcd1234.rankfold-draft").is_dir()
        assert not Path(".run.rankfold-lock").exists()

    def test_a_decomposition_goes_on_from_nothing_and_names_what_an_alignment_left(self, source):
        self.interrupt(source, Interrupting())
        watch = Interrupting(limit=10**9)
        choice = runs.choose_as_they_lie(source)
        runs.run_decompose("run", source, choice, output=NO_PICTURES, watch=watch)
        assert "run.unfinished (what the run needs to go on)" in watch.remarks[0]

    def test_a_second_run_to_the_same_place_is_refused_before_it_reads(self, source):
        unread = replace(source, iterate=None)
        said = r"run is being written by another rankfold \(process \d+ on .*\); wait until"
        with storage.whole_or_nothing("run"):
            with pytest.raises(rf.InputError, match=said):
                runs.run_align("run", unread, runs.choose(source), **QUICK)
            with pytest.raises(rf.InputError, match=said):
                runs.run_decompose("run", unread, runs.choose_as_they_lie(source))

    def test_a_picture_that_vanishes_is_named(self, source):
        Path("views/002.png").unlink()
        with pytest.raises(rf.FormatError, match=r"views/002\.png does not exist"):
            runs.run_align("run", source, runs.choose(source), **QUICK)
        assert [p.name for p in Path().iterdir()] == ["views"]


def test_a_result_whose_place_was_taken_meanwhile_gets_another_name(tmp_path):
    def race():
        with storage.whole_or_nothing(tmp_path / "race") as one:
            (one / "a").touch()
            (tmp_path / "race").mkdir()
            (tmp_path / "race" / "b").touch()

    said = r"while this was computed: .*race exists already; .*the result is in .*race-2"
    with pytest.raises(rf.WriteError, match=said):
        race()
    assert (tmp_path / "race" / "b").exists()
    assert (tmp_path / "race-2" / "a").exists()
