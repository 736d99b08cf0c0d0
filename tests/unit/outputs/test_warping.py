"""Pictures on a grid, against SciPy's spline."""

import numpy as np
import pytest

from placed import as_numpy_sees
from rankfold.outputs import warping
from rankfold.outputs.warping import Warper, bands, whole
from rankfold.stack import Frame

GRID = Frame(70, 90)
# A homography that stays inside a picture of 100 x 120 for most of the grid.
T = np.array([[1.02, 0.05, 6.3], [-0.04, 0.98, 8.7], [1e-4, -5e-5, 1.0]])


def picture(channels=3, dtype=np.uint8):
    rng = np.random.default_rng(0)
    values = rng.random((100, 120, channels)) if channels else rng.random((100, 120))
    return (values * np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize("channels", [0, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_values_are_those_of_scipy(channels, dtype):
    given = picture(channels, dtype)
    top = np.iinfo(dtype).max
    values, valid = Warper(given, None, top, blur=0.0).whole(T, GRID)
    expected = as_numpy_sees(given / top, T, GRID.shape)
    expected = np.moveaxis(np.atleast_3d(expected), 2, 0)
    np.testing.assert_array_equal(valid, np.isfinite(expected[0]))
    assert values.dtype == np.float32
    np.testing.assert_allclose(values[:, valid], expected[:, valid], atol=1e-5)
    assert (values[:, ~valid] == 0).all()


def test_bands_are_the_whole(monkeypatch):
    given = picture()
    at_once = whole(given, None, T, GRID, 255.0)
    monkeypatch.setattr(warping, "TOGETHER", 10 * GRID.width)
    assert len(list(bands(GRID))) == 7
    in_parts = whole(given, None, T, GRID, 255.0)
    np.testing.assert_array_equal(at_once[1], in_parts[1])
    np.testing.assert_allclose(at_once[0], in_parts[0], atol=1e-6)


@pytest.mark.parametrize("size", [(4, 4), (9, 5000), (3000, 2000), (17, 100_000)])
def test_bands_cover_the_rows_once_and_are_not_thin(size):
    parts = list(bands(Frame(*size)))
    rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    np.testing.assert_array_equal(rows, np.arange(size[0]))
    assert min(part.stop - part.start for part in parts) >= min(size[0], 7)


def test_outside_and_near_a_missing_pixel_nothing_is_valid():
    given = picture(0)
    mask = np.ones(given.shape, bool)
    mask[40:44, 50:55] = False
    shift = np.array([[1.0, 0, 60], [0, 1, -10], [0, 0, 1]])
    _, valid = Warper(given, mask, blur=0.0).whole(shift, GRID)
    y, x = np.mgrid[: GRID.height, : GRID.width]
    inside = (x + 60 <= 119) & (y - 10 >= 0)
    assert not valid[~inside].any()
    assert valid[inside].all()
    _, valid = Warper(given, mask, blur=0.0).whole(np.eye(3), GRID)
    assert not valid[40:44, 50:55].any()
    far = np.ones(GRID.shape, bool)
    far[37:47, 47:58] = False
    assert valid[far].all()


def test_nan_under_a_mask_does_not_spread():
    given = picture(0).astype(float)
    mask = np.ones(given.shape, bool)
    mask[40:44, 50:55] = False
    plain, valid = whole(given, mask, np.eye(3), GRID)
    given[~mask] = np.nan
    with_nan, also_valid = whole(given, mask, np.eye(3), GRID)
    np.testing.assert_array_equal(valid, also_valid)
    np.testing.assert_array_equal(plain[:, valid], with_nan[:, valid])


def test_a_picture_serves_several_grids():
    given = picture()
    warper = Warper(given, None, blur=0.0)
    for grid in (GRID, Frame(20, 30)):
        ours = warper.whole(T, grid)
        alone = Warper(given, None, blur=0.0).whole(T, grid)
        np.testing.assert_allclose(ours[0], alone[0], atol=1e-3)
        np.testing.assert_array_equal(ours[1], alone[1])
