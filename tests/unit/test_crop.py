import numpy as np
import pytest

import rankfold as rf
from rankfold.crop import crop, crop_to_common


def test_a_cropped_result_shows_the_same_pixels(heads, aligned):
    part = crop(aligned, 5, 3, 40, 30)
    assert part.frame.shape == (35, 27)
    np.testing.assert_allclose(
        part.apply(heads.images), aligned.apply(heads.images)[:, 5:40, 3:30], atol=1e-12
    )
    np.testing.assert_array_equal(part.low_rank, aligned.low_rank[:, 5:40, 3:30])
    with pytest.raises(rf.InputError, match="no part of 4x4"):
        crop(aligned, 5, 3, 7, 30)
    assert crop_to_common(part).frame.shape == part.frame.shape


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((0, 0, 20.5, 30), "bottom=20.5 is not a whole number"),
        (("0", 0, 20, 30), "top='0' is not a whole number"),
        ((0, None, 20, 30), "left=None is not a whole number"),
        ((0, 0, 20, True), "right=True is not a whole number"),
        ((0, 0, 20, 10**30), "right=1000.* is too large"),
        ((-1, 0, 20, 30), "no part of 4x4"),
    ],
)
def test_edges_are_whole_numbers(aligned, box, message):
    with pytest.raises(rf.InputError, match=message):
        crop(aligned, *box)


def test_numbers_of_numpy_are_edges_too(aligned):
    assert crop(aligned, *np.array([5, 3, 40, 30])).frame == rf.Frame(35, 27)
