"""Which part of the scene a plate shows, by hand for pictures that are only shifted."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.families import inverse, map_points, shift
from rankfold.outputs.grid import full_scale, grid_for
from rankfold.stack import Frame

FRAME = Frame(40, 60)
SHAPES = np.array([[40, 60], [40, 60]])
# The second picture shows what lies 5 px further left and 3 px further down in the frame.
SHIFTED = np.stack([np.eye(3), shift(np.array([5.0, -3.0]))])


def outline(grid):
    """The outer edges (x0, y0, x1, y1) of a grid, in the frame."""
    low, high = map_points(
        grid.to_frame, np.array([[-0.5, -0.5], [grid.frame.width - 0.5, grid.frame.height - 0.5]])
    )
    return [*low, *high]


def test_the_frame_ends_where_it_ends():
    grid = grid_for(SHIFTED, SHAPES, FRAME, "frame", None)
    assert grid.frame == FRAME
    np.testing.assert_allclose(grid.to_frame, np.eye(3), atol=1e-12)
    finer = grid_for(SHIFTED, SHAPES, FRAME, "frame", 2.5)
    assert finer.frame.shape == (100, 150)
    np.testing.assert_allclose(outline(finer), [-0.5, -0.5, 59.5, 39.5])


def test_the_union_holds_all_corners():
    grid = grid_for(SHIFTED, SHAPES, FRAME, "union", None)
    # Pixels 0 to 59 and -5 to 54, and 0 to 39 and 3 to 42.
    assert grid.frame.shape == (43, 65)
    np.testing.assert_allclose(outline(grid), [-5.5, -0.5, 59.5, 42.5])


def test_the_common_area_is_as_large_as_it_can_be():
    grid = grid_for(SHIFTED, SHAPES, FRAME, "common", None)
    x0, y0, x1, y1 = outline(grid)
    # Pixel centres 0 to 54 and 3 to 39, less what the coarse grid costs.
    assert 0 <= x0 <= 1
    assert 3 <= y0 <= 4
    assert 52 <= x1 <= 54
    assert 37 <= y1 <= 39


def crooked(n=6, seed=0):
    """Homographies near the identity, and pictures of twice the pixels of the frame."""
    rng = np.random.default_rng(seed)
    T = np.tile(np.diag([2.0, 2.0, 1.0]), (n, 1, 1))
    T[:, :2, :2] += 0.1 * rng.standard_normal((n, 2, 2))
    T[:, :2, 2] = rng.uniform(-8, 8, (n, 2))
    T[:, 2, :2] = 5e-4 * rng.standard_normal((n, 2))
    return T, np.tile([80, 120], (n, 1))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [None, 0.7, 3.0])
def test_every_pixel_of_common_lies_in_all_pictures(seed, scale):
    transforms, shapes = crooked(seed=seed)
    grid = grid_for(transforms, shapes, FRAME, "common", scale)
    for T, (height, width) in zip(transforms, shapes, strict=True):
        x, y = map_points(T @ grid.to_frame, grid.frame.grid).T
        assert x.min() >= 0
        assert y.min() >= 0
        assert x.max() <= width - 1
        assert y.max() <= height - 1


@pytest.mark.parametrize("seed", range(4))
def test_every_corner_lies_in_the_union(seed):
    transforms, shapes = crooked(seed=seed)
    grid = grid_for(transforms, shapes, FRAME, "union", None)
    for T, (height, width) in zip(transforms, shapes, strict=True):
        corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1.0]])
        x, y = map_points(inverse(T @ grid.to_frame), corners).T
        # The last part of a pixel of the grid may be cut off.
        assert x.min() >= -0.5
        assert y.min() >= -0.5
        assert x.max() <= grid.frame.width + 0.5
        assert y.max() <= grid.frame.height + 0.5


def test_the_full_scale_is_that_of_the_median_picture():
    transforms = np.stack([np.diag([s, s, 1.0]) for s in (1.0, 2.0, 7.0)])
    assert full_scale(transforms, FRAME) == pytest.approx(2.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_scale_is_a_positive_number(scale):
    with pytest.raises(rf.InputError, match=r"scale=.* must be positive"):
        grid_for(SHIFTED, SHAPES, FRAME, "frame", scale)


def test_an_area_is_one_of_those_there_are():
    with pytest.raises(rf.InputError, match="unknown area 'all'; choose one of frame, common"):
        grid_for(SHIFTED, SHAPES, FRAME, "all", None)


def test_a_picture_that_lies_far_off_is_refused():
    far = np.stack([np.eye(3), shift(np.array([500.0, 300.0]))])
    with pytest.raises(rf.InputError, match="times the area of the frame, as if one of them lay"):
        grid_for(far, SHAPES, FRAME, "union", None)
    with pytest.raises(rf.InputError, match="no area in common; use area='frame' or 'union'"):
        grid_for(far, SHAPES, FRAME, "common", None)


def test_pictures_that_touch_at_a_corner_have_no_common_area():
    touching = np.stack([np.eye(3), shift(np.array([58.5, 38.5]))])
    with pytest.raises(rf.InputError, match="no area in common"):
        grid_for(touching, SHAPES, FRAME, "common", None)


def test_a_picture_over_the_horizon_covers_no_limited_area():
    tilted = np.stack([np.eye(3), np.array([[1, 0, 0], [0, 1, 0], [0.03, 0, 1.0]])])
    for area in ("union", "common"):
        with pytest.raises(rf.InputError, match=r"over the horizon .* use area='frame'"):
            grid_for(tilted, SHAPES, FRAME, area, None)
