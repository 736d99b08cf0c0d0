"""Pictures in memory are read as those on disk are."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io.memory import in_memory, of_rows
from unit.io.samples import noise


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_they_come_out_as_they_went_in(dtype, shape):
    given = [noise(shape, dtype) for _ in range(4)]
    source = in_memory(given)
    assert len(source) == 4
    assert source.names == ("image 0", "image 1", "image 2", "image 3")
    assert source.shapes == (shape,) * 4
    assert source.dtype == dtype
    assert source.files == ()
    for picture, values in zip(source.pictures(), given, strict=True):
        np.testing.assert_array_equal(picture.values, values)
        assert picture.values.dtype == dtype
        assert picture.mask is None


def test_one_array_is_several_pictures():
    given = noise((5, 9, 7, 3))
    source = in_memory(given)
    assert len(source) == 5
    np.testing.assert_array_equal(next(iter(source.some([3]).pictures())).values, given[3])


def test_they_may_differ_in_size():
    source = in_memory([noise((9, 7)), noise((11, 8))])
    assert source.shapes == ((9, 7), (11, 8))


def test_some_and_again():
    given = noise((6, 9, 7))
    some = in_memory(given, names=list("abcdef")).some([1, 4])
    assert some.names == ("b", "e")
    for _ in range(2):
        np.testing.assert_array_equal([one.values for one in some.pictures()], given[[1, 4]])
    np.testing.assert_array_equal(next(iter(some.some([1]).pictures())).values, given[4])


def test_masks_go_with_their_pictures():
    given = noise((3, 9, 7))
    masks = noise((3, 9, 7)) > 99
    for picture, mask in zip(in_memory(given, masks).pictures(), masks, strict=True):
        np.testing.assert_array_equal(picture.mask, mask)


def test_grey_is_a_choice():
    source = in_memory([noise((9, 7, 3))] * 2).in_grey()
    assert source.shapes == ((9, 7), (9, 7))
    assert next(iter(source.pictures())).values.shape == (9, 7)


@pytest.mark.parametrize(
    ("images", "options", "words"),
    [
        ([], {}, "no images were given"),
        (7, {}, "images is a int; pass a list of arrays"),
        ([np.zeros(4)], {}, r"image 0 has shape \(4,\); a picture is"),
        ([np.zeros((9, 7)), np.zeros((9, 7, 3))], {}, "grey and colour images are mixed"),
        ([np.zeros((9, 7))] * 2, {"masks": [np.ones((9, 7))]}, "1 masks for 2 images"),
        ([np.zeros((9, 7))], {"masks": [np.ones((7, 9))]}, "the mask of image 0 has shape"),
        ([np.zeros((9, 7))] * 2, {"names": ["one"]}, "1 names for 2 images"),
        ([np.zeros((9, 7), complex)], {}, "image 0 has type complex128"),
    ],
)
def test_what_is_no_picture_is_refused(images, options, words):
    with pytest.raises(rf.InputError, match=words):
        in_memory(images, **options)


class Rows:
    """Rows that say which of them were asked for."""

    def __init__(self, values):
        self.values = values
        self.asked = []

    def __getitem__(self, k):
        self.asked.append(k)
        return self.values[k]


def test_rows_are_asked_for_one_by_one():
    values = noise((6, 9, 7, 3), np.float32)
    rows = Rows(values)
    source = of_rows(rows, values.shape, list("abcdef"))
    assert source.dtype == np.float32
    assert source.shapes == ((9, 7, 3),) * 6
    rows.asked.clear()
    pictures = source.some([1, 4]).pictures()
    np.testing.assert_array_equal(next(pictures).values, values[1])
    assert rows.asked == [1]
    np.testing.assert_array_equal(next(pictures).values, values[4])
    np.testing.assert_array_equal([one.values for one in source.pictures()], values)
