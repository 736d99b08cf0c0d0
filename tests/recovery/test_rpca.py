"""Robust PCA on problems with a known answer."""

import numpy as np
import pytest

import rankfold as rf
from oracles.optimality import violation
from rankfold.admm import Problem, Settings, solve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.scale import executor_for


def distance(found, truth):
    """How far a low-rank part is from the true one, relative to it."""
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("seed", range(20))
class TestLowRankAndSparsePartsAreFound:
    def truth(self, seed):
        return low_rank_plus_sparse(1000, 400, rank=20, corrupted=0.1, seed=seed)

    def test_with_a_proof(self, seed):
        truth = self.truth(seed)
        result = rf.decompose(truth.data, n_jobs=2)
        assert result.status is rf.Status.CONVERGED
        assert result.gap <= 1e-4
        assert distance(result.low_rank, truth.low_rank) < 1e-5
        assert result.rank == 20
        # The sparse part is what the other one leaves, so no value of it is quite zero.
        large = np.abs(result.sparse) > 1e-3 * np.abs(result.sparse).max()
        np.testing.assert_array_equal(large, truth.sparse != 0)

    def test_exactly_as_published(self, seed):
        truth = self.truth(seed)
        result = rf.decompose(truth.data, schedule="published", n_jobs=2)
        assert result.status is rf.Status.CONVERGED
        assert distance(result.low_rank, truth.low_rank) < 1e-5
        assert result.rank == 20
        # E, which has zeros, and the multiplier are not part of the public result: ask the solver.
        problem = Problem(truth.data, result.sparsity)
        with executor_for(None, 2) as executor:
            point = solve(problem, Settings(tol=1e-7), executor)
        np.testing.assert_array_equal(point.low_rank, result.low_rank)
        np.testing.assert_array_equal(point.sparse != 0, truth.sparse != 0)
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
    # Digits enough that what is checked is the unit, and not the tolerance.
    result = rf.decompose(factor * truth.data, tol=1e-6)
    assert result.rank == 3
    assert np.linalg.norm(result.low_rank / factor - truth.low_rank) < 1e-5 * np.linalg.norm(
        truth.low_rank
    )


def test_a_stack_of_pictures_keeps_its_shape():
    video = np.random.default_rng(0).random((12, 6, 7, 3))
    result = rf.decompose(video)
    assert result.low_rank.shape == result.sparse.shape == video.shape
    np.testing.assert_array_equal(result.sparse, video - result.low_rank)


def test_a_result_does_not_hold_the_memory_of_the_solver():
    result = rf.decompose(low_rank_plus_sparse(60, 300, 3, 0.05, 0).data)
    for part in (result.low_rank, result.sparse):
        owner = part
        while owner.base is not None:
            owner = owner.base
        assert owner.nbytes == part.nbytes


def test_few_digits_take_fewer_iterations_and_are_as_far_from_the_best_as_was_proved():
    truth = low_rank_plus_sparse(60, 300, 3, 0.05, 0)
    noisy = truth.data + 0.1 * np.random.default_rng(0).standard_normal(truth.data.shape)
    best, rough = rf.decompose(noisy, tol=1e-6), rf.decompose(noisy, tol=1e-3)
    assert rough.objective * (1 - rough.gap) <= best.objective * (1 + 1e-12)
    assert best.objective <= rough.objective <= best.objective * (1 + 1e-3)
    assert len(rough.trace.inner["objective"]) < len(best.trace.inner["objective"])
