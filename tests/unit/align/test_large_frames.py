"""Large frames: places are searched on a smaller one, and all that is told is of the whole one."""

import importlib

import numpy as np
import pytest

import photographs
import rankfold as rf
from rankfold.align.job import Job
from rankfold.align.pixels import shared_detail
from rankfold.align.stages import run_stages
from rankfold.align.steps import displacements
from rankfold.families import inverse, map_points, shift
from rankfold.metrics import alignment_error
from rankfold.scale import Serial
from samples import request_of

module = importlib.import_module("rankfold.align.stages")

FRAME = rf.Frame(120, 160)
CORNERS = FRAME.corners
# Of which the search sees 48 x 64 px, or all.
SMALL = rf.AlignSettings().changed({"resolution.side": 48})
WHOLE = rf.AlignSettings().changed({"resolution.side": 1000})
WORDS = {"frame": FRAME, "family": "euclidean", "settings": SMALL}

SEARCH = ["start", "features", "rescue", "pixels"]
LAST = ["decomposition", "occluders", "verdicts"]
# The finest detail of these pictures is shared, or nothing but noise.
SHARP = 0.01
NOISY = 0.3


def align(noise=SHARP, **options):
    pictures, _ = photographs.near_views(noise=noise)
    return rf.align(pictures, **{**WORDS, **options})


def job_of(pictures, **options):
    return Job(request_of(pictures, **{**WORDS, **options}), Serial())


@pytest.fixture(scope="module", params=["rasl", "meadmm"])
def found(request):
    return align(method=request.param)


@pytest.fixture
def shapes(monkeypatch):
    """On how large a frame each stage has run, by its name."""
    noted = {}
    plain = module._run

    def run(stage, job, before):
        noted[stage.name] = job.request.frame.shape
        return plain(stage, job, before)

    monkeypatch.setattr(module, "_run", run)
    return noted


class Watcher:
    """An observer that is told of stages, and may stop after a step of one."""

    def __init__(self, stop_at=None):
        self.told = []
        self.steps = []
        self.stop_at = stop_at

    def begin_stage(self, name, stages):
        self.told.append(name)

    def __call__(self, record):
        if isinstance(record, rf.InnerRecord):
            return False
        self.steps.append((self.told[-1], record.stage))
        return record.stage == self.stop_at


class TestSearch:
    def test_it_runs_on_a_smaller_frame(self, shapes):
        result = align()
        small = dict.fromkeys(SEARCH, (48, 64))
        assert shapes == {**small, **dict.fromkeys(["fine", *LAST], FRAME.shape)}
        assert result.frame.shape == FRAME.shape
        assert result.aligned.shape == result.low_rank.shape == (6, *FRAME.shape)

    def test_by_default_on_one_of_128_px(self, shapes):
        pictures = np.random.default_rng(0).random((3, 130, 195))
        rf.align(pictures, "rasl", frame=(130, 195), outer_tol=5)
        assert shapes["pixels"] == (128, 192)
        assert shapes["fine"] == (130, 195)

    def test_as_published_on_the_whole_one(self, shapes):
        align(method="rasl", schedule="published", outer_tol=5)
        assert shapes == dict.fromkeys(["pixels", *LAST], FRAME.shape)

    def test_robust_pca_moves_nothing_and_needs_no_smaller_one(self, shapes):
        pictures, _ = photographs.near_views()
        rf.align(pictures, "rpca", frame=FRAME, settings=SMALL)
        assert shapes == dict.fromkeys(LAST, FRAME.shape)

    def test_pictures_come_to_their_places(self, found):
        _, truth = photographs.near_views()
        places = inverse(truth)
        assert alignment_error(found.start, places, CORNERS).max > 1
        assert alignment_error(found.transforms, places, CORNERS).max < 0.1
        assert found.status is rf.Status.CONVERGED
        assert found.verdict == "good"

    def test_they_are_those_of_a_search_on_the_whole_frame(self, found):
        whole = align(method=found.method, settings=WHOLE)
        assert "fine" not in whole.trace.stages
        assert 0 < displacements(found.transforms, whole.transforms, CORNERS).max() < 0.05

    def test_without_the_last_stage_they_would_be_further_away(self, found):
        whole = align(method=found.method, settings=WHOLE)
        rough = align(method=found.method, settings=SMALL.changed({"resolution.detail": 1.0}))
        assert "fine" not in rough.trace.stages
        off = displacements(rough.transforms, whole.transforms, CORNERS).mean()
        assert off > 2 * displacements(found.transforms, whole.transforms, CORNERS).mean()


