import numpy as np
import pytest

from rankfold.stack.rectangle import largest_rectangle


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
