"""The outer loop: its stop rules, and steps to a few digits."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import SCHEDULES, Settings, Steps
from rankfold.align.loop import InnerLoop, OuterLoop, stop_rule
from rankfold.align.settings import StepSettings
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.status import OuterRecord, Status

ROUGH = SCHEDULES["certified"].steps
LOOSE, EXACT = ROUGH.tolerances


def test_stop_rules_are_named(heads):
    options = {"frame": heads.frame, "init": heads.start}
    assert (
        rf.align(heads.images, method="rasl", **options, outer_tol=10).stop_rule == "displacement"
    )
    assert rf.align(heads.images, method="rasl", **options, outer_tol=0).stop_rule == "objective"


def test_no_step_leaves_the_trust_region_or_raises_its_own_residual(heads):
    offsets = np.random.default_rng(0).uniform(-7, 7, (8, 2))
    far = heads.start @ np.stack([shift(offset) for offset in offsets])
    result = rf.align(heads.images, method="rasl", frame=heads.frame, init=far)
    trace = result.trace.outer
    # The limit is exact to first order.
    assert trace["displacement"].max() < 3.1
    assert set(np.unique(trace["step"])) <= {0, 0.125, 0.25, 0.5, 1}
    kept = trace["step"] == 0
    assert (trace["displacement"][kept] < 1e-9).all()


def record_of(objective, displacement):
    nothing = np.zeros(2)
    return OuterRecord(
        0, "pixels", objective, 0.0, 0.0, 1, 5, Status.CONVERGED, displacement, *[nothing] * 4
    )


class TestStopRule:
    some = np.array([True, False])
    outer = OuterLoop(outer_tol=0.1, numbers=StepSettings(objective_tol=0.01))

    def test_short_steps_end_the_loop(self):
        assert stop_rule([record_of(5.0, 0.05)], self.some, self.outer) == "displacement"
        assert stop_rule([record_of(5.0, 0.5)], self.some, self.outer) == ""

    def test_an_objective_that_does_not_fall_ends_it_after_some_patience(self):
        records = [record_of(value, 0.5) for value in (5.0, 4.0, 3.995)]
        assert stop_rule(records, self.some, self.outer) == "objective"
        assert stop_rule(records[:2], self.some, self.outer) == ""
        assert stop_rule(records, self.some, self.outer, more_patience=1) == ""
        patient = replace(self.outer, patience=2)
        assert stop_rule(records, self.some, patient) == ""
        assert stop_rule([*records, record_of(4.2, 0.5)], self.some, patient) == "objective"

    def test_so_do_steps_of_which_none_improved(self):
        none = np.array([False, False])
        assert stop_rule([record_of(5.0, 0.5)], none, self.outer) == "no residual improved"


class TestLevels:
    def test_each_step_is_exact_by_default(self):
        inner = InnerLoop(0.1, Settings(tol=1e-6))
        assert [settings.tol for settings in inner.levels()] == [1e-6]

    def test_no_level_is_finer_than_the_caller_asked_for(self):
        steps = Steps(tolerances=(1e-2, 3e-3))
        for tol, expected in ((1e-6, [1e-2, 3e-3]), (5e-3, [1e-2, 5e-3]), (0.1, [0.1])):
            inner = InnerLoop(0.1, Settings(tol=tol), steps=steps)
            assert [settings.tol for settings in inner.levels()] == expected
            assert all(settings.penalty == steps.penalty for settings in inner.levels())


def test_rough_steps_end_where_exact_ones_do():
    heads = rendered_heads(30, seed=0)
    exact, rough = (
        rf.align(
            heads.images, method="rasl", frame=heads.frame, init=heads.start, schedule=schedule
        )
        for schedule in ("published", "certified")
    )
    assert rough.objective < 1.001 * exact.objective
    # Of the steps alone: the last decomposition ends by another rule.
    counts = [np.count_nonzero(run.trace.inner["outer"] >= 0) for run in (exact, rough)]
    assert counts[1] < 0.2 * counts[0]
    assert np.median(displacements(exact.transforms, rough.transforms, heads.frame.corners)) < 0.2


def test_rough_steps_are_loose_at_first_and_judged_by_those_that_are_not():
    heads = rendered_heads(n=30, seed=0)
    words = {
        "method": "rasl",
        "frame": heads.frame,
        "init": heads.start,
        "outer_tol": 0.0,
    }
    trace = rf.align(heads.images, **words).trace
    objectives = trace.outer["objective"]
    last = dict(zip(trace.inner["outer"], trace.inner["primal_residual"], strict=True))
    ends = np.array([last[k] for k in range(len(objectives))])
    falls = objectives[:-1] - objectives[1:]
    # From here on the steps are exact.
    slow = np.flatnonzero(falls < ROUGH.falls * objectives[1:])[0] + 2
    assert 1 < slow <= len(objectives) - 3
    assert (ends[:slow] <= LOOSE).all()
    assert (ends[:slow] > EXACT).any()
    assert (ends[slow:] <= EXACT).all()
    # The rule of the objective has a patience of two, and compares those of one tolerance alone.
    assert objectives[slow:-2].min() - objectives[-2:].min() < StepSettings().objective_tol


@pytest.mark.parametrize(("limit", "loose"), [(1, 0), (2, 1), (9, 1)])
def test_rough_steps_from_the_right_place_end_with_one_of_all_digits(limit, loose):
    heads = rendered_heads(n=20, rotation=0.0, translation=0.0, seed=0)
    words = {"frame": heads.frame, "init": heads.truth, "outer_tol": 1.0, "max_outer": limit}
    result = rf.align(heads.images, "rasl", strict=True, **words)
    last = dict(
        zip(result.trace.inner["outer"], result.trace.inner["primal_residual"], strict=True)
    )
    assert len(result.trace.outer["objective"]) == loose + 1
    assert (last[0] > EXACT) == bool(loose)
    assert last[loose] <= EXACT


@pytest.mark.filterwarnings("ignore:align. stopped at the iteration limit")
class TestHowAStepIsSolved:
    """What the solver of every step is given."""

    def steps_of(self, heads, method="rasl", **options):
        seen = []
        original = rf.METHODS[method]

        def watched(problem, settings, executor, observe=None, outer=-1, near=None):
            if outer >= 0:
                seen.append((problem.data.dtype, near is not None))
            return original.solve(problem, settings, executor, observe, outer, near)

        mine = replace(original, solve=watched)
        rf.align(heads.images, mine, frame=heads.frame, init=heads.start, max_outer=2, **options)
        return seen

    def test_rough_ones_are_in_single_precision_and_start_where_the_last_one_ended(self):
        found = self.steps_of(rendered_heads(ROUGH.least, seed=3))
        assert found == [(np.float32, False), (np.float32, True)]

    def test_fewer_pictures_are_aligned_in_steps_as_published(self):
        few = rendered_heads(ROUGH.least - 1, seed=3)
        assert self.steps_of(few) == [(np.float64, False)] * 2
        words = {"method": "rasl", "frame": few.frame, "init": few.start, "max_outer": 3}
        certified, published = (
            rf.align(few.images, schedule=schedule, **words)
            for schedule in ("certified", "published")
        )
        np.testing.assert_array_equal(certified.transforms, published.transforms)

    def test_those_of_meadmm_too_on_features_and_on_pixels(self):
        least = SCHEDULES["rough"].steps.least
        found = self.steps_of(rendered_heads(least, seed=3), "meadmm")
        assert {dtype for dtype, _ in found} == {np.dtype(np.float32)}
        assert any(warm for _, warm in found)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("method", ["rasl", "meadmm"])
    def test_published_ones_are_solved_from_scratch_in_the_precision_of_the_caller(
        self, heads, method, dtype
    ):
        found = self.steps_of(heads, method, schedule="published", dtype=dtype)
        assert set(found) == {(np.dtype(dtype), False)}
