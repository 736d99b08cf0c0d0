"""Robust PCA on problems with a known answer."""

import numpy as np
import pytest

import rankfold as rf
from oracles.optimality import violation
from rankfold.admm import SCHEDULES, Problem, Settings, solve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.scale import executor_for


@pytest.mark.parametrize("seed", range(20))
def test_low_rank_and_sparse_parts_are_found_exactly(seed):
    truth = low_rank_plus_sparse(1000, 400, rank=20, corrupted=0.1, seed=seed)
    result = rf.decompose(truth.data, n_jobs=2)
    assert result.status is rf.Status.CONVERGED
    assert np.linalg.norm(result.low_rank - truth.low_rank) < 1e-5 * np.linalg.norm(truth.low_rank)
    assert result.rank == 20
    np.testing.assert_array_equal(result.sparse != 0, truth.sparse != 0)
    # The multiplier is not part of the public result: ask the solver itself.
    problem = Problem(truth.data, result.sparsity)
    settings = Settings(tol=1e-7, penalty=SCHEDULES["balanced"].penalty)
    with executor_for(None, 2) as executor:
        point = solve(problem, settings, executor)
    np.testing.assert_array_equal(point.low_rank, result.low_rank)
    assert violation(point.low_rank, point.sparse, point.dual, problem.sparsity) < 1e-4


def test_nan_is_missing_and_is_filled_in():
    truth = low_rank_plus_sparse(80, 300, 3, 0.03, 0)
    hidden = np.random.default_rng(0).random(truth.data.shape) < 0.3
    result = rf.decompose(np.where(hidden, np.nan, truth.data))
    error = np.linalg.norm((result.low_rank - truth.low_rank)[hidden]) / np.linalg.norm(
        truth.low_rank[hidden]
    )
    assert error < 1e-4
    assert (result.sparse[hidden] == 0).all()


def test_what_nobody_saw_stays_unknown():
    X = np.random.default_rng(0).random((6, 12))
    X[:, 3] = np.nan
    X[2] = np.nan
    result = rf.decompose(X)
    assert np.isnan(result.low_rank[:, 3]).all()
    assert np.isnan(result.low_rank[2]).all()
    assert np.isfinite(np.delete(np.delete(result.low_rank, 2, 0), 3, 1)).all()


def test_a_masked_array_keeps_its_mask():
    X = np.random.default_rng(0).random((6, 12))
    hidden = np.random.default_rng(1).random(X.shape) < 0.2
    one = rf.decompose(np.ma.array(np.where(hidden, 99.0, X), mask=hidden))
    two = rf.decompose(np.where(hidden, np.nan, X))
    np.testing.assert_array_equal(one.low_rank, two.low_rank)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_does_not_matter(factor):
    truth = low_rank_plus_sparse(40, 100, 3, 0.05, 0)
    result = rf.decompose(factor * truth.data)
    assert result.rank == 3
    assert np.linalg.norm(result.low_rank / factor - truth.low_rank) < 1e-5 * np.linalg.norm(
        truth.low_rank
    )


def test_a_stack_of_pictures_keeps_its_shape():
    video = np.random.default_rng(0).random((12, 6, 7, 3))
    result = rf.decompose(video)
    assert result.low_rank.shape == result.sparse.shape == video.shape
    np.testing.assert_allclose(result.low_rank + result.sparse, video, atol=1e-5)


def test_a_result_does_not_hold_the_memory_of_the_solver():
    result = rf.decompose(low_rank_plus_sparse(60, 300, 3, 0.05, 0).data)
    for part in (result.low_rank, result.sparse):
        owner = part
        while owner.base is not None:
            owner = owner.base
        assert owner.nbytes == part.nbytes


def test_the_quick_schedule_does_not_complain_about_what_was_asked_for():
    truth = low_rank_plus_sparse(60, 300, 3, 0.05, 0)
    noisy = truth.data + 0.1 * np.random.default_rng(0).standard_normal(truth.data.shape)
    best, quick = rf.decompose(noisy), rf.decompose(noisy, schedule="quick")
    assert quick.objective < best.objective * (1 + 1e-4)
    assert len(quick.trace.inner["objective"]) < len(best.trace.inner["objective"])
