"""A batch is checked when it comes in and remembers where its values came from."""

import numpy as np
import pytest

from rankfold import Frame, InputError, Stack
from rankfold.families import map_points

RNG = np.random.default_rng(0)
PICTURE = RNG.random((12, 10))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([], "no images were given; pass at least two"),
        ([PICTURE, np.zeros((0, 5))], r"image 1 has shape \(0, 5\)"),
        ([PICTURE, np.zeros(5)], r"image 1 has shape \(5,\); a picture is"),
        ([PICTURE, np.full((8, 8), np.nan)], "image 1 is NaN everywhere"),
        ([PICTURE, np.full((8, 8), np.inf)], "image 1 contains infinity; write NaN"),
        ([PICTURE, PICTURE[:3]], "image 1 is 3x10; pictures need at least 4x4"),
        ([PICTURE, np.array([["a"] * 5] * 5)], "image 1 has type <U1"),
        ([PICTURE, np.ones((8, 8, 3))], "grey and colour images are mixed"),
        ([PICTURE, PICTURE + 1j], "image 1 has type complex128"),
    ],
)
def test_what_is_no_picture_is_refused_by_name(images, message):
    with pytest.raises(InputError, match=message):
        Stack.of(images)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([np.ones((12, 10))], "1 masks for 2 images"),
        (
            [np.ones((12, 10)), np.ones((10, 12))],
            r"the mask of image 1 has shape \(10, 12\) but the picture is \(12, 10\)",
        ),
        ([np.ones((12, 10)), np.zeros((12, 10))], "the mask of image 1 hides all of it"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, message):
    with pytest.raises(InputError, match=message):
        Stack.of([PICTURE, PICTURE], masks)


def test_one_picture_and_a_constant_one_cannot_be_aligned():
    with pytest.raises(InputError, match=r"only one image was given \(image 0\)"):
        Stack.of([PICTURE]).check_alignable()
    with pytest.raises(InputError, match=r"b\.png is constant where it is valid"):
        Stack.of([PICTURE, np.full((9, 9), 7)], names=["a.png", "b.png"]).check_alignable()


def test_integers_are_scaled_and_remember_their_units():
    stack = Stack.of(
        [np.full((5, 5), 51, np.uint8), np.full((5, 5), 13107, np.uint16), np.full((5, 5), 0.2)]
    )
    for source in stack.sources:
        np.testing.assert_allclose(source, 0.2)
    np.testing.assert_array_equal(stack.units, [255, 65535, 1])


def test_nan_and_mask_both_mean_missing_and_the_input_is_not_written_to():
    picture = PICTURE.copy()
    picture[2, 3] = np.nan
    mask = np.ones((12, 10), bool)
    mask[5, 5] = False
    before = picture.copy()
    stack = Stack.of([picture], [mask])
    assert np.argwhere(~stack.masks[0]).tolist() == [[2, 3], [5, 5]]
    np.testing.assert_array_equal(picture, before)


def test_a_stack_made_of_a_stack_keeps_everything():
    first = Stack.of(
        [np.arange(36, dtype=np.uint8).reshape(6, 6)] * 2, [np.eye(6)] * 2, names=["a", "b"]
    )
    again = Stack.of(first)
    assert again.names == first.names
    np.testing.assert_array_equal(again.masks, first.masks)
    np.testing.assert_array_equal(again.units, first.units)


def test_luminance_weighs_three_channels_and_averages_others():
    colour = RNG.random((6, 7, 3))
    np.testing.assert_allclose(
        Stack.of([colour]).luminance().sources[0], colour @ [0.299, 0.587, 0.114]
    )
    two = RNG.random((6, 7, 2))
    np.testing.assert_allclose(Stack.of([two]).luminance().sources[0], two.mean(axis=2))


def test_centred_frames_lie_over_the_middle():
    stack = Stack.of([np.ones((21, 31)), np.ones((41, 11))])
    frame = Frame(10, 8)
    for zoom in (1.0, 1.75):
        middles = map_points(stack.centred(frame, zoom), np.stack([frame.centre[None]] * 2))[:, 0]
        np.testing.assert_allclose(middles, [[15, 10], [5, 20]])


FLOATS = [PICTURE, PICTURE * 1e-9, PICTURE * 3e12]
INTEGERS = [np.uint8, np.uint16, np.int16]
# Nobody knows what is white in them.
COUNTS = [np.int32, np.uint32, np.int64, np.uint64]


