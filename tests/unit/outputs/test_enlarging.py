"""Small pictures on a finer grid, against SciPy."""

import numpy as np
import pytest
from scipy import ndimage

from rankfold.families import shift
from rankfold.outputs.enlarging import enlarged
from rankfold.outputs.grid import Grid
from rankfold.stack import Frame


def grid(scale, low, shape=(50, 70)):
    """A grid whose pixels are ``scale`` of one of the frame, and where it begins, as (x, y)."""
    return Grid(Frame(*shape), shift(np.array(low, float)) @ np.diag([scale, scale, 1.0]))


@pytest.mark.parametrize("scale", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("low", [(0.0, 0.0), (-3.2, 5.1)])
@pytest.mark.parametrize("shape", [(20, 30), (3, 20, 30)])
def test_values_are_those_of_scipy(scale, low, shape):
    picture = np.random.default_rng(0).random(shape)
    rows = slice(11, 43)
    found = enlarged(picture, grid(scale, low), rows)
    y, x = np.meshgrid(
        scale * np.arange(11, 43) + low[1], scale * np.arange(70) + low[0], indexing="ij"
    )
    for plane, expected in zip(found.reshape(-1, 32, 70), picture.reshape(-1, 20, 30), strict=True):
        by_scipy = ndimage.map_coordinates(expected, [y, x], order=1, mode="nearest")
        np.testing.assert_allclose(plane, by_scipy, atol=1e-5)


def test_beyond_the_frame_is_what_the_caller_says():
    found = enlarged(np.ones((20, 30)), grid(0.5, (-2.0, -3.0)), slice(0, 50), outside=0.25)
    # Half a pixel around the centres belongs to the frame.
    y = 0.5 * np.arange(50) - 3
    x = 0.5 * np.arange(70) - 2
    inside = ((y >= -0.5) & (y <= 19.5))[:, None] & ((x >= -0.5) & (x <= 29.5))
    np.testing.assert_array_equal(found, np.where(inside, 1, 0.25))


def test_between_a_missing_pixel_and_its_neighbours_everything_is_missing():
    picture = np.random.default_rng(0).random((20, 30))
    picture[7, 11] = np.nan
    found = enlarged(picture, grid(0.25, (0.0, 0.0), (60, 100)), slice(0, 60))
    missing = np.isnan(found)
    assert missing[25:32, 41:48].all()
    missing[24:33, 40:49] = False
    assert not missing.any()


def test_on_the_grid_of_the_frame_it_is_the_picture():
    picture = np.random.default_rng(0).random((20, 30)).astype(np.float32)
    picture[7, 11] = np.nan
    found = enlarged(picture, grid(1.0, (0.0, 0.0), (20, 30)), slice(0, 20))
    np.testing.assert_array_equal(found, picture)
