import numpy as np
import pytest

import rankfold as rf
from rankfold.crop import crop, crop_to_common, largest_rectangle


def brute_force(inside):
    best = 0
    h, w = inside.shape
    for top in range(h):
        for bottom in range(top + 1, h + 1):
            for left in range(w):
                for right in range(left + 1, w + 1):
                    if inside[top:bottom, left:right].all():
                        best = max(best, (bottom - top) * (right - left))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_rectangle_is_the_largest(seed):
    inside = np.random.default_rng(seed).random((7, 9)) < 0.75
    top, left, bottom, right = largest_rectangle(inside)
    assert inside[top:bottom, left:right].all()
    assert (bottom - top) * (right - left) == brute_force(inside)


def test_nothing_and_everything():
    assert largest_rectangle(np.zeros((3, 4), bool)) == (0, 0, 0, 0)
    assert largest_rectangle(np.ones((3, 4), bool)) == (0, 0, 3, 4)


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
