"""Gains and offsets that were put in are found again."""

import numpy as np
import pytest

from rankfold.outputs.light import common_light, fitted, terms_of
from rankfold.outputs.settings import LightSettings
from rankfold.outputs.spool import Tile
from rankfold.stack import Frame

SHAPE = (48, 64)
GRID = Frame(*SHAPE)
WHOLE = Tile(slice(0, SHAPE[0]), slice(0, SHAPE[1]))

# Of the coordinates y and x from -1 to 1 over the grid: 1, x, y, x^2, x y, y^2 in some order.
BENT = {(0, 0): 1.1, (0, 1): 0.15, (1, 0): -0.1, (0, 2): 0.08, (1, 1): 0.05, (2, 0): -0.06}


def field(coefficients):
    """A polynomial over the grid, whose edges are at -1 and 1."""
    y = (np.arange(SHAPE[0]) + 0.5)[:, None] / SHAPE[0] * 2 - 1
    x = (np.arange(SHAPE[1]) + 0.5) / SHAPE[1] * 2 - 1
    return sum(factor * y**i * x**j for (i, j), factor in coefficients.items())


def scene(channels=3, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 0.8, (channels, *SHAPE))


def hide(picture, rng, share=0.2):
    """Paint over a share of the pixels of a picture (c, h, w), bright and dark."""
    hidden = rng.random(SHAPE) < share
    picture[:, hidden] = rng.uniform(0, 1, (len(picture), hidden.sum()))


def test_gain_and_offset_of_one_picture_are_found_among_outliers():
    rng = np.random.default_rng(1)
    B = scene()
    gain = field(BENT)
    picture = gain * B + 0.04 + 0.003 * rng.standard_normal(B.shape)
    hide(picture, rng)
    terms = terms_of(GRID, 2)
    gains, offsets = fitted(picture, B, np.ones(SHAPE), terms)
    for found in np.einsum("ct,thw->chw", gains, terms):
        np.testing.assert_allclose(found, gain, rtol=0.01)
    np.testing.assert_allclose(offsets, 0.04, atol=0.005)


@pytest.fixture(scope="module")
def lit():
    """Nine pictures of one scene in their own light, a fifth of each painted over."""
    rng = np.random.default_rng(2)
    B = scene()
    fields = []
    pictures = []
    for _ in range(9):
        bend = {power: rng.uniform(-0.1, 0.1) for power in BENT}
        bend[0, 0] = rng.uniform(0.7, 1.2)
        fields.append(field(bend))
        picture = fields[-1] * B + rng.uniform(-0.02, 0.02)
        hide(picture, rng)
        pictures.append(picture)
    values = np.stack(pictures).astype(np.float32)
    light = common_light(values, np.ones((9, *SHAPE), np.float32), GRID, LightSettings())
    return values, np.stack(fields), light


def test_ratios_of_gains_are_found(lit):
    """What all pictures have in common belongs to the scene; their ratios do not."""
    _, fields, light = lit
    found = np.stack([light.gain(k, WHOLE) for k in range(9)])
    ratios = found / found[0] * fields[0] / fields[:, None].reshape(9, 1, *SHAPE)
    np.testing.assert_allclose(ratios, 1, atol=0.01)


def test_pictures_are_the_same_in_the_common_light(lit):
    values, _, light = lit
    matched = np.stack([light.matched(k, values[k], WHOLE) for k in range(9)])
    middle = np.median(matched, axis=0)
    # A fifth is painted over; the rest agrees within 1 % of the range.
    assert np.median(np.abs(matched - middle)) < 0.002
    assert (np.abs(matched - middle) < 0.01).mean() > 0.75


def test_relit_is_the_inverse_of_matched(lit):
    values, _, light = lit
    for k in (0, 4):
        back = light.relit(k, light.matched(k, values[k], WHOLE), WHOLE)
        np.testing.assert_allclose(back, values[k], atol=1e-6)


def test_a_tile_has_the_gain_of_its_place(lit):
    _, _, light = lit
    part = Tile(slice(10, 20), slice(30, 50))
    np.testing.assert_array_equal(light.gain(3, part), light.gain(3, WHOLE)[:, 10:20, 30:50])
    # Also beyond the edge, where a margin reaches.
    beyond = Tile(slice(-2, 5), slice(-2, 5))
    assert np.isfinite(light.gain(3, beyond)).all()


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_flat_pictures_do_not_fail(level):
    values = np.full((4, 3, *SHAPE), level, np.float32)
    trust = np.ones((4, *SHAPE), np.float32)
    light = common_light(values, trust, GRID, LightSettings())
    matched = np.stack([light.matched(k, values[k], WHOLE) for k in range(4)])
    assert np.isfinite(matched).all()
    np.testing.assert_allclose(matched, level, atol=0.01)


def test_a_picture_that_is_missing_has_the_usual_light(lit):
    values, _, _ = lit
    trust = np.ones((9, *SHAPE), np.float32)
    trust[5] = 0
    light = common_light(values, trust, GRID, LightSettings())
    np.testing.assert_array_equal(light.gain(5, WHOLE), 1)
    np.testing.assert_array_equal(light.offsets[5], 0)


def test_brightness_is_relative_to_the_median_picture(lit):
    _, fields, light = lit
    means = fields.mean(axis=(1, 2))
    np.testing.assert_allclose(light.brightness, means / np.median(means), rtol=0.1)
