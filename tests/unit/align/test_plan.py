"""Estimates of memory and time, and a frame that fits."""

import pytest

import rankfold as rf
from rankfold.align.plan import (
    BASE_BYTES,
    BATCH_VALUES,
    FRAME_PIXELS,
    batch_reduction,
    default_reduction,
    plan,
)


@pytest.mark.parametrize(
    ("n", "h", "w", "c"),
    [(16, 1200, 1600, 1), (200, 480, 640, 3), (2000, 1000, 1000, 1), (10, 100, 100, 1)],
)
def test_default_reductions_keep_frames_and_batches_in_bounds(n, h, w, c):
    k = default_reduction(n, h, w, c)
    pixels = (h // k) * (w // k)
    assert pixels <= FRAME_PIXELS
    assert pixels * n * c <= BATCH_VALUES


def test_small_pictures_are_not_reduced():
    assert default_reduction(10, 100, 100, 1) == 1
    assert batch_reduction(10, (100, 100, 3)) == 1


def test_a_batch_that_is_only_decomposed_is_reduced_as_a_whole():
    k = batch_reduction(120, (600, 800))
    assert k == 2
    assert 120 * (600 // k) * (800 // k) <= BATCH_VALUES


def test_a_plan_grows_with_the_work():
    small = plan(20, rf.Frame(50, 50))
    large = plan(80, rf.Frame(100, 100))
    assert small.memory < large.memory
    assert small.seconds < large.seconds
    assert plan(20, rf.Frame(50, 50), method="rpca").seconds < small.seconds


def test_memory_is_proportional_to_the_values():
    small = plan(20, rf.Frame(50, 50))
    large = plan(40, rf.Frame(100, 50))
    assert large.memory - BASE_BYTES == pytest.approx(4 * (small.memory - BASE_BYTES))


def test_a_decomposition_takes_less_than_an_alignment():
    aligned = plan(20, rf.Frame(50, 50), method="rasl")
    decomposed = plan(20, rf.Frame(50, 50), method="rasl", moves=False)
    assert decomposed.seconds < aligned.seconds
    assert decomposed.memory <= aligned.memory
