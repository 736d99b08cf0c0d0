"""Pictures on one grid: where they are kept makes no difference."""

import numpy as np
import pytest

from rankfold.outputs.spool import FULL, Spool, Tile, coarse, spread_tiles, tiles
from rankfold.scale import Disk, Memory
from rankfold.stack import Frame

GRID = Frame(101, 140)


def filled(store, grid=GRID, count=8, channels=3):
    """A spool of random pictures, a tenth of which is missing, written in two parts."""
    rng = np.random.default_rng(0)
    spool = Spool(store, count, channels, grid)
    for k in range(count):
        values = rng.random((channels, *grid.shape)).astype(np.float32)
        valid = rng.random(grid.shape) > 0.1
        trust = rng.random(grid.shape)
        for rows in (slice(0, 40), slice(40, grid.height)):
            spool.put(k, rows, values[:, rows], valid[rows], trust[rows])
        spool.done_with(k)
    spool.rest()
    return spool


@pytest.mark.parametrize("size", [(101, 140), (96, 256), (97, 257), (4, 4), (200, 600)])
def test_tiles_cover_a_grid_once(size):
    grid = Frame(*size)
    count = np.zeros(size, int)
    for tile in tiles(grid):
        count[tile.box] += 1
        assert tile.shape == count[tile.box].shape
    np.testing.assert_array_equal(count, 1)


def test_spread_tiles_are_some_of_all():
    few = spread_tiles(Frame(100, 130), 24, 64)
    assert len(few) == 2 * 3
    some = spread_tiles(Frame(1000, 1300), 24, 64)
    corners = {(tile.rows.start, tile.columns.start) for tile in some}
    assert len(some) == len(corners) == 24
    assert {tile.columns.start for tile in some} > {0}
    assert max(tile.rows.stop for tile in some) == 1000


def test_beyond_the_grid_everything_is_missing():
    spool = filled(Memory())
    corner = Tile(slice(90, 101), slice(0, 20))
    values, trust = spool.read(corner, 3)
    assert values.shape == (8, 3, 17, 26)
    outside = np.ones((17, 26), bool)
    outside[:14, 3:] = False
    assert (trust[:, outside] == 0).all()
    assert (values[:, :, outside] == 0).all()
    np.testing.assert_array_equal(values[:, :, :14, 3:], spool.values[:, :, 87:101, :23])
    expected = spool.trust[:, 87:101, :23] / np.float32(FULL)
    np.testing.assert_array_equal(trust[:, :14, 3:], expected)


def test_what_can_be_used_keeps_some_trust():
    spool = Spool(Memory(), 1, 1, Frame(4, 4))
    valid = np.ones((4, 4), bool)
    valid[0] = False
    spool.put(0, slice(0, 4), np.zeros((1, 4, 4)), valid, np.zeros((1, 1)))
    _, trust = spool.read(Tile(slice(0, 4), slice(0, 4)))
    assert (trust[0, 0] == 0).all()
    assert (trust[0, 1:] > 0).all()


def test_on_disk_are_the_same_bits(tmp_path):
    here = filled(Memory())
    there = filled(Disk(tmp_path))
    for tile in tiles(GRID):
        for one, other in zip(here.read(tile, 2), there.read(tile, 2), strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(coarse(here, 3), coarse(there, 3), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("factor", [1, 2, 5])
def test_a_coarse_pixel_is_the_mean_of_its_square(factor):
    spool = filled(Memory())
    values, trust = coarse(spool, factor)
    height, width = GRID.height // factor, GRID.width // factor
    assert trust.shape == (8, height, width)
    rng = np.random.default_rng(1)
    for _ in range(50):
        k, y, x = rng.integers(8), rng.integers(height), rng.integers(width)
        square = np.s_[y * factor : (y + 1) * factor, x * factor : (x + 1) * factor]
        weight = spool.trust[(k, *square)] / FULL
        assert trust[k, y, x] == pytest.approx(weight.mean(), rel=1e-5)
        if weight.sum() == 0:
            continue
        here = spool.values[(k, slice(None), *square)]
        expected = (here * weight).sum(axis=(1, 2)) / weight.sum()
        np.testing.assert_allclose(values[k, :, y, x], expected, rtol=1e-4)
