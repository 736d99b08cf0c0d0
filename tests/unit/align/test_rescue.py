"""Bringing back single pictures: who is looked for, where, and when to stop looking."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.agreement import confirmation, feature_model
from rankfold.align.job import Job
from rankfold.align.progress import Progress, advance
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

        def nobody(job, motion, model, cost, test, chosen, far):
            calls.append((far, np.flatnonzero(chosen).tolist()))
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
        progress = Progress.at_start(job)
        test = replace(module.Test.at(job, progress), rough=rough)
        model, cost = feature_model(job, job.request.start)
        chosen = np.arange(16) % 5 == 0
        module.rescue(job, progress.motion, model, cost, test, chosen, far)
        wide = Search.wide(NUMBERS, min(job.request.frame.shape))
        assert searches == [wide if far and not rough else Search.near(NUMBERS)] * 4

    @pytest.mark.parametrize("chosen", [[], [LOST], [2, LOST, 11]])
    def test_those_that_are_chosen_are_searched_and_no_other(self, job, monkeypatch, chosen):
        asked = []

        def here(job, motion, index, *_):
            """A place that can be told: one px beside where the picture is."""
            asked.append(index)
            return motion.parameters[index] + 1 if index != 2 else None

        monkeypatch.setattr(module, "better_place", here)
        progress = Progress.at_start(job)
        test = module.Test.at(job, progress)
        model, cost = feature_model(job, job.request.start)
        wanted = np.isin(np.arange(16), chosen)
        motion, moved = module.rescue(job, progress.motion, model, cost, test, wanted, False)
        assert asked == chosen
        assert np.flatnonzero(moved).tolist() == [index for index in chosen if index != 2]
        expected = progress.motion.parameters + moved[:, None]
        np.testing.assert_array_equal(motion.parameters, expected)


class TestInVain:
    """Who is searched in which round, where the search of some pictures was in vain."""

    ASTRAY = (3, LOST, 11)

    @pytest.fixture
    def job(self, clear):
        return self.job_of(clear)

    def job_of(self, batch, **numbers):
        """A job that starts with three of sixteen pictures astray, in three directions."""
        start = batch.truth.copy()
        for k, index in enumerate(self.ASTRAY):
            turn = FAMILIES["euclidean"].matrix(np.array([2.0 * k, 0.0, 0.0]))[:2, :2]
            start[index] = start[index] @ shift(turn @ AWAY)
        settings = rf.AlignSettings().changed(
            {f"rescue.{name}": value for name, value in numbers.items()}
        )
        words = {"frame": batch.frame, "init": start, "settings": settings}
        return Job(request_of(batch.images, **words), Serial())

    @pytest.fixture
    def rounds(self, monkeypatch, clear):
        """Every round brings the first of those it may search back to its place, and no other."""
        searched = []

        def first(job, motion, model, cost, test, chosen, far):
            searched.append(np.flatnonzero(chosen).tolist())
            transforms = motion.transforms.copy()
            index = searched[-1][0]
            transforms[index] = clear.truth[index]
            return motion.reaching(transforms), np.arange(len(transforms)) == index

        monkeypatch.setattr(module, "rescue", first)
        # What all do to settle would move each picture a little.
        monkeypatch.setattr(module, "advance", lambda *given: given[1])
        return searched

    def test_they_are_not_searched_again_where_few_moved(self, job, rounds):
        """One of sixteen moved, which is less than a tenth."""
        assert NUMBERS.few_moved > 1 / 16
        after = rescue_stage(job, came_by(job, "given"))
        assert rounds == [list(self.ASTRAY)]
        assert np.flatnonzero(after.rescued).tolist() == [3]

    def test_they_are_where_more_moved(self, clear, rounds):
        job = self.job_of(clear, few_moved=1 / 16)
        after = rescue_stage(job, came_by(job, "given"))
        assert rounds == [[3, LOST, 11], [LOST, 11], [11]]
        assert np.flatnonzero(after.rescued).tolist() == list(self.ASTRAY)

    @pytest.fixture
    def nearer(self, rounds, monkeypatch):
        """Every round brings a picture nearer to its place, where it is still not confirmed."""

        def beside(*given):
            motion, moved = plain(*given)
            transforms = motion.transforms.copy()
            transforms[moved] = transforms[moved] @ shift(0.5 * AWAY)
            return motion.reaching(transforms), moved

        plain = module.rescue
        values = iter(range(100, 0, -1))
        monkeypatch.setattr(module, "rescue", beside)
        monkeypatch.setattr(module, "agreement", lambda *_: next(values))
        return rounds

    def test_a_picture_that_was_moved_may_be_searched_again_and_no_other(self, job, nearer):
        """Those of the first round are remembered in the third."""
        rescue_stage(job, came_by(job, "given"))
        assert nearer == [[3, LOST, 11], [3], [3]]

    def test_with_another_basis_they_are_searched_again(self, job, rounds):
        """After a far start the first round has a smaller basis than the others."""
        after = rescue_stage(job, came_by(job, "pyramid"))
        assert rounds == [[3, LOST, 11], [LOST, 11]]
        assert np.flatnonzero(after.rescued).tolist() == [3, LOST]

    def test_a_round_that_was_undone_forbids_nothing(self, job, rounds, monkeypatch):
        """After a far start the first round has a smaller basis, so the second may do better."""
        values = iter(range(100))
        monkeypatch.setattr(module, "agreement", lambda *_: next(values))
        rescue_stage(job, came_by(job, "pyramid"))
        assert rounds == [list(self.ASTRAY)] * 2

    def test_where_all_that_are_left_were_in_vain_nothing_is_modelled(self, job, monkeypatch):
        monkeypatch.setattr(module, "feature_model", None)
        progress = came_by(job, "given")
        everyone = np.ones(16, bool)
        trial, searched, moved = module._round(job, progress, None, False, everyone)
        assert trial is progress
        assert not searched.any()
        assert not moved.any()


class TestProof:
    """Whether more of a picture is confirmed somewhere else."""

    @pytest.fixture
    def test(self, clear):
        job = job_with_one_lost(clear)
        return module.Test.at(job, Progress.at_start(job))

    def test_it_is_asked_where_the_pictures_are_now(self, clear):
        job = job_with_one_lost(clear)
        progress = Progress.at_start(job)
        moved = replace(progress, motion=progress.motion.reaching(clear.truth))
        assert not module.Test.at(job, moved).unconfirmed.any()

    def test_what_was_asked_already_is_not_asked_again(self, test, monkeypatch):
        monkeypatch.setattr(module, "confirmation", None)
        job = test.job
        progress = replace(Progress.at_start(job), confirmation=test.found)
        again = module.Test.at(job, progress)
        assert again.found is test.found
        np.testing.assert_array_equal(again.share, test.share)
        assert again.rough == test.rough

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


def test_a_step_on_the_way_makes_an_answer_out_of_date(clear):
    job = job_with_one_lost(clear)
    progress = Progress.at_start(job)
    progress = replace(progress, confirmation=confirmation(job, progress.motion.transforms))
    inner = job.plain(1e-3, "reweighted")
    after = advance(job, progress, job.contrast, inner, job.outer_loop("rescue", 1))
    assert after.confirmation is None


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
