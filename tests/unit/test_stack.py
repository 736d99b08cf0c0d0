import numpy as np
import pytest

from rankfold import FAMILIES, Frame, InputError, Points, Stack
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


def test_a_frame_without_room_is_refused():
    with pytest.raises(InputError, match="frame 3x10 is too small"):
        Frame(3, 10)


@pytest.mark.parametrize(
    ("canonical", "sources", "message"),
    [
        (np.zeros((2, 3)), np.zeros((4, 2, 3)), "each point as"),
        (np.zeros((2, 2)), np.zeros((4, 3, 2)), r"shapes \(2, 2\) in the frame and \(4, 3, 2\)"),
        (np.full((2, 2), np.nan), np.zeros((4, 2, 2)), "NaN or infinity"),
        (np.zeros((1, 2)), np.zeros((4, 1, 2)), "at least two"),
    ],
)
def test_points_of_the_wrong_shape_are_refused(canonical, sources, message):
    with pytest.raises(InputError, match=message):
        Points(canonical, sources)


@pytest.mark.parametrize(
    ("count", "family", "kind"),
    [
        (2, "homography", "similarity"),
        (3, "homography", "affine"),
        (4, "homography", "homography"),
        (7, "homography", "homography"),
        (4, "similarity", "similarity"),
        (3, "euclidean", "similarity"),
        (5, "affine", "affine"),
    ],
)
def test_points_give_the_richest_transform_that_they_and_the_family_allow(count, family, kind):
    rng = np.random.default_rng(count)
    canonical = rng.uniform(0, 30, (count, 2))
    square = np.array([[0.0, 0], [30, 0], [30, 30], [0, 30]])
    truth = np.stack(
        [FAMILIES[kind].fit(square, square + rng.normal(0, 3, (4, 2))) for _ in range(3)]
    )
    points = Points(canonical, map_points(truth, np.stack([canonical] * 3)))
    np.testing.assert_allclose(points.transforms(FAMILIES[family]), truth, atol=1e-6)
