"""What keeps a step honest, tried on steps that are not."""

from dataclasses import replace

import numpy as np
import pytest

from rankfold import FAMILIES, InputError, Stack
from rankfold.admm import Settings
from rankfold.align import steps
from rankfold.align.loop import InnerLoop, OuterLoop, iterate
from rankfold.align.settings import StepSettings
from rankfold.align.steps import (
    apply_gauge,
    check_gauge,
    displacements,
    guarded_step,
    limit,
    limited,
    residuals,
)
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.scale import Serial
from rankfold.warp import linearise, prepare
from rankfold.warp.linearisation import Motion

BATCH = rendered_heads(6, rotation=0, translation=0, lights=20, seed=0)
CORNERS = BATCH.frame.corners


def at(offsets, family="similarity"):
    """Sampler, motion and linearisation with every head shifted by ``offsets`` (6, 2)."""
    start = BATCH.truth @ np.stack([shift(np.asarray(o, float)) for o in offsets])
    sampler = prepare(Stack.of(BATCH.images), BATCH.frame, BATCH.start, np.float64)
    motion = Motion.starting_at(start, FAMILIES[family], BATCH.frame.centre)
    return sampler, motion, linearise(sampler, motion)


def step_of(offsets, change, **numbers):
    sampler, motion, local = at(offsets)
    # What every head should look like.
    true_rows = at(np.zeros((6, 2)))[2].data
    return guarded_step(
        sampler, motion, change, local, true_rows, StepSettings(**numbers), Serial()
    )


def shifts(values):
    """Changes (6, 4) of a similarity that only shift along x."""
    change = np.zeros((6, 4))
    change[:, 2] = values
    return change


@pytest.mark.parametrize("family", list(FAMILIES))
def test_no_change_whatever_moves_a_corner_further_than_the_trust_region(family):
    rng = np.random.default_rng(0)
    _, motion, _ = at(np.zeros((6, 2)), family)
    for size in (1e-3, 0.1, 1, 10, 1e3, 1e8):
        for _ in range(5):
            wild = size * rng.standard_normal(motion.parameters.shape)
            shorter = limit(motion, wild, CORNERS, 3.0)
            there = motion.with_parameters(motion.parameters + shorter)
            moved = displacements(motion.transforms, there.transforms, CORNERS)
            assert (moved <= 3.0).all()
            # The longer form of the answer says the same, and where the changes lead.
            change, trial, length = limited(motion, wild, CORNERS, 3.0)
            np.testing.assert_array_equal(change, shorter)
            np.testing.assert_array_equal(trial.parameters, there.parameters)
            np.testing.assert_array_equal(length, moved)


def test_small_changes_pass_and_large_ones_use_the_room_they_have():
    _, motion, _ = at(np.zeros((6, 2)))
    small = shifts(1.0)
    np.testing.assert_array_equal(limit(motion, small, CORNERS, 3.0), small)
    shorter = limit(motion, shifts(5.0), CORNERS, 3.0)
    there = motion.with_parameters(motion.parameters + shorter)
    moved = displacements(motion.transforms, there.transforms, CORNERS)
    assert (moved > 2.0).all()
    np.testing.assert_array_equal(limit(motion, shifts(np.nan), CORNERS, 3.0), 0)
    np.testing.assert_array_equal(limit(motion, shifts(9.0), CORNERS, np.inf), shifts(9.0))


