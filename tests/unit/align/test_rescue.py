"""Bringing back single pictures: who is looked for, where, and when to stop looking."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.agreement import feature_model
from rankfold.align.job import Job
from rankfold.align.progress import Progress
from rankfold.align.rescue import Search, came_from_far, grid, rescue_stage
from rankfold.align.routes import ROUTES
from rankfold.align.settings import RescueSettings
from rankfold.datasets import rendered_heads
from rankfold.families import FAMILIES, shift
from rankfold.metrics import alignment_error
from rankfold.scale import Serial
from rankfold.status import RouteRecord
from samples import request_of

module = importlib.import_module("rankfold.align.rescue")

NUMBERS = RescueSettings()
LOST = 7
AWAY = np.array([4.2, -3.6])


@pytest.fixture(scope="module")
def clear():
    """Pictures of which nothing is hidden: in their places all of them are confirmed."""
    return rendered_heads(16, lights=35, seed=3)


def job_with_one_lost(batch):
    """A job that starts where the pictures belong, but for one."""
    start = batch.truth.copy()
    start[LOST] = start[LOST] @ shift(AWAY)
    return Job(request_of(batch.images, frame=batch.frame, init=start), Serial())


def came_by(job, route):
    """The pictures where they start, as if a route had brought them there."""
    record = RouteRecord(route, 1.0, 0.5, True, "")
    return replace(Progress.at_start(job), attempts=(record,))


@pytest.fixture(scope="module")
def batch():
    return rendered_heads(24, occluded=0.3, seed=5)


def run(batch, init, **options):
    result = rf.align(batch.images, frame=batch.frame, init=init, n_jobs=2, **options)
    return result, alignment_error(result.transforms, batch.truth, batch.points)


def test_a_lost_picture_is_rescued(batch):
    start = batch.truth.copy()
    start[LOST] = start[LOST] @ shift(AWAY)
    without, off = run(batch, start, rescue=False)
    result, error = run(batch, start)
    assert off.each[LOST] > 2
    assert without.verdicts[LOST] != "placed"
    assert error.each[LOST] < 0.6
    assert result.verdicts[LOST] == "placed"
    assert result.rescued[LOST]
    assert not without.rescued.any()
    assert result.trace.stages["rescue"][LOST] > 2


class TestRounds:
    """The stage itself, from a start at which one picture lies apart."""

    @pytest.fixture
    def job(self, clear):
        return job_with_one_lost(clear)

    @pytest.fixture
    def asked(self, monkeypatch):
        """Nobody is ever moved; how wide each search was meant to be is written down."""
        calls = []

        def nobody(job, motion, model, cost, test, far):
            calls.append((far, np.flatnonzero(test.unconfirmed).tolist()))
            return motion, np.zeros(len(motion.parameters), bool)

        monkeypatch.setattr(module, "rescue", nobody)
        return calls

    @pytest.mark.parametrize(("route", "rounds"), [("given", 1), ("match", 1), ("pyramid", 2)])
    def test_it_does_not_ask_again_what_it_has_been_told(self, job, asked, route, rounds):
        """After a far start it asks once with a smaller basis, too."""
        progress = came_by(job, route)
        after = rescue_stage(job, progress)
        assert asked == [(rounds == 2, [LOST])] * rounds
        assert not after.rescued.any()
        np.testing.assert_array_equal(after.motion.transforms, progress.motion.transforms)

    def test_pictures_that_are_confirmed_are_left_alone(self, clear, asked):
        job = Job(request_of(clear.images, frame=clear.frame, init=clear.truth), Serial())
        after = rescue_stage(job, came_by(job, "given"))
        assert asked == []
        assert not after.rescued.any()

    def test_it_moves_the_one_that_is_lost_and_no_other(self, job, clear):
        after = rescue_stage(job, came_by(job, "given"))
        assert np.flatnonzero(after.rescued).tolist() == [LOST]
        error = alignment_error(after.motion.transforms, clear.truth, clear.points)
        assert error.each[LOST] < 0.6

    def test_a_cheaper_place_where_less_is_confirmed_is_refused(self, job, monkeypatch):
        monkeypatch.setattr(module.Test, "is_better", lambda *_: False)
        after = rescue_stage(job, came_by(job, "given"))
        assert not after.rescued.any()

    def test_a_round_after_which_the_pictures_agree_less_is_undone(self, job, monkeypatch):
        values = iter(range(100))
        monkeypatch.setattr(module, "agreement", lambda *_: next(values))
        progress = came_by(job, "given")
        after = rescue_stage(job, progress)
        assert not after.rescued.any()
        np.testing.assert_array_equal(after.motion.transforms, progress.motion.transforms)

    @pytest.mark.parametrize("rough", [False, True])
    @pytest.mark.parametrize("far", [False, True])
    def test_it_looks_far_after_a_far_start_unless_pictures_agree_only_roughly(
        self, job, monkeypatch, far, rough
    ):
        searches = []
        monkeypatch.setattr(module, "better_place", lambda *words: searches.append(words[-1]))
        motion = Progress.at_start(job).motion
        test = replace(module.Test.at(job, job.request.start), rough=rough)
        model, cost = feature_model(job, job.request.start)
        module.rescue(job, motion, model, cost, test, far)
        wide = Search.wide(NUMBERS, min(job.request.frame.shape))
        assert set(searches) == {wide if far and not rough else Search.near(NUMBERS)}


class TestProof:
    """Whether more of a picture is confirmed somewhere else."""

    @pytest.fixture
    def test(self, clear):
        job = job_with_one_lost(clear)
        return module.Test.at(job, job.request.start)

    def test_the_one_that_is_lost_is_not_confirmed(self, test):
        assert np.flatnonzero(test.unconfirmed).tolist() == [LOST]
        np.testing.assert_array_equal(test.trusted, ~test.unconfirmed)

    def test_more_of_it_is_confirmed_where_it_belongs_and_not_further_away(self, test, clear):
        there = clear.truth[LOST]
        assert test.is_better(LOST, there)
        assert not test.is_better(LOST, there @ shift(3 * AWAY))

    def test_a_picture_in_its_place_has_no_better_one(self, test, clear):
        assert not test.is_better(3, clear.truth[3] @ shift(AWAY))

    def test_too_few_make_no_basis(self, test):
        for few in (2, 3):
            found = replace(test.found, group=np.arange(16) < few)
            assert replace(test, found=found).trusted is None
        found = replace(test.found, group=np.arange(16) < 4)
        assert replace(test, found=found).trusted.sum() == 4
        assert replace(test, rough=True).trusted is None

    def test_who_agrees_roughly_is_asked_for_less(self, test):
        numbers = test.job.request.settings.verdicts
        enough = np.array([numbers.agrees, numbers.rough_placed])
        share = np.concatenate([enough, enough - 0.01])
        strict = replace(test, share=share, rough=False)
        assert strict.unconfirmed.tolist() == [False, True, True, True]
        assert replace(strict, rough=True).unconfirmed.tolist() == [False, False, False, True]


@pytest.mark.parametrize("route", ROUTES)
def test_only_pixels_and_features_leave_pictures_far_away(heads, route):
    job = Job(request_of(heads.images, frame=heads.frame), Serial())
    nothing = Progress.at_start(job)
    assert not came_from_far(nothing)
    assert came_from_far(came_by(job, route)) == (route in ("coarse", "pyramid"))
    # What was tried and not kept does not count.
    tried = RouteRecord(route, 1.0, 0.5, False, "")
    kept = RouteRecord("given", 1.0, 0.5, True, "")
    assert not came_from_far(replace(nothing, attempts=(tried, kept)))


def test_the_search_is_wider_after_a_far_start():
    near = Search.near(NUMBERS)
    wide = Search.wide(NUMBERS, 40)
    assert len(wide.angles) > len(near.angles)
    assert wide.bound == 24
    assert near.bound == NUMBERS.near_bound
    assert np.isinf(Search.local(NUMBERS).bound)


def test_a_grid_has_every_turn_and_shift_that_the_family_can_make():
    search = Search(angles=(-5.0, 0.0, 5.0), shifts=(-1.0, 0.0, 1.0), bound=8.0)
    assert len(grid(FAMILIES["similarity"], search)) == 27
    moves = grid(FAMILIES["translation"], search)
    assert len(moves) == 9
    for matrix in moves:
        np.testing.assert_array_equal(matrix[:2, :2], np.eye(2))
