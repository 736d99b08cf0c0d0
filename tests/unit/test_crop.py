import numpy as np
import pytest

import rankfold as rf
from rankfold.align.plan import BATCH_VALUES, FRAME_PIXELS, default_reduction, plan
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


def test_default_reductions_keep_frames_and_batches_in_bounds():
    for n, h, w, c in (
        (16, 1200, 1600, 1),
        (200, 480, 640, 3),
        (2000, 1000, 1000, 1),
        (10, 100, 100, 1),
    ):
        k = default_reduction(n, h, w, c)
        pixels = (h // k) * (w // k)
        assert pixels <= FRAME_PIXELS
        assert pixels * n * c <= BATCH_VALUES
    assert k == 1


def test_a_plan_grows_with_the_work():
    small, large = plan(20, rf.Frame(50, 50)), plan(80, rf.Frame(100, 100))
    assert small.memory < large.memory
    assert small.seconds < large.seconds
    assert plan(20, rf.Frame(50, 50), method="rpca").seconds < small.seconds