def test_what_goes_too_far_after_all_attempts_stays_where_it_is(monkeypatch):
    monkeypatch.setattr(steps, "ATTEMPTS", 1)
    _, motion, _ = at(np.zeros((6, 2)))
    wild = shifts([1.0, 2.0, 5.0, -1.0, -5.0, 0.0])
    change, there, moved = limited(motion, wild, CORNERS, 3.0)
    np.testing.assert_array_equal(change, shifts([1.0, 2.0, 0.0, -1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(there.parameters, motion.parameters + change)
    np.testing.assert_allclose(moved, [1.0, 2.0, 0.0, 1.0, 0.0, 0.0], atol=1e-9)


def test_a_corner_at_infinity_is_nowhere_near():
    """It was a warning of a division by zero."""
    # The horizon of the second one goes through the corners on the left.
    old = np.stack([np.eye(3)] * 2)
    new = old.copy()
    new[1, 2] = [1.0, 0.0, 0.0]
    moved = displacements(old, new, np.array([[0.0, 0.0], [8.0, 0.0], [8.0, 9.0], [0.0, 9.0]]))
    assert moved[0] == 0
    assert not moved[1] <= 1e9


def test_a_change_that_is_no_number_is_none():
    _, motion, _ = at(np.zeros((6, 2)))
    wild = shifts([np.nan, np.inf, 1.0, -np.inf, np.nan, 2.0])
    for trust in (3.0, np.inf):
        change, there, moved = limited(motion, wild, CORNERS, trust)
        np.testing.assert_array_equal(change, shifts([0.0, 0.0, 1.0, 0.0, 0.0, 2.0]))
        np.testing.assert_array_equal(there.parameters, motion.parameters + change)
        np.testing.assert_allclose(moved, [0.0, 0.0, 1.0, 0.0, 0.0, 2.0], atol=1e-9)
        np.testing.assert_array_equal(limit(motion, wild, CORNERS, trust), change)


def test_a_right_step_is_taken_whole_a_long_one_is_halved_a_wrong_one_is_refused():
    # The right step is -1 along x.
    offsets = np.tile([1.0, 0.0], (6, 1))
    right, long, wrong = (step_of(offsets, shifts(v), trust=np.inf) for v in (-1.0, -2.6, 2.0))
    assert (right.lengths == 1).all()
    assert right.improved.all()
    assert (long.lengths == 0.5).all()
    assert (wrong.lengths == 0).all()
    assert not wrong.improved.any()
    np.testing.assert_array_equal(wrong.parameters, at(offsets)[1].parameters)


def test_without_halvings_every_step_is_taken():
    step = step_of(np.tile([1.0, 0.0], (6, 1)), shifts(2.0), halvings=None, trust=np.inf)
    assert (step.lengths == 1).all()


def test_a_step_out_of_the_picture_is_refused():
    sampler, motion, local = at(np.zeros((6, 2)))
    away = motion.matrix(0, motion.parameters[0] + shifts(60.0)[0])
    _, new = residuals(sampler, away, 0, local, local.data)
    assert np.isinf(new)


def test_residuals_compare_the_same_pixels_at_the_same_brightness():
    sampler, motion, local = at(np.zeros((6, 2)))
    old, new = residuals(sampler, motion.transforms[0], 0, local, 0.9 * local.data)
    assert new == pytest.approx(old)


def test_the_loop_stops_when_no_residual_improves():
    """With a linearisation that sees no way to move, and the other rules off."""

    def blind(sampler, motion, executor):
        local = linearise(sampler, motion, executor)
        return replace(local, basis=0 * local.basis, to_parameters=0 * local.to_parameters)

    sampler, motion, _ = at(np.zeros((6, 2)))
    inner = InnerLoop(1 / np.sqrt(1890), Settings(tol=1e-3))
    outer = OuterLoop(outer_tol=0, numbers=StepSettings(objective_tol=-np.inf), linearise=blind)
    result = iterate(sampler, motion, inner, outer, Serial())
    assert result.stop_rule == "no residual improved"
    assert len(result.outer) == 1


class TestGauge:
    def test_what_is_held_stays_where_it_was(self):
        _, motion, _ = at(np.zeros((6, 2)))
        start = motion.transforms
        rng = np.random.default_rng(0)
        away = motion.with_parameters(motion.parameters + 0.1 * rng.standard_normal((6, 4)))
        held = apply_gauge(away, start, 2)
        np.testing.assert_allclose(held.transforms[2], start[2], atol=1e-10)
        assert apply_gauge(away, start, "none") is away
        # All of them have moved by the same matrix.
        common = np.linalg.inv(away.transforms) @ held.transforms
        np.testing.assert_allclose(common, np.stack([common[0]] * 6), atol=1e-10)

    @pytest.mark.parametrize("gauge", ["mean", "none", 0, 5, np.int64(3)])
    def test_these_are_gauges(self, gauge):
        assert check_gauge(gauge, 6) == gauge

    @pytest.mark.parametrize("gauge", ["median", None, 1.5, 6, -1])
    def test_these_are_none(self, gauge):
        with pytest.raises(InputError, match="gauge"):
            check_gauge(gauge, 6)
