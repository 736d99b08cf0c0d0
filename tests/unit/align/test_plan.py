"""What a run will take: estimates that grow with the work."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.plan import BASE_BYTES, plan
from rankfold.align.reduction import (
    BATCH_VALUES,
    FRAME_PIXELS,
    batch_reduction,
    default_reduction,
)


def test_a_plan_grows_with_the_work():
    small = plan(20, rf.Frame(50, 50))
    large = plan(80, rf.Frame(100, 100))
    assert small.memory < large.memory
    assert small.seconds < large.seconds
    assert plan(20, rf.Frame(50, 50), method="rpca").seconds < small.seconds


@pytest.mark.parametrize("method", rf.METHODS)
def test_every_method_has_one(method):
    found = plan(20, rf.Frame(50, 60), method=method)
    assert found.method == method
    assert found.memory > BASE_BYTES
    assert found.seconds > 0
    still = plan(20, rf.Frame(50, 60), method=method, moves=False)
    assert still.memory <= found.memory


@pytest.mark.parametrize(
    ("n", "h", "w", "c"),
    [(16, 1200, 1600, 1), (200, 480, 640, 3), (2000, 1000, 1000, 1), (10, 100, 100, 1)],
)
def test_default_reductions_keep_frames_and_batches_in_bounds(n, h, w, c):
    k = default_reduction(n, h, w, c)
    pixels = (h // k) * (w // k)
    assert pixels <= FRAME_PIXELS
    assert pixels * n * c <= BATCH_VALUES


def test_nothing_is_reduced_more_than_needed():
    assert default_reduction(10, 100, 100, 1) == 1
    assert default_reduction(10, 256, 256, 1) == 1
    assert default_reduction(10, 257, 256, 1) == 2


def test_pictures_that_are_only_decomposed_are_reduced_by_their_number_alone():
    assert batch_reduction(10, (1000, 1000)) == 1
    k = batch_reduction(500, (1000, 1000, 3))
    assert k > 1
    assert 500 * np.prod([1000 // k, 1000 // k, 3]) <= BATCH_VALUES


def test_memory_is_proportional_to_the_values():
    small = plan(20, rf.Frame(50, 50))
    large = plan(40, rf.Frame(100, 50))
    assert large.memory - BASE_BYTES == pytest.approx(4 * (small.memory - BASE_BYTES))


def test_a_decomposition_takes_less_than_an_alignment():
    aligned = plan(20, rf.Frame(50, 50), method="rasl")
    decomposed = plan(20, rf.Frame(50, 50), method="rasl", moves=False)
    assert decomposed.seconds < aligned.seconds
    assert decomposed.memory <= aligned.memory
