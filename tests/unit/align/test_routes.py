"""Ways to a start: each by its name, and "auto", which tries several and keeps one."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import photographs
import rankfold as rf
from rankfold.align.agreement import confirmation
from rankfold.align.job import Job
from rankfold.align.pixels import feature_stage
from rankfold.align.progress import Progress, lifted
from rankfold.align.routes import ROUTES, Attempt, can_match, in_order, start_stage, try_out
from rankfold.datasets import facade, rendered_heads
from rankfold.families import map_points, shift
from rankfold.metrics import alignment_error
from rankfold.scale import Serial
from rankfold.status import Status
from samples import request_of

module = importlib.import_module("rankfold.align.routes")


@pytest.fixture(scope="module")
def heads():
    """Heads whose start is nearly right: nothing but the first route is needed."""
    return rendered_heads(24, occluded=0.3, seed=0)


@pytest.fixture(scope="module")
def far():
    """Heads under many lamps, and a start (n, 3, 3) that is far off."""
    batch = rendered_heads(24, lights=35, seed=5)
    offsets = np.random.default_rng(1).uniform(-7, 7, (24, 2))
    return replace(batch, start=batch.start @ np.stack([shift(o) for o in offsets]))


@pytest.fixture(scope="module")
def wall():
    """Photographs of a wall that are large enough to have keypoints."""
    return facade(5, frame=(60, 60), seed=7)


def job_of(batch, observe=None, **options):
    request = request_of(batch.images, frame=batch.frame, init=batch.start, **options)
    return Job(request, Serial(), observe)


def aligned(batch, **options):
    result = rf.align(batch.images, frame=batch.frame, init=batch.start, n_jobs=2, **options)
    return result, alignment_error(result.transforms, batch.truth, batch.points)


def started(job):
    return start_stage(job, Progress.at_start(job))


class Pretended:
    """Stands for ``try_out``: the agreement and the confirmed share of each route are made up."""

    def __init__(self, **outcomes):
        self.outcomes = outcomes
        self.broken = None
        self.tried = []

    def __call__(self, job, route):
        self.tried.append(route.name)
        agreement, confirmed = self.outcomes[route.name]
        reached = Progress.at_start(job)
        status = Status.NON_FINITE if route.name == self.broken else Status.CONVERGED
        ahead = replace(reached, status=status)
        if route.name == self.broken:
            agreement = np.inf
        return Attempt(route, job, reached, ahead, agreement, confirmed)


class TestByName:
    def test_pixels_and_features_bring_back_what_is_far_off(self, far):
        assert alignment_error(far.start, far.truth, far.points).mean > 4
        without, before = aligned(far, start="given")
        assert without.verdict == "partial"
        for route in ("coarse", "pyramid"):
            result, after = aligned(far, start=route)
            assert after.mean < 0.7
            assert before.mean > 2 * after.mean
            assert result.verdict == "good"
            assert result.trace.stages["start"].max() > 4

    def test_matching_finds_photographs_from_the_wrong_side(self, wall):
        pytest.importorskip("cv2")
        turned = rf.FAMILIES["euclidean"].matrix(np.array([2.0, 20.0, -10.0]))
        lost = replace(wall, start=wall.start @ np.stack([np.eye(3), turned] * 2 + [np.eye(3)]))
        # The first picture starts where it belongs, and the frame is its view.
        result, error = aligned(lost, start="match", family="homography", frame_of=0)
        assert error.max < 0.3
        assert result.verdict == "good"
        # Where they were given stays on record beside where they were found.
        np.testing.assert_allclose(result.start, lost.start)
        assert np.abs(result.base - lost.start).max() > 1

    def test_a_picture_that_no_link_reaches_stays_where_it_was_given(self, wall):
        pytest.importorskip("cv2")
        noise = np.random.default_rng(0).random(wall.images[0].shape)
        batch = replace(wall, images=[*wall.images[:4], noise])
        job = job_of(batch, start="match", family="homography")
        progress = started(job)
        assert progress.matches.reached.tolist() == [True] * 4 + [False]
        np.testing.assert_allclose(progress.origin[4], batch.start[4])

    @pytest.mark.parametrize("frame_of", [0, 3, "image 1"])
    def test_the_frame_lies_over_the_picture_that_was_asked_for(self, wall, frame_of):
        pytest.importorskip("cv2")
        job = job_of(wall, start="match", family="homography", frame_of=frame_of)
        progress = started(job)
        index = job.request.frame_of
        assert progress.matches.reference == index
        np.testing.assert_allclose(progress.origin[index], wall.start[index], atol=1e-9)
        others = np.arange(5) != index
        assert (np.abs(progress.origin - wall.start).max(axis=(1, 2))[others] > 0.01).all()

    def test_matches_refer_to_the_originals_where_pictures_are_read_coarser(self, wall):
        """A start in the coarser pictures is the same place as in the originals."""
        pytest.importorskip("cv2")
        whole = job_of(wall, start="match", family="homography")
        stack = whole.request.stack.reduced(2)
        start = stack.from_original(whole.request.start)
        small = replace(whole, request=replace(whole.request, stack=stack, start=start))
        found = stack.to_original(started(small).origin)
        corners = wall.frame.corners
        there = map_points(found, corners)
        here = map_points(started(whole).origin, corners)
        np.testing.assert_allclose(there, here, atol=1e-6)

    @pytest.mark.parametrize(("word", "route"), [(True, "coarse"), ("auto", "given")])
    def test_the_earlier_word_still_works(self, heads, word, route):
        progress = started(job_of(heads, coarse=word))
        assert [record.route for record in progress.attempts if record.kept] == [route]

    def test_given_has_no_stage_and_no_record(self, heads):
        result, _ = aligned(heads, coarse=False)
        assert result.trace.routes == {}
        assert "start" not in result.trace.stages


class TestAuto:
    def test_it_stops_at_the_first_that_is_plainly_good(self, heads):
        result, error = aligned(heads)
        assert result.trace.routes["route"].tolist() == ["given"]
        assert error.mean < 0.3
        # Matrices to start from are a start like any other.
        assert "start" in result.trace.stages

    def test_it_goes_on_until_one_is(self, far):
        result, error = aligned(far)
        assert result.trace.routes["route"].tolist() == ["given", "coarse", "pyramid"]
        assert result.trace.routes["kept"].tolist() == [False, False, True]
        assert result.trace.routes["confirmed"][-1] >= 0.8
        assert error.mean < 0.7

    @pytest.mark.parametrize(
        ("outcomes", "kept"),
        [
            # Nothing is tried after one that is plainly good.
            ({"given": (9.0, 0.9)}, "given"),
            ({"given": (5.0, 0.5), "coarse": (9.0, 0.9)}, "coarse"),
            # Where half of them confirm each other, their number decides.
            ({"given": (8.0, 0.3), "coarse": (6.0, 0.1), "pyramid": (7.0, 0.6)}, "pyramid"),
            ({"given": (5.0, 0.1), "coarse": (6.0, 0.5), "pyramid": (7.0, 0.4)}, "coarse"),
            # Of two with the same number, the one after which they agree better.
            ({"given": (8.0, 0.1), "coarse": (7.0, 0.6), "pyramid": (6.0, 0.6)}, "pyramid"),
            # The first is given up only for one that is clearly better.
            ({"given": (8.0, 0.6), "coarse": (6.0, 0.75), "pyramid": (7.0, 0.1)}, "given"),
            ({"given": (8.0, 0.5), "coarse": (6.0, 0.75), "pyramid": (7.0, 0.1)}, "coarse"),
            ({"given": (8.0, 0.7), "coarse": (6.0, 0.85)}, "given"),
            # Where less than half do, their number says nothing, and the agreement decides.
            ({"given": (8.0, 0.4), "coarse": (6.0, 0.1), "pyramid": (7.0, 0.4)}, "coarse"),
        ],
    )
    def test_which_is_kept(self, heads, monkeypatch, outcomes, kept):
        pretended = Pretended(**outcomes)
        monkeypatch.setattr(module, "try_out", pretended)
        progress = started(job_of(heads))
        assert pretended.tried == list(outcomes)
        assert [record.route for record in progress.attempts] == list(outcomes)
        assert [record.route for record in progress.attempts if record.kept] == [kept]

    def test_one_that_broke_off_is_never_the_best(self, heads, monkeypatch):
        pretended = Pretended(given=(8.0, 0.0), coarse=(1.0, 0.0), pyramid=(7.0, 0.0))
        pretended.broken = "coarse"
        monkeypatch.setattr(module, "try_out", pretended)
        progress = started(job_of(heads))
        assert [record.route for record in progress.attempts if record.kept] == ["pyramid"]
        assert progress.status is Status.CONVERGED

    def test_how_good_is_plainly_good_is_a_setting(self, heads, monkeypatch):
        pretended = Pretended(given=(5.0, 0.5))
        monkeypatch.setattr(module, "try_out", pretended)
        easy = rf.AlignSettings().changed({"routes.plainly_good": 0.4})
        started(job_of(heads, settings=easy))
        assert pretended.tried == ["given"]

    def test_blurred_heads_under_different_lamps_are_not_led_astray(self, heads, monkeypatch):
        """They agree better where they do not belong; a few steps on features tell."""
        monkeypatch.setattr(module, "in_order", lambda _: [ROUTES["coarse"], ROUTES["given"]])
        result, error = aligned(heads)
        assert result.trace.routes["route"].tolist() == ["coarse", "given"]
        assert result.trace.routes["kept"].tolist() == [False, True]
        assert error.mean < 0.3

    def test_what_was_looked_at_ahead_is_not_done_again(self, heads):
        """The frame is as small as the one on which starts are tried."""
        job = job_of(heads)
        assert job.rehearsal is job
        progress = started(job)
        after = feature_stage(job, progress)
        assert after.outer is progress.ahead.outer
        assert after.attempts == progress.attempts
        direct = feature_stage(job, Progress.at_start(job))
        np.testing.assert_array_equal(after.motion.transforms, direct.motion.transforms)

    def test_without_features_the_look_ahead_is_thrown_away(self, heads):
        progress = started(job_of(heads, features=None))
        assert progress.ahead is None
        np.testing.assert_array_equal(progress.motion.transforms, progress.origin)


class TestOrder:
    def test_a_plane_from_several_places_is_matched_first(self, wall, monkeypatch):
        monkeypatch.setattr(module, "available", lambda: True)
        names = [route.name for route in in_order(job_of(wall, family="similarity"))]
        assert names == list(ROUTES)
        for family in ("affine", "homography"):
            middle = Job(request_of(wall.images, frame=wall.frame, family=family), Serial())
            names = [route.name for route in in_order(middle)]
            assert names == ["match", "given", "coarse", "pyramid"]

    def test_unless_the_caller_said_where_the_pictures_lie(self, wall, monkeypatch):
        monkeypatch.setattr(module, "available", lambda: True)
        names = [route.name for route in in_order(job_of(wall, family="homography"))]
        assert names == list(ROUTES)

    @pytest.mark.parametrize("family", ["similarity", "homography"])
    def test_without_opencv_it_is_not_matched_at_all(self, wall, monkeypatch, family):
        monkeypatch.setattr(module, "available", lambda: False)
        names = [route.name for route in in_order(job_of(wall, family=family))]
        assert names == ["given", "coarse", "pyramid"]

    def test_thumbnails_have_no_keypoints(self, wall, monkeypatch):
        monkeypatch.setattr(module, "available", lambda: True)
        side = min(wall.images[0].shape)
        for least, answer in ((side, True), (side + 1, False)):
            numbers = rf.AlignSettings().changed({"routes.least_view": least})
            assert can_match(job_of(wall, settings=numbers)) == answer


class TestSmallerFrame:
    def test_starts_are_tried_on_it_and_the_rest_is_on_the_whole_frame(self):
        batch = facade(5, frame=(90, 90), seed=7)
        job = job_of(batch, family="homography", settings=ONLY_GIVEN)
        assert job.rehearsal.request.frame.shape == (64, 64)
        progress = started(job)
        assert progress.ahead is None
        assert {record.stage for record in progress.outer} == {"start"}
        # The features have been followed there, and the places are those of the whole frame.
        error = alignment_error(progress.motion.transforms, batch.truth, batch.points)
        assert error.mean < 0.5 < alignment_error(batch.start, batch.truth, batch.points).mean
        last = progress.outer[-1].transforms
        corners = batch.frame.corners
        np.testing.assert_allclose(
            map_points(last, corners), map_points(progress.motion.transforms, corners), atol=1e-6
        )

    def test_lengths_are_those_of_the_whole_frame(self):
        batch = facade(3, frame=(96, 128), seed=7)
        job = job_of(batch, family="homography")
        small = job.rehearsal
        there = feature_stage(small, Progress.at_start(small))
        there = replace(
            there,
            moved={"features": np.array([1.0, 2.0, 3.0])},
            confirmation=confirmation(small, there.motion.transforms),
        )
        here = lifted(there, job, small)
        for one, other in zip(there.outer, here.outer, strict=True):
            assert other.median_displacement == pytest.approx(1.5 * one.median_displacement)
            np.testing.assert_allclose(other.displacement, 1.5 * one.displacement)
        np.testing.assert_allclose(here.moved["features"], [1.5, 3.0, 4.5])
        # What belongs to rows or places of the smaller frame is left behind.
        assert here.solution is None
        assert here.confirmation is None

    @pytest.mark.parametrize(("stage", "expected"), [(None, "features"), ("start", "start")])
    def test_steps_count_as_those_of_the_stage_that_is_named(self, stage, expected):
        batch = facade(3, frame=(96, 128), seed=7)
        job = job_of(batch, family="homography")
        small = job.rehearsal
        there = feature_stage(small, Progress.at_start(small))
        here = lifted(there, job, small, stage)
        assert {record.stage for record in here.outer} == {expected}


class TestViews:
    """Keypoints are looked for in the pictures as they were given, however small the frame is."""

    @pytest.fixture
    def job(self):
        # Of the 180 x 240 px of a picture, a frame of 32 px needs a quarter.
        pictures, _ = photographs.views()
        return Job(request_of(pictures, frame=(96, 128), family="homography"), Serial())

    def test_pictures_that_were_made_coarser_are_remembered_as_they_were_given(self, job):
        small = job.on_smaller_frame(32)
        smallest = small.on_smaller_frame(16)
        assert job.given is None
        assert small.request.stack.reduction > 1
        assert small.given is smallest.given is job.request.stack
        for one, other in zip(smallest.views, job.views, strict=True):
            np.testing.assert_array_equal(one.pixels, other.pixels)

    def test_they_are_made_when_they_are_asked_for_and_not_before(self, job, monkeypatch):
        made = []
        monkeypatch.setattr(
            type(job.request.stack), "views_to_match", lambda *given: made.append(given[0])
        )
        small = job.on_smaller_frame(32)
        started(replace(small, request=replace(small.request, route="given")))
        assert made == []
        assert small.views is None
        assert len(made) == 1
        assert made[0] is job.request.stack

    def test_matches_on_a_smaller_frame_lead_to_the_same_places(self, job):
        pytest.importorskip("cv2")
        job = replace(job, request=replace(job.request, route="match"))
        small = job.on_smaller_frame(32)
        there = job.from_smaller(small, started(small).origin)
        here = started(job).origin
        corners = job.request.frame.corners
        np.testing.assert_allclose(map_points(there, corners), map_points(here, corners), atol=1e-6)


class TestStopping:
    def test_a_stop_during_the_first_try_keeps_what_there_is(self, far):
        seen = []

        def stop(record):
            seen.append(record)
            return sum(isinstance(one, rf.OuterRecord) for one in seen) == 3

        result, _ = aligned(far, observe=stop)
        assert result.status is rf.Status.STOPPED
        assert result.stop_rule == "observer"
        assert "pixels" not in result.trace.stages
        assert len(result.trace.outer["stage"]) == 3
        assert result.trace.routes["sentence"].tolist() == ["from where they were given: broke off"]
        np.testing.assert_array_equal(result.transforms, result.trace.outer["transforms"][-1])
        assert np.isfinite(result.low_rank).all()

    def test_a_stop_during_a_later_try_keeps_the_best_so_far(self, far, monkeypatch):
        plain = module.try_out

        def stopped(job, route):
            attempt = plain(job, route)
            if route.name == "given":
                return attempt
            over = replace(attempt.ahead, status=Status.STOPPED)
            return replace(attempt, ahead=over, agreement=np.inf, confirmed=0.0)

        monkeypatch.setattr(module, "try_out", stopped)
        result, _ = aligned(far)
        assert result.status is rf.Status.STOPPED
        assert result.trace.routes["route"].tolist() == ["given", "coarse"]
        assert result.trace.routes["kept"].tolist() == [True, False]

    def test_a_stop_on_the_way_of_a_route_that_was_asked_for_keeps_what_there_is(self, far):
        result, _ = aligned(far, start="coarse", observe=lambda r: isinstance(r, rf.OuterRecord))
        assert result.status is rf.Status.STOPPED
        assert list(result.trace.stages) == ["start"]
        np.testing.assert_array_equal(result.transforms, result.trace.outer["transforms"][-1])

    def test_a_try_that_was_stopped_is_not_compared(self, heads):
        attempt = try_out(job_of(heads, observe=lambda _: True), ROUTES["coarse"])
        assert attempt.ahead.status is Status.STOPPED
        assert attempt.agreement == np.inf
        assert attempt.confirmed == 0


class TestMatchedPlaces:
    def test_a_start_of_another_size_is_tried_in_px_of_its_own_pictures(self):
        """Where pictures are read in less detail for a trial, matching may change by how much."""
        pytest.importorskip("cv2")
        wall = photographs.scene(shape=(700, 700))
        truth = []
        for k, zoom in enumerate((1.0, 1.05, 1.02, 1.03, 1.02)):
            offset = np.array([350.0 + 7 * k, 350.0 - 5 * k])
            to_middle = shift(np.array([-127.5, -127.5]))
            truth.append(shift(offset) @ np.diag([zoom, zoom, 1.0]) @ to_middle)
        pictures = [photographs.photograph(wall, T, (256, 256)) for T in truth]
        result = rf.align(pictures, family="homography", start="auto")
        assert result.trace.routes["route"].tolist() == ["match"]
        assert result.trace.routes["confirmed"][0] == 1
        assert result.verdict == "good"

    def test_a_picture_out_of_view_stays_where_it_was_given_and_is_named(self):
        """Five views in a row: the frame is one of them, and does not see the last."""
        pytest.importorskip("cv2")
        wall = photographs.scene(shape=(420, 900))
        pictures = []
        for k in range(5):
            corner = np.array([20.0 + 120 * k, 100.0])
            pictures.append(photographs.photograph(wall, shift(corner)))
        result = rf.align(pictures, family="translation", frame_of=0, max_outer=3)
        assert result.trace.matching["reached"].all()
        # A frame of this size goes through px of a smaller one, which costs the last bit.
        np.testing.assert_allclose(result.base[4], result.start[4], atol=1e-12)
        assert np.abs(result.base[1] - result.start[1]).max() > 100
        assert result.verdicts[4] == "failed"
        assert "the frame does not see" in result.advice
        assert "image 4" in result.advice

    def test_a_frame_that_sees_nothing_of_a_picture_is_named_as_it_is(self, heads):
        start = heads.start.copy()
        start[3] = start[3] @ shift(np.array([500.0, 0.0]))
        with pytest.raises(rf.InputError, match="the 45x42 frame sees nothing of image 3"):
            rf.align(heads.images, frame=heads.frame, init=start)


class TestRecords:
    def test_a_route_that_was_asked_for_was_compared_with_nothing(self, heads):
        result, _ = aligned(heads, start="coarse", features=None, rescue=False)
        routes = result.trace.routes
        assert routes["route"].tolist() == ["coarse"]
        assert routes["kept"].tolist() == [True]
        assert np.isnan(routes["agreement"]).all()
        assert np.isnan(routes["confirmed"]).all()
        assert routes["sentence"].tolist() == ["by blurred pictures, as was asked for"]

    def test_what_was_tried_is_on_record_with_its_figures(self, far):
        routes = aligned(far)[0].trace.routes
        assert (routes["agreement"] > 0).all()
        assert ((routes["confirmed"] >= 0) & (routes["confirmed"] <= 1)).all()
        for name, agreed, share, sentence in zip(
            *(routes[part] for part in ("route", "agreement", "confirmed", "sentence")), strict=True
        ):
            figures = f"{share:.0%} of the pictures confirmed, agreement {agreed:.2f}"
            assert sentence == f"{ROUTES[name].sentence}: {figures}"

    def test_what_was_matched_is_in_the_trace_even_where_it_was_not_kept(self, wall, monkeypatch):
        pytest.importorskip("cv2")
        plain = module.try_out

        def disliked(job, route):
            attempt = plain(job, route)
            return replace(attempt, confirmed=0.1, agreement=9.0 if route.name == "match" else 1.0)

        monkeypatch.setattr(module, "try_out", disliked)
        result, _ = aligned(wall, family="homography")
        tried = result.trace.routes["route"].tolist()
        assert not result.trace.routes["kept"][tried.index("match")]
        matching = result.trace.matching
        assert matching["reached"].all()
        assert matching["transforms"].shape == (5, 3, 3)
        assert matching["links"].shape[1] == 3
        assert len(matching["points"]) == matching["links"][:, 2].sum()
        np.testing.assert_allclose(result.base, result.start)


# Whatever comes of the first route, it is kept.
ONLY_GIVEN = rf.AlignSettings().changed({"routes.plainly_good": 0.0, "routes.least_view": 10_000})