def full_of(dtype):
    """A picture whose brightest pixel is the largest value of its type."""
    values = (PICTURE * 0.9 * np.iinfo(dtype).max).astype(dtype)
    values[0, 0] = np.iinfo(dtype).max
    return values


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("real", FLOATS)
@pytest.mark.parametrize("kept", [np.float64, np.float32])
def test_integers_joined_with_floats_are_as_in_one_call(dtype, real, kept):
    pictures = [full_of(dtype), real, full_of(np.uint8), real / 4]
    at_once = Stack.of(pictures, dtype=kept)
    joined = Stack.joined([Stack.of([picture], dtype=kept) for picture in pictures])
    np.testing.assert_array_equal(joined.units, at_once.units)
    np.testing.assert_array_equal(joined.came_as_integers, [True, False, True, False])
    for one, other in zip(joined.sources, at_once.sources, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert joined.sources[0].max() == 1
    back = joined.sources[1].astype(float) * joined.units[1]
    np.testing.assert_allclose(back, real, rtol=1e-6)


@pytest.mark.parametrize("dtype", COUNTS)
@pytest.mark.parametrize("largest", [3, 255, 40_000, 2**31 - 1])
def test_counts_are_scaled_by_what_there_is(dtype, largest):
    """By the top of the type, a picture of bytes in 64 bits was as good as black."""
    counts = np.rint(PICTURE * largest).astype(dtype)
    one = Stack.of([counts, full_of(np.uint8)])
    other = Stack.of([counts.astype(float), full_of(np.uint8)])
    np.testing.assert_array_equal(one.units, other.units)
    np.testing.assert_array_equal(one.came_as_integers, [False, True])
    np.testing.assert_array_equal(one.sources[0], other.sources[0])


def test_truth_values_are_joined_like_floats():
    black_and_white = PICTURE > 0.5
    joined = Stack.joined([Stack.of([black_and_white]), Stack.of([full_of(np.uint16)])])
    np.testing.assert_array_equal(joined.came_as_integers, [False, True])
    np.testing.assert_array_equal(joined.sources[0], black_and_white)


def test_stacks_that_were_reduced_differently_cannot_be_joined():
    stack = Stack.of([PICTURE])
    with pytest.raises(InputError, match="reduced by different factors"):
        Stack.joined([stack, stack.reduced(2)])


def test_where_the_values_came_from_is_never_lost():
    colour = RNG.random((12, 10, 3))
    stack = Stack.of([(colour * 255).astype(np.uint8), colour])
    for same in (
        Stack.of(stack),
        Stack.of(stack, dtype=np.float32),
        stack.luminance(),
        stack.reduced(2),
        Stack.joined([stack.only(0), stack.only(1)]),
    ):
        np.testing.assert_array_equal(same.came_as_integers, [True, False])
        np.testing.assert_array_equal(same.units, stack.units)


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("index", [0, 1, -1])
def test_one_picture_of_a_stack_keeps_all_that_is_its_own(factor, index):
    mask = PICTURE > 0.1
    pictures = [PICTURE, np.pad(full_of(np.uint8), 2)]
    masks = [mask, np.pad(mask, 2)]
    stack = Stack.of(pictures, masks, names=["a", "b"]).reduced(factor)
    one = stack.only(index)
    assert len(one) == 1
    assert one.names == (stack.names[index],)
    assert one.units == [stack.units[index]]
    assert one.came_as_integers == [stack.came_as_integers[index]]
    assert one.original_shapes == [stack.original_shapes[index]]
    assert one.reduction == factor
    np.testing.assert_array_equal(one.sources[0], stack.sources[index])
    np.testing.assert_array_equal(one.masks[0], stack.masks[index])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e30])
