"""Bringing back single pictures: who is suspicious, where to look, and when to stop looking."""

import importlib

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.rescue import Search, grid, suspicious
from rankfold.align.settings import RescueSettings
from rankfold.datasets import rendered_heads
from rankfold.families import FAMILIES, shift
from rankfold.metrics import alignment_error

NUMBERS = RescueSettings()


@pytest.fixture(scope="module")
def batch():
    return rendered_heads(24, occluded=0.3, seed=5)


def run(batch, init, **options):
    result = rf.align(batch.images, frame=batch.frame, init=init, n_jobs=2, **options)
    return result, alignment_error(result.transforms, batch.truth, batch.points)


def test_a_lost_picture_is_rescued(batch):
    start = batch.truth.copy()
    start[7] = start[7] @ shift(np.array([4.2, -3.6]))
    without, off = run(batch, start, rescue=False)
    result, error = run(batch, start)
    assert off.each[7] > 2
    assert error.each[7] < 0.6
    assert result.rescued[7]
    assert not without.rescued.any()
    assert result.trace.stages["rescue"][7] > 2


@pytest.mark.parametrize(("coarse", "rounds"), [(False, 1), (True, 2)])
def test_it_does_not_ask_again_what_it_has_been_told(batch, monkeypatch, coarse, rounds):
    module = importlib.import_module("rankfold.align.rescue")
    asked = []

    def nobody(job, motion, *rest):
        asked.append(motion)
        return motion, np.zeros(len(motion.parameters), bool)

    monkeypatch.setattr(module, "rescue", nobody)
    run(batch, batch.truth, coarse=coarse)
    assert len(asked) == rounds


def test_only_costs_that_stand_out_upwards_are_suspicious():
    cost = np.array([0.1, 0.11, 0.09, 0.1, 0.12, 0.5, 0.01])
    np.testing.assert_array_equal(np.flatnonzero(suspicious(cost, 3.0)), [5])
    assert not suspicious(np.full(5, 0.2), 1.5).any()


def test_the_search_is_wider_after_a_coarse_stage():
    near = Search.near(NUMBERS)
    wide = Search.wide(NUMBERS, 40)
    assert len(wide.angles) > len(near.angles)
    assert wide.bound == 24
    assert near.bound == NUMBERS.near_bound
    assert np.isinf(Search.local(NUMBERS).bound)


def test_a_grid_has_every_turn_and_shift_that_the_family_can_make():
    search = Search(angles=(-5.0, 0.0, 5.0), shifts=(-1.0, 0.0, 1.0), bound=8.0)
    assert len(grid(FAMILIES["similarity"], search)) == 27
    moves = grid(FAMILIES["translation"], search)
    assert len(moves) == 9
    for matrix in moves:
        np.testing.assert_array_equal(matrix[:2, :2], np.eye(2))
