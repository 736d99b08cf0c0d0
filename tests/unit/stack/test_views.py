"""Small grey copies of pictures, in which keypoints are looked for."""

import numpy as np
import pytest

from rankfold.stack import LUMINANCE, Stack, view_of
from rankfold.stack.views import VIEW_SIDE

RNG = np.random.default_rng(0)
PICTURE = RNG.random((60, 90))


def everywhere(picture):
    return np.ones(picture.shape[:2], bool)


def view(picture, valid=None, **options):
    return view_of(picture, everywhere(picture) if valid is None else valid, **options)


class TestPixels:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_they_are_bytes_from_black_to_white(self, dtype):
        pixels = view(PICTURE.astype(dtype)).pixels
        assert pixels.dtype == np.uint8
        assert (pixels.min(), pixels.max()) == (0, 255)
        assert np.corrcoef(pixels.ravel(), PICTURE.ravel())[0, 1] > 0.999

    def test_exposure_does_not_matter(self):
        same = view(0.01 * PICTURE + 0.3).pixels.astype(int)
        assert np.abs(same - view(PICTURE).pixels).max() <= 1

    def test_a_few_lamps_and_dead_pixels_do_not_decide_on_the_contrast(self):
        spoiled = PICTURE.copy()
        spoiled[0, :5] = 1e6
        spoiled[1, :5] = -1e6
        difference = view(spoiled).pixels[2:].astype(int) - view(PICTURE).pixels[2:]
        assert np.abs(difference).max() <= 3

    def test_three_channels_are_weighed_and_others_averaged(self):
        colour = RNG.random((20, 30, 3))
        np.testing.assert_array_equal(view(colour).pixels, view(colour @ LUMINANCE).pixels)
        two = RNG.random((20, 30, 2))
        np.testing.assert_array_equal(view(two).pixels, view(two.mean(axis=2)).pixels)

    def test_a_flat_picture_stays_flat(self):
        assert np.ptp(view(np.full((20, 30), 0.7)).pixels) == 0


class TestMissing:
    def test_what_lies_under_a_mask_does_not_matter(self):
        valid = RNG.random(PICTURE.shape) > 0.2
        wild = np.where(valid, PICTURE, np.nan)
        one = view(PICTURE, valid)
        two = view(wild, valid)
        np.testing.assert_array_equal(one.pixels, two.pixels)
        np.testing.assert_array_equal(one.valid, valid)
        # One value that stands out as little as possible.
        hidden = one.pixels[~valid]
        assert np.ptp(hidden) == 0
        assert hidden[0] == pytest.approx(np.median(one.pixels[valid]), abs=1)

    def test_of_nothing_there_is_a_black_view(self):
        nothing = view(PICTURE, np.zeros(PICTURE.shape, bool))
        assert not nothing.pixels.any()
        assert not nothing.valid.any()

    def test_a_mask_without_holes_takes_no_memory(self):
        whole = view(PICTURE).valid
        assert whole.all()
        assert whole.shape == PICTURE.shape
        assert whole.strides == (0, 0)

    def test_a_square_counts_where_half_of_it_is_valid(self):
        valid = everywhere(PICTURE)
        valid[:2, :1] = False
        valid[:2, 2:4] = False
        small = view(PICTURE, valid, side=45)
        assert small.reduction == 2
        assert small.valid[0, :3].tolist() == [True, False, True]


class TestReduction:
    @pytest.mark.parametrize(
        ("side", "reduction", "shape"),
        [(90, 1, (60, 90)), (89, 2, (30, 45)), (45, 2, (30, 45)), (30, 3, (20, 30))],
    )
    def test_the_long_side_is_at_most_this(self, side, reduction, shape):
        small = view(PICTURE, side=side)
        assert small.reduction == reduction
        assert small.pixels.shape == small.valid.shape == shape
        np.testing.assert_array_equal(small.extent, [reduction * shape[1], reduction * shape[0]])

    def test_a_pixel_is_the_mean_of_its_square(self):
        ramp = np.add.outer(np.arange(60.0), np.arange(90.0))
        small = view(ramp, side=30)
        means = ramp.reshape(20, 3, 30, 3).mean(axis=(1, 3))
        np.testing.assert_array_equal(small.pixels, view(means).pixels)

    def test_something_is_left_of_a_strip(self):
        strip = view(RNG.random((3, 900)), side=90)
        assert min(strip.pixels.shape) >= 1
        assert strip.reduction == 3

    def test_it_is_counted_from_the_original(self):
        assert view(PICTURE, reduction_so_far=4, side=45).reduction == 8
        np.testing.assert_array_equal(view(PICTURE, reduction_so_far=4).extent, [360, 240])

    def test_points_go_back_to_the_original(self):
        """The middle of the first square of three is its second pixel; edges stay edges."""
        small = view(PICTURE, side=30)
        points = np.array([[0.0, 0.0], [1.0, 2.0], [-0.5, -0.5], [29.5, 19.5]])
        expected = [[1, 1], [4, 7], [-0.5, -0.5], [89.5, 59.5]]
        np.testing.assert_allclose(small.to_original(points), expected)

    def test_a_bright_spot_is_found_where_it_was(self):
        dark = np.zeros((60, 90))
        dark[30:39, 60:69] = 1.0
        small = view(dark, side=30)
        rows, columns = np.nonzero(small.pixels)
        places = small.to_original(np.stack([columns, rows], axis=1).astype(float))
        np.testing.assert_allclose(places.mean(axis=0), [64, 34])


class TestStack:
    @pytest.fixture
    def large(self):
        return Stack.of(RNG.random((2, 1400, 40)), names=["a", "b"])

    def test_they_are_made_from_the_sources_when_they_are_needed(self, large):
        assert large.views == ()
        first = large.views_to_match()[0]
        assert first.reduction == 2
        assert max(first.pixels.shape) <= VIEW_SIDE

    def test_they_are_kept_where_pictures_become_coarser(self, large):
        coarse = large.reduced(10)
        for one, other in zip(coarse.views_to_match(), large.views_to_match(), strict=True):
            np.testing.assert_array_equal(one.pixels, other.pixels)
            assert one.reduction == other.reduction == 2

    def test_twice_coarser_still_has_those_of_the_originals(self, large):
        twice = large.reduced(2).reduced(5)
        np.testing.assert_array_equal(
            twice.views_to_match()[1].pixels, large.views_to_match()[1].pixels
        )

    def test_they_can_be_left_out(self, large):
        coarse = large.reduced(10, views=False)
        assert coarse.views == ()
        made = coarse.views_to_match()[0]
        assert made.pixels.shape == (140, 4)
        assert made.reduction == 10

    def test_they_go_with_their_pictures(self, large):
        coarse = large.reduced(10)
        one = coarse.only(1)
        assert len(one.views) == 1
        assert one.views[0] is coarse.views[1]
        again = Stack.joined([coarse.only(1), coarse.only(0)])
        assert again.views == (coarse.views[1], coarse.views[0])