def test_the_range_of_floats_is_measured_whatever_their_size(scale):
    stack = Stack.of([PICTURE * scale, PICTURE * 0.5 * scale])
    expected = (PICTURE.max() - 0.5 * PICTURE.min()) * scale
    assert stack.value_range * stack.units[0] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_range_of_integers_is_that_of_their_type(dtype):
    assert Stack.of([full_of(dtype) // 2]).value_range == 1


class TestMasked:
    """What a masked array of NumPy hides is missing, as if the mask had been given beside it."""

    HIDDEN = np.zeros((2, 12, 10), bool)
    HIDDEN[0, 2:5, 3:6] = True
    HIDDEN[1, 7, 7] = True

    def test_floats(self):
        pictures = np.stack([PICTURE, PICTURE.T.reshape(12, 10)])
        pictures[self.HIDDEN] = 1e20
        stack = Stack.of(np.ma.masked_array(pictures, self.HIDDEN))
        np.testing.assert_array_equal(stack.masks, ~self.HIDDEN)
        # What is hidden decides on no unit, and is not there.
        np.testing.assert_array_equal(stack.units, [1, 1])
        assert max(np.nanmax(source) for source in stack.sources) < 1

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16])
    def test_integers_keep_the_unit_of_their_type(self, dtype):
        top = np.iinfo(dtype).max
        pictures = (top * np.stack([PICTURE, PICTURE])).astype(dtype)
        stack = Stack.of(
            [np.ma.masked_array(p, h) for p, h in zip(pictures, self.HIDDEN, strict=True)]
        )
        np.testing.assert_array_equal(stack.masks, ~self.HIDDEN)
        np.testing.assert_array_equal(stack.units, [top, top])
        assert stack.came_as_integers.all()

    def test_one_channel_hides_the_pixel(self):
        colour = np.stack([PICTURE] * 3, axis=-1)
        hidden = np.zeros(colour.shape, bool)
        hidden[1, 2, 2] = True
        for picture in (colour, (255 * colour).astype(np.uint8)):
            stack = Stack.of([np.ma.masked_array(picture, hidden)])
            assert np.argwhere(~stack.masks[0]).tolist() == [[1, 2]]

    @pytest.mark.parametrize("dtype", [float, np.uint8])
    def test_masks_beside_it_hide_more(self, dtype):
        picture = (200 * PICTURE).astype(dtype)
        beside = np.ones((12, 10), bool)
        beside[0, 0] = False
        stack = Stack.of([np.ma.masked_array(picture, self.HIDDEN[1]), picture], [beside, beside])
        assert np.argwhere(~stack.masks[0]).tolist() == [[0, 0], [7, 7]]
        assert np.argwhere(~stack.masks[1]).tolist() == [[0, 0]]

    def test_what_is_masked_of_a_mask_may_not_be_used(self):
        mask = np.ma.masked_array(np.ones((12, 10), bool), self.HIDDEN[1])
        assert np.argwhere(~Stack.of([PICTURE], [mask]).masks[0]).tolist() == [[7, 7]]

    @pytest.mark.parametrize(
        ("dtype", "message"),
        [(float, "image 0 is NaN everywhere"), (np.uint8, "the mask of image 0 hides all of it")],
    )
    def test_what_hides_all_of_a_picture_is_refused(self, dtype, message):
        picture = np.ma.masked_array((200 * PICTURE).astype(dtype), True)
        with pytest.raises(InputError, match=message):
            Stack.of([picture])

    def test_the_input_is_not_written_to(self):
        for dtype in (float, np.uint8):
            picture = np.ma.masked_array((200 * PICTURE).astype(dtype), self.HIDDEN[0])
            before = picture.copy()
            Stack.of([picture])
            np.testing.assert_array_equal(np.ma.getdata(picture), np.ma.getdata(before))
            np.testing.assert_array_equal(picture.mask, before.mask)


@pytest.mark.parametrize(
    ("images", "masks", "message"),
    [
        ([[[1, 2], [3]], PICTURE], None, "image 0 is no array of numbers: its rows differ"),
        ([PICTURE, None], None, r"image 1 has shape \(\)"),
        (3, None, "images is a int; pass a list of arrays, or one array"),
        ([PICTURE.astype("datetime64[s]")], None, "image 0 has type datetime64"),
        ([PICTURE], 3, "masks is a int; pass a list of arrays"),
        ([PICTURE], "a", "masks is a str; pass a list of arrays"),
        ([PICTURE], [[[1], [1, 2]]], "the mask of image 0 is no array of numbers"),
        ([PICTURE], [PICTURE.astype(str)], "the mask of image 0 has type <U"),
    ],
)
def test_what_is_no_array_gets_a_sentence(images, masks, message):
    with pytest.raises(InputError, match=message):
        Stack.of(images, masks)