class TestRecords:
    def test_lengths_are_in_px_of_the_whole_frame(self, found):
        """Every step is measured again, from the transforms before and after it."""
        before = found.start
        names = ("transforms", "displacement", "median_displacement")
        columns = [found.trace.outer[name] for name in names]
        for after, displacement, median in zip(*columns, strict=True):
            measured = displacements(before, after, CORNERS)
            # The corner pixels of a smaller frame lie a little inside those of the whole one.
            np.testing.assert_allclose(displacement, measured, rtol=0.02, atol=1e-4)
            assert median == pytest.approx(np.median(displacement))
            before = after

    def test_so_is_how_far_each_stage_moved_the_pictures(self, found):
        stages = found.trace.outer["stage"]
        before = found.start
        for name, moved in found.trace.stages.items():
            steps = np.flatnonzero(stages == name)
            after = found.trace.outer["transforms"][steps[-1]] if len(steps) else before
            measured = displacements(before, after, CORNERS)
            np.testing.assert_allclose(moved, measured, rtol=0.02, atol=1e-4)
            before = after

    def test_the_last_transforms_are_those_of_the_result(self, found):
        outer = found.trace.outer
        assert outer["stage"][-1] == "fine"
        assert displacements(outer["transforms"][-1], found.transforms, CORNERS).max() < 1e-9
        assert outer["outer"].tolist() == list(range(len(outer["outer"])))

    def test_an_observer_is_told_of_every_stage_by_its_name(self):
        watcher = Watcher()
        align(start="given", observe=watcher)
        assert watcher.told == [*SEARCH[1:], "fine", *LAST]
        assert [told for told, _ in watcher.steps] == [name for _, name in watcher.steps]
        assert {name for _, name in watcher.steps} == {"features", "pixels", "fine"}


class TestFine:
    """The stage that refines runs only where the finest detail is more than noise."""

    def detail(self, noise):
        """The detail that pictures share where they belong."""
        pictures, truth = photographs.near_views(noise=noise)
        job = job_of(pictures)
        # What the first picture shows in the frame at the start, seen by all.
        return shared_detail(job, inverse(truth) @ truth[0] @ job.request.start[0])

    def test_photographs_share_their_detail_and_noise_does_not(self):
        limit = rf.AlignSettings().resolution.detail
        assert 1 >= self.detail(0.0) > self.detail(SHARP) > 3 * limit
        assert abs(self.detail(NOISY)) < limit / 3

    def test_it_runs_on_photographs(self):
        sharp = align(noise=SHARP)
        assert list(sharp.trace.stages) == [*SEARCH, "fine"]
        assert "fine" in sharp.trace.outer["stage"]

    def test_it_is_skipped_on_noise_and_the_result_is_of_the_whole_frame_all_the_same(self):
        noisy = align(noise=NOISY)
        assert list(noisy.trace.stages) == SEARCH
        assert "fine" not in noisy.trace.outer["stage"]
        assert noisy.aligned.shape == (6, *FRAME.shape)
        assert noisy.status is rf.Status.CONVERGED
        last = noisy.trace.outer["transforms"][-1]
        assert displacements(last, noisy.transforms, CORNERS).max() < 1e-9

    def test_how_much_detail_is_enough_is_a_setting(self):
        easy = SMALL.changed({"resolution.detail": 0.0})
        strict = SMALL.changed({"resolution.detail": 1.0})
        words = {"method": "rasl", "outer_tol": 5}
        _, truth = photographs.near_views()
        there = inverse(truth) @ truth[0] @ job_of(photographs.near_views()[0]).request.start[0]
        assert "fine" in align(noise=NOISY, settings=easy, init=there, **words).trace.stages
        assert "fine" not in align(noise=SHARP, settings=strict, **words).trace.stages

    def test_what_is_missing_has_no_detail(self):
        """All pictures have the edges of a mask in common, which must not count."""
        noise = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((6, *FRAME.shape))
        masks = np.ones(noise.shape, bool)
        masks[:, 10:60:4] = False
        start = np.tile(np.eye(3), (6, 1, 1))
        assert abs(shared_detail(job_of(list(noise), init=start), start)) < 0.02
        masked = job_of(list(noise), init=start, masks=list(masks))
        assert abs(shared_detail(masked, start)) < 0.02

    def test_nor_has_what_lies_beside_it(self):
        """Pictures that are nearly flat, in a frame that reaches over their edge."""
        noise = 0.5 + 0.01 * np.random.default_rng(0).standard_normal((6, *FRAME.shape))
        start = np.tile(shift(np.array([-30.0, 0.0])), (6, 1, 1))
        beyond = job_of(list(noise), init=start)
        assert abs(shared_detail(beyond, start)) < 0.02

    def test_a_picture_without_detail_shares_none(self):
        pictures, _ = photographs.near_views()
        flat = np.zeros(pictures[0].shape)
        # Outside of the frame it is not flat, or it would be refused.
        flat[0, 0] = 1
        job = job_of([flat, *pictures[:2]])
        # Of the three pairs two have nothing in common, so the median has not.
        assert shared_detail(job, job.request.start) == pytest.approx(0, abs=1e-6)

    def test_of_many_pictures_some_are_asked_from_the_first_to_the_last(self, monkeypatch):
        pictures, _ = photographs.near_views()
        job = job_of(pictures, settings=SMALL.changed({"resolution.sample": 3}))
        asked = []
        plain = type(job.pixels).sample

        def sample(sampler, index, transform):
            asked.append(index)
            return plain(sampler, index, transform)

        monkeypatch.setattr(type(job.pixels), "sample", sample)
        shared_detail(job, job.request.start)
        assert asked == [0, 2, 5]

    def test_where_all_channels_guide_all_are_asked_together(self):
        """Noise in one channel that another one takes away does not count."""
        pictures, _ = photographs.near_views()
        rng = np.random.default_rng(0)
        coloured = []
        for one in pictures:
            noise = rng.standard_normal(one.shape)
            coloured.append(np.dstack([one + noise, one - noise, one]))
        start = job_of(pictures).request.start
        grey = shared_detail(job_of(pictures), start)
        joint = shared_detail(job_of(coloured, channels="joint"), start)
        assert joint == pytest.approx(grey, abs=1e-4)


