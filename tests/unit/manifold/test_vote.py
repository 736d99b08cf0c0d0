"""The vote on what is in error, in blocks, against a plain filter over the whole picture."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from rankfold.manifold.contract import Block
from rankfold.manifold.kernels import find_zeros, inliers, room_for
from rankfold.manifold.vote import WIDEST, halo_for, segments, window_for
from rankfold.scale import Serial

SHAPES = [(1, 13, 17), (2, 9, 8), (1, 4, 3), (3, 1, 12), (3, 7, 5)]


def mostly_right(E, shape, window):
    """Which pixels (c h w,) are in a window that is mostly without error; edges are replicated."""
    share = uniform_filter(E.reshape(shape), size=(1, window, window), mode="nearest")
    return (share < 0.5 - 1e-9).ravel()


def block_of(E, first, last, halo):
    """Pixels from first to last of one image, with a halo of E around them."""
    m = len(E)
    before = min(halo, first)
    after = min(halo, m - last)
    pixels = np.zeros((1, last - first))
    around = E[None, first - before : last + after]
    return Block(pixels, pixels, around, None, first, before, executor=Serial())


def vote_in(block, window, shape, valid=None, alpha=0.5, grains=0.0):
    pieces = segments(block, window, shape)
    out = np.full(block.size, 7, np.uint8)
    given = np.zeros(0, bool) if valid is None else valid
    inliers(block.sparse[0], given, alpha, window, grains, pieces, out, room_for(window, pieces))
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [1, 3, 5, 11])
class TestAgainstABoxFilter:
    def errors(self, shape):
        return (np.random.default_rng(sum(shape)).random(int(np.prod(shape))) < 0.4) * 1.0

    def test_the_whole_picture_at_once(self, shape, window):
        E = self.errors(shape)
        found = vote_in(block_of(E, 0, len(E), 0), window, shape)
        np.testing.assert_array_equal(found, mostly_right(E, shape, window))

    @pytest.mark.parametrize("length", [1, 4, 19, 50])
    def test_blocks_that_bring_their_halo_along(self, shape, window, length):
        E = self.errors(shape)
        halo = halo_for(window, shape)
        found = [
            vote_in(block_of(E, first, min(first + length, len(E)), halo), window, shape)
            for first in range(0, len(E), length)
        ]
        np.testing.assert_array_equal(np.concatenate(found), mostly_right(E, shape, window))

    def test_a_missing_pixel_never_counts(self, shape, window):
        E = self.errors(shape)
        valid = np.random.default_rng(9).random(len(E)) < 0.7
        found = vote_in(block_of(E, 0, len(E), 0), window, shape, valid)
        np.testing.assert_array_equal(found, mostly_right(E, shape, window) & valid)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [1, 3, 7])
def test_segments_name_every_pixel_of_a_block_once_and_stay_within_the_halo(shape, window):
    m = int(np.prod(shape))
    halo = halo_for(window, shape)
    for first, last in ((0, m), (0, 1), (m - 1, m), (m // 3, m // 3 + 5), (2, m - 1)):
        block = block_of(np.zeros(m), first, last, halo)
        named = []
        for begin, height, width, skipped, count, target in segments(block, window, shape):
            assert begin >= 0
            assert begin + height * width <= block.sparse.shape[1]
            assert skipped + count <= height * width
            # The same pixel, counted from the beginning of the segment and of the block.
            assert begin + skipped == block.before + target
            named += range(target, target + count)
        assert named == list(range(block.size))


def test_a_window_is_an_odd_share_of_the_short_side():
    assert window_for(0.11, (1, 45, 42)) == 5
    assert window_for(0.11, (3, 200, 100)) == 11
    assert window_for(0.11, (1, 1, 300)) == 1
    assert window_for(0.0, (1, 45, 42)) == 1
    # Its votes are counted in sixteen bits.
    assert window_for(0.11, (1, 10_000, 9_000)) == WIDEST == 255
    assert WIDEST**2 < 2**16


def test_a_window_of_one_pixel_needs_no_halo():
    assert halo_for(1, (1, 45, 42)) == 0
    assert halo_for(5, (1, 45, 42)) == 3 * 42


@pytest.mark.parametrize("size", [1, 7, 8, 29, 64])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_zeros_are_found_eight_at_a_time(size, share):
    flags = (np.random.default_rng(size).random(size) < share).astype(np.uint8)
    out = np.empty(size, np.uint64)
    count = find_zeros(flags, out)
    np.testing.assert_array_equal(out[:count], np.flatnonzero(flags == 0))


class TestGrains:
    """A large error counts by itself where errors are few around it."""

    def setup_method(self):
        self.shape = (1, 15, 16)
        picture = np.zeros(self.shape[1:])
        picture[3, 4] = 1.0  # large, alone
        picture[3, 11] = 0.3  # small, alone
        picture[8:14, 5:11] = 1.0  # a patch
        self.E = picture.ravel()
        self.block = block_of(self.E, 0, len(self.E), 0)

    def kept(self, **options):
        return vote_in(self.block, 5, self.shape, alpha=0.1, **options).reshape(self.shape[1:])

    def test_a_grain_is_left_out_and_a_small_error_is_not(self):
        kept = self.kept(grains=0.4)
        assert kept[3, 4] == 0
        assert kept[3, 11] == 1
        assert kept[3, 5] == 1

    def test_without_grains_only_patches_are_left_out(self):
        kept = self.kept(grains=0.0)
        assert kept[3, 4] == 1
        assert kept[10, 7] == 0

    def test_the_edge_of_a_patch_is_no_grain(self):
        """Its corner has 9 errors of 25 around it, the pixels beside that 12 and more."""
        kept = self.kept(grains=0.3)
        np.testing.assert_array_equal(kept[6:], self.kept(grains=0.0)[6:])

    @pytest.mark.parametrize("length", [1, 19, 50])
    def test_blocks_find_the_same_grains(self, length):
        halo = halo_for(5, self.shape)
        found = []
        for first in range(0, len(self.E), length):
            block = block_of(self.E, first, min(first + length, len(self.E)), halo)
            found.append(vote_in(block, 5, self.shape, alpha=0.1, grains=0.4))
        np.testing.assert_array_equal(np.concatenate(found), self.kept(grains=0.4).ravel())
