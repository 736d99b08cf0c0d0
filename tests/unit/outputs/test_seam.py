"""The difference at the rim of a hole is carried into it."""

import numpy as np
import pytest

from rankfold.outputs.seam import carried_inwards

SHAPE = (60, 80)
REACH = 4
VARIANCE = np.full(SHAPE, 0.01**2)
EVERYWHERE = np.ones(SHAPE, bool)


def square(top=20, left=30, size=16):
    hole = np.zeros(SHAPE, bool)
    hole[top : top + size, left : left + size] = True
    return hole


def at_the_rim(hole):
    """Pixels of a hole that have a neighbour outside."""
    inner = hole.copy()
    inner[1:] &= hole[:-1]
    inner[:-1] &= hole[1:]
    inner[:, 1:] &= hole[:, :-1]
    inner[:, :-1] &= hole[:, 1:]
    return hole & ~inner


@pytest.mark.parametrize("hole", [square(), square(0, 0), square(44, 64), square(20, 30, 3)])
def test_a_constant_difference_arrives_at_the_rim(hole):
    difference = np.stack([np.full(SHAPE, level) for level in (0.02, -0.01, 0.005)])
    # What is in front is not what is carried in.
    difference[:, hole] = 0.5
    light = carried_inwards(difference, VARIANCE, hole, EVERYWHERE, REACH)
    assert light.dtype == np.float32
    rim = at_the_rim(hole)
    for plane, level in zip(light, (0.02, -0.01, 0.005), strict=True):
        np.testing.assert_allclose(plane[rim], level, rtol=0.1)


def test_it_fades_towards_the_middle_of_a_large_hole():
    hole = square(10, 10, 40)
    difference = np.full((1, *SHAPE), 0.02)
    light = carried_inwards(difference, VARIANCE, hole, EVERYWHERE, REACH)[0]
    middle = light[28:32, 28:32]
    assert (middle < 0.3 * 0.02).all()
    assert (middle >= 0).all()


def test_what_is_still_in_front_at_the_rim_does_not_shine_inwards():
    hole = square()
    rng = np.random.default_rng(0)
    difference = 0.01 + 0.002 * rng.standard_normal((1, *SHAPE))
    in_front = rng.random(SHAPE) < 0.5
    difference[:, in_front] = 0.6
    light = carried_inwards(difference, VARIANCE, hole, EVERYWHERE, REACH)[0]
    np.testing.assert_allclose(light[at_the_rim(hole)], 0.01, atol=0.002)


def test_noise_is_averaged():
    hole = square()
    difference = 0.01 * np.random.default_rng(0).standard_normal((1, *SHAPE))
    light = carried_inwards(difference, VARIANCE, hole, EVERYWHERE, REACH)[0]
    assert np.abs(light[hole]).mean() < 0.003


@pytest.mark.parametrize("case", ["nothing known", "all in front", "all a hole", "no hole"])
def test_without_a_rim_nothing_is_carried(case):
    hole = square()
    known = EVERYWHERE
    difference = np.full((2, *SHAPE), 0.01)
    if case == "nothing known":
        known = ~EVERYWHERE
    if case == "all in front":
        difference[:] = 0.5
    if case == "all a hole":
        hole = EVERYWHERE
    if case == "no hole":
        hole = ~EVERYWHERE
    light = carried_inwards(difference, VARIANCE, hole, known, REACH)
    assert light.shape == difference.shape
    assert (light == 0).all()