class TestMatching:
    """Matches are found in the pictures as they were given, and give the whole frame an origin."""

    @pytest.mark.parametrize(
        "options", [{"start": "auto"}, {"start": "match"}, {"frame_of": 3}], ids=str
    )
    def test_the_origin_is_that_of_a_search_on_the_whole_frame(self, options):
        pytest.importorskip("cv2")
        pictures, truth = photographs.views()
        words = {"family": "homography", "frame": FRAME, **options}
        small = rf.align(pictures, settings=SMALL, **words)
        whole = rf.align(pictures, settings=WHOLE, **words)
        assert small.trace.routes["route"].tolist() == ["match"]
        assert small.trace.matching["reached"].all()
        # Where they were given stays on record beside where they were found.
        np.testing.assert_array_equal(small.start, whole.start)
        assert displacements(small.start, small.base, CORNERS).max() > 10
        there = map_points(whole.base, CORNERS)
        np.testing.assert_allclose(map_points(small.base, CORNERS), there, atol=1e-6)
        # All of them see the same of the wall, and as precisely.
        seen = map_points(truth @ small.transforms, CORNERS)
        assert np.linalg.norm(seen - seen.mean(axis=0), axis=2).max() < 0.2
        assert displacements(small.transforms, whole.transforms, CORNERS).max() < 0.1
        assert small.verdict == "good"

    def test_the_job_that_is_returned_starts_there_on_the_whole_frame(self):
        pytest.importorskip("cv2")
        pictures, _ = photographs.views()
        given = job_of(pictures, family="homography", start="match", max_outer=1)
        job, progress = run_stages(given)
        assert job.request.frame == FRAME
        assert job.request.stack is given.request.stack
        assert job.request.start is progress.origin
        assert displacements(given.request.start, progress.origin, CORNERS).max() > 10

    @pytest.mark.parametrize("route", ["given", "coarse", "auto"])
    def test_without_matches_the_origin_is_the_start_that_was_given(self, route):
        pictures, _ = photographs.near_views()
        given = job_of(pictures, start=route, max_outer=1)
        job, progress = run_stages(given)
        assert [record.route for record in progress.attempts if record.kept] != ["match"]
        assert job is given
        assert progress.origin is given.request.start


class TestStop:
    """A run that was stopped has a result of the whole frame, too."""

    @pytest.mark.parametrize("stage", ["features", "pixels", "fine"])
    def test_after_a_step_of_any_stage(self, stage):
        watcher = Watcher(stop_at=stage)
        result = align(start="given", observe=watcher)
        stages = [*SEARCH[1:], "fine"]
        assert watcher.told == [*stages[: stages.index(stage) + 1], *LAST]
        assert [name for _, name in watcher.steps].count(stage) == 1
        self.check(result, stage)

    def test_within_a_step(self):
        result = align(
            method="rasl",
            observe=lambda record: isinstance(record, rf.InnerRecord) and record.outer == 1,
        )
        assert len(result.trace.outer["outer"]) == 1
        self.check(result, "pixels")

    def test_while_starts_are_tried(self):
        watcher = Watcher(stop_at="features")
        result = align(observe=watcher)
        assert watcher.told == ["start", *LAST]
        self.check(result, "features")

    def check(self, result, stage):
        assert result.status is rf.Status.STOPPED
        assert result.stop_rule == "observer"
        assert result.trace.outer["stage"][-1] == stage
        assert result.aligned.shape == result.low_rank.shape == (6, *FRAME.shape)
        assert np.isfinite(result.low_rank).all()
        assert np.isfinite(result.confirmed).all()
        # It is where the last step led, and that is on the way in px of the whole frame.
        last = result.trace.outer["transforms"][-1]
        assert displacements(last, result.transforms, CORNERS).max() < 1e-9
        _, truth = photographs.near_views()
        before = alignment_error(result.start, inverse(truth), CORNERS).mean
        assert alignment_error(result.transforms, inverse(truth), CORNERS).mean < 0.5 * before
        # What is shown is what the pictures look like there, to single precision.
        pictures, _ = photographs.near_views()
        np.testing.assert_allclose(result.apply(pictures), result.aligned, atol=1e-5)
