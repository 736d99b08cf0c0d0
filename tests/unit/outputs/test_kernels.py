"""The compiled vote against the same in plain NumPy."""

import numpy as np
import pytest

from oracles import patch_votes
from rankfold.outputs.kernels import medians, most_agreed
from rankfold.outputs.spool import RADIUS


def voted(values, trust, limit):
    """What the kernel writes: clean, support, rival, total."""
    clean = np.empty((values.shape[1], *limit.shape), np.float32)
    counts = [np.empty(limit.shape, np.float32) for _ in range(3)]
    most_agreed(values, trust, limit, clean, *counts)
    return clean, *counts


def tile(seed, n=6, channels=2, shape=(5, 7)):
    """Pictures of one thing, two of which show something else in parts; some pixels are missing."""
    rng = np.random.default_rng(seed)
    wide = tuple(size + 2 * RADIUS for size in shape)
    values = rng.random((channels, *wide)) + 0.05 * rng.standard_normal((n, channels, *wide))
    values[:2, :, :, : wide[1] // 2] += 0.5
    values[2, :, : wide[0] // 2] = rng.random((channels, wide[0] // 2, wide[1]))
    trust = rng.uniform(0.2, 1.0, (n, *wide))
    trust[rng.random(trust.shape) < 0.2] = 0
    limit = rng.uniform(0.02, 0.2, shape)
    return (array.astype(np.float32) for array in (values, trust, limit))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("channels", [1, 3])
def test_the_vote_is_that_of_plain_numpy(seed, channels):
    values, trust, limit = tile(seed, channels=channels)
    found = voted(values, trust, limit)
    expected = patch_votes.most_agreed(values, trust, limit)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_the_mode_beats_the_median_where_most_are_hidden_by_different_things():
    """Six of ten pictures have something in front at every pixel, each something else."""
    rng = np.random.default_rng(1)
    truth = rng.random((3, 14, 14))
    values = truth + 0.01 * rng.standard_normal((10, 3, 14, 14))
    values[:6] = rng.uniform(0, 1, (6, 3, 1, 1)) + 0.1 * rng.random((6, 3, 14, 14))
    values = values.astype(np.float32)
    trust = np.ones((10, 14, 14), np.float32)
    limit = np.full((10, 10), 24 * 0.01**2, np.float32)
    clean, support, _, _ = voted(values, trust, limit)
    inner = np.s_[:, RADIUS:-RADIUS, RADIUS:-RADIUS]
    assert np.abs(clean - truth[inner]).max() < 0.04
    np.testing.assert_array_equal(support, 4)
    median = np.median(values, axis=0)[inner]
    assert np.abs(median - truth[inner]).mean() > 0.05


def test_a_thing_that_several_agree_on_is_the_rival():
    rng = np.random.default_rng(2)
    values = rng.random((1, 9, 9)) + 0.01 * rng.standard_normal((10, 1, 9, 9))
    values[:4] += 0.5
    trust = np.ones((10, 9, 9), np.float32)
    _, support, rival, total = voted(
        values.astype(np.float32), trust, np.full((5, 5), 0.0024, np.float32)
    )
    np.testing.assert_array_equal(support, 6)
    np.testing.assert_array_equal(rival, 4)
    np.testing.assert_array_equal(total, 10)


def test_what_nobody_can_be_trusted_with_is_missing():
    values, trust, limit = tile(3)
    trust[:, RADIUS + 1, RADIUS + 2] = 0
    clean, support, rival, total = voted(values, trust, limit)
    assert np.isnan(clean[:, 1, 2]).all()
    assert np.isfinite(np.delete(clean.reshape(2, -1), 1 * 7 + 2, axis=1)).all()
    assert support[1, 2] == rival[1, 2] == total[1, 2] == 0


def test_a_picture_alone_is_what_is_there():
    values, trust, limit = tile(4)
    trust[1:] = 0
    trust[0] = 1
    clean, support, rival, _ = voted(values, trust, limit)
    inner = values[0][:, RADIUS:-RADIUS, RADIUS:-RADIUS]
    np.testing.assert_allclose(clean, inner, rtol=1e-6)
    assert (support == 1).all()
    assert (rival == 0).all()


@pytest.mark.parametrize("n", [1, 4, 7])
def test_medians_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n, 2, 6, 5)).astype(np.float32)
    trust = (rng.random((n, 6, 5)) < 0.6).astype(np.float32)
    trust[:, 2, 3] = 0
    trust[:, 0, 0] = 0.1
    expected = np.full((2, 6, 5), np.nan)
    seen = trust.any(axis=0)
    held = np.where(trust[:, None] > 0, values, np.nan)
    expected[:, seen] = np.nanmedian(held[:, :, seen], axis=0)
    np.testing.assert_allclose(medians(values, trust), expected, rtol=1e-6)
