"""Small copies of the pictures."""

import numpy as np

import rankfold as rf
from rankfold.runs import small_copies


def test_no_side_is_longer_than_asked():
    rng = np.random.default_rng(0)
    stack = rf.Stack.of([rng.random((100, 30)), rng.random((7, 9)), rng.random((41, 40))])
    copies = small_copies(stack, side=20)
    assert [copy.shape for copy in copies] == [(20, 6), (7, 9), (13, 13)]
    assert all(copy.dtype == np.uint8 for copy in copies)


def test_a_picture_of_a_few_rows():
    """A long one lost its run, after everything was computed."""
    rng = np.random.default_rng(0)
    stack = rf.Stack.of([rng.random((4, 1000)), rng.random((1000, 4))])
    copies = small_copies(stack, side=10)
    assert [copy.shape for copy in copies] == [(1, 10), (10, 1)]


def test_colour_stays_colour():
    stack = rf.Stack.of([np.random.default_rng(0).random((50, 40, 3))] * 2)
    assert small_copies(stack, side=10)[0].shape == (10, 8, 3)


def test_a_copy_is_the_mean_of_squares_in_one_range_for_all():
    dark = np.zeros((8, 8))
    bright = np.ones((8, 8))
    halves = np.kron(np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones((4, 4)))
    copies = small_copies(rf.Stack.of([dark, bright, halves]), side=2)
    assert (copies[0] == 0).all()
    assert (copies[1] == 255).all()
    assert copies[2].tolist() == [[0, 255], [255, 0]]
