"""The noise that was put in is found again."""

import numpy as np
import pytest

from rankfold.outputs.noise import noise_of, squared_gradient
from rankfold.outputs.settings import NoiseSettings

CONSTANT = 0.02**2
SLOPE = 0.3


def steep_picture(channels=2, shape=(60, 80)):
    """A picture whose gradient grows from left to right, so that it is known everywhere."""
    x = np.arange(shape[1]) / shape[1]
    return np.tile(4 * x**3, (channels, shape[0], 1)).astype(np.float32)


def slopes(picture):
    """The squared gradient (h, w), mean over channels, by differences of neighbours."""
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1)), mode="reflect", reflect_type="odd")
    along = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    return (along**2 + down**2).mean(axis=0)


def residuals(picture, n=40, seed=0):
    rng = np.random.default_rng(seed)
    deviation = np.sqrt(CONSTANT + SLOPE * slopes(picture))
    return (deviation * rng.standard_normal((n, *picture.shape))).astype(np.float32)


def test_the_gradient_is_that_of_differences():
    picture = np.random.default_rng(0).random((3, 9, 11)).astype(np.float32)
    np.testing.assert_allclose(squared_gradient(picture), slopes(picture), rtol=1e-4)


def test_both_numbers_are_recovered():
    picture = steep_picture()
    left = residuals(picture)
    trust = np.ones((40, *picture.shape[1:]), np.float32)
    noise = noise_of([(left, trust, picture)], 1.0, NoiseSettings())
    assert noise.constant == pytest.approx(CONSTANT, rel=0.2)
    assert noise.slope == pytest.approx(SLOPE, rel=0.2)
    expected = CONSTANT + SLOPE * slopes(picture)
    np.testing.assert_allclose(noise.variance(picture), expected, rtol=0.25)


def test_what_is_in_front_of_a_few_does_not_count():
    picture = steep_picture()
    left = residuals(picture)
    left[:8] += 0.5
    trust = np.ones((40, *picture.shape[1:]), np.float32)
    noise = noise_of([(left, trust, picture)], 1.0, NoiseSettings())
    # The median of the other thirty-two lies at their 62nd percentile.
    assert CONSTANT < noise.constant < 2.5 * CONSTANT


def test_the_variance_never_falls_below_the_floor():
    picture = np.zeros((1, 30, 40), np.float32)
    trust = np.ones((5, 30, 40), np.float32)
    left = np.zeros((5, 1, 30, 40), np.float32)
    noise = noise_of([(left, trust, picture)], 2.0, NoiseSettings(floor=0.01))
    np.testing.assert_allclose(noise.variance(picture), 0.02**2, rtol=1e-6)


def test_a_single_picture_says_nothing_of_noise():
    picture = steep_picture()
    trust = np.zeros((3, *picture.shape[1:]), np.float32)
    trust[0] = 1
    noise = noise_of([(residuals(picture, 3), trust, picture)], 1.0, NoiseSettings())
    assert (noise.constant, noise.slope) == (noise.floor**2, 0.0)


@pytest.mark.parametrize("shape", [(1, 64), (64, 1)])
def test_parts_of_one_row_can_be_looked_at(shape):
    """The last tile of a grid may be that thin."""
    np.testing.assert_array_equal(squared_gradient(np.ones((2, *shape), np.float32)), 0)
