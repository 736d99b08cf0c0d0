"""Masked arrays of NumPy: they were taken for their data, so that what they hide moved pictures."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.families import shift
from rankfold.metrics import alignment_error

RASL = {"family": "translation", "frame": (24, 26)}
ALIGN = {"method": "rasl", **RASL}
POINTS = np.array([[8.0, 8.0], [20.0, 8.0], [20.0, 20.0], [8.0, 20.0]])


@pytest.fixture(scope="module")
def given():
    """Shifted pictures (8, 30, 32) with something else in each, where that is, and the shifts."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:30, :32]
    shifts = rng.uniform(-2, 2, (8, 2))
    pictures = []
    hidden = np.zeros((8, 30, 32), bool)
    for k, (dx, dy) in enumerate(shifts):
        u = x - dx
        v = y - dy
        waves = np.sin(u / 3) + np.cos(v / 2.5) + np.sin((u + v) / 4) + np.cos((u - 2 * v) / 5)
        top, left = rng.integers(4, 14, 2)
        hidden[k, top : top + 12, left : left + 12] = True
        pictures.append(np.where(hidden[k], 3 * rng.choice([-1, 1]), waves))
    # In 0 to 1, so that integers can hold them.
    return np.stack(pictures) / 8 + 0.5, hidden, np.stack([shift(one) for one in shifts])


def error(result, truth):
    """Unit: px."""
    return alignment_error(result.transforms, truth, POINTS).mean


def assert_same(one, other):
    np.testing.assert_array_equal(one.transforms, other.transforms)
    np.testing.assert_array_equal(one.low_rank, other.low_rank)
    np.testing.assert_array_equal(one.valid, other.valid)


def test_what_they_hide_moves_nothing(given):
    pictures, hidden, truth = given
    assert error(rf.align(pictures, **ALIGN), truth) > 0.2
    assert error(rf.align(np.ma.masked_array(pictures, hidden), **ALIGN), truth) < 0.01


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.uint16])
@pytest.mark.parametrize("as_list", [True, False])
def test_they_say_the_same_as_masks(given, dtype, as_list):
    pictures, hidden, _ = given
    top = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1
    pictures = (top * pictures).astype(dtype)
    masked = np.ma.masked_array(pictures, hidden)
    one = rf.align(list(masked) if as_list else masked, **ALIGN)
    assert_same(one, rf.align(pictures, masks=~hidden, **ALIGN))


def test_they_say_the_same_as_nan(given):
    pictures, hidden, _ = given
    one = rf.align(np.ma.masked_array(pictures, hidden), **ALIGN)
    assert_same(one, rf.align(np.where(hidden, np.nan, pictures), **ALIGN))


def test_one_of_a_list_is_enough(given):
    pictures, hidden, _ = given
    mixed = [np.ma.masked_array(pictures[0], hidden[0]), *pictures[1:]]
    masks = [~hidden[0]] + [np.ones((30, 32), bool)] * 7
    assert_same(rf.align(mixed, **ALIGN), rf.align(pictures, masks=masks, **ALIGN))


def test_estimators_honour_them(given):
    pictures, hidden, _ = given
    masked = np.ma.masked_array(pictures, hidden)
    model = rf.RASL(**RASL).fit(masked)
    assert_same(model.alignment_, rf.align(pictures, masks=~hidden, **ALIGN))
    explained = model.explain(masked[:2])
    same = model.explain(np.where(hidden, np.nan, pictures)[:2])
    np.testing.assert_array_equal(explained.coefficients, same.coefficients)


def test_so_does_apply(given):
    pictures, hidden, _ = given
    result = rf.align(pictures, masks=~hidden, **ALIGN)
    with_masks = result.apply(pictures, masks=~hidden)
    assert np.isnan(with_masks).any()
    np.testing.assert_array_equal(result.apply(np.ma.masked_array(pictures, hidden)), with_masks)


def test_so_does_a_start(given):
    """What is masked of a start is not known, so it is no start."""
    pictures, _, truth = given
    start = np.ma.masked_array(truth, False)
    options = {**ALIGN, "max_outer": 1, "outer_tol": 10}
    assert_same(
        rf.align(pictures, init=start, **options), rf.align(pictures, init=truth, **options)
    )
    start[1, 0, 2] = np.ma.masked
    with pytest.raises(rf.InputError, match="the start transform of image 1 is not finite"):
        rf.align(pictures, init=start, **options)
