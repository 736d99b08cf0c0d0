"""Statements that hold for every input, tried on many."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rankfold as rf
from rankfold.admm import Problem, Settings, solve
from rankfold.admm.kernels import soft_threshold
from rankfold.families import FAMILIES, inverse, map_points

quietly = settings(max_examples=40)
finite = st.floats(-100, 100, allow_nan=False, width=64)


@quietly
@given(hnp.arrays(np.float64, (5, 7), elements=finite), st.floats(0, 50))
def test_soft_threshold_and_what_it_cuts_off_add_up_and_are_projections(R, t):
    E, Y = np.zeros_like(R), np.empty_like(R)
    nothing, basis, products = np.ones((0, 0)), np.ones((5, 2, 7)), np.empty((5, 2))
    total = soft_threshold(
        R, np.zeros_like(R), E, Y, nothing, nothing, basis, t, 0.0, 1.0, 1.0, products
    )
    np.testing.assert_allclose(E + Y, R, atol=1e-12)  # Moreau
    assert (np.abs(Y) <= t).all()
    np.testing.assert_allclose(E, np.sign(R) * np.maximum(np.abs(R) - t, 0), atol=1e-12)
    np.testing.assert_allclose(total, np.abs(E).sum(), atol=1e-9)
    np.testing.assert_allclose(products, np.repeat(Y.sum(axis=1), 2).reshape(5, 2), atol=1e-9)


@quietly
@given(st.sampled_from(sorted(FAMILIES)), st.integers(0, 10**6))
def test_mapping_there_and_back_is_the_identity(name, seed):
    rng = np.random.default_rng(seed)
    square = np.array([[0.0, 0], [20, 0], [20, 20], [0, 20]])
    T = FAMILIES[name].fit(square, square + rng.normal(0, 2, (4, 2)))
    points = rng.uniform(0, 20, (6, 2))
    np.testing.assert_allclose(map_points(inverse(T), map_points(T, points)), points, atol=1e-7)


@quietly
@given(st.integers(2, 12), st.integers(2, 30), st.integers(0, 10**6), st.floats(0, 0.6))
def test_any_matrix_with_any_holes_is_split_without_loss(n, m, seed, share):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10 ** rng.uniform(-6, 6)
    X[rng.random((n, m)) < share] = np.nan
    X[0, 0] = 1.0
    seen = ~np.isnan(X)
    known = seen.any(axis=0) & seen.any(axis=1)[:, None]
    certified = rf.decompose(X)
    assert certified.status is rf.Status.CONVERGED
    assert certified.gap <= 1e-4
    published = rf.decompose(X, schedule="published", tol=1e-6)
    assert published.trace.inner["primal_residual"][-1] <= 1e-6
    # No decomposition is better than what was proved, this one neither; A + E is X to 1e-6.
    assert published.objective >= certified.objective * (1 - certified.gap) * (1 - 1e-5)
    for result in (certified, published):
        np.testing.assert_array_equal(result.sparse[seen], (X - result.low_rank)[seen])
        np.testing.assert_array_equal(np.isfinite(result.low_rank), known)
        largest = max(result.singular_values.max(initial=0), 1e-300)
        low_rank = np.nan_to_num(result.low_rank)
        assert result.rank == np.linalg.matrix_rank(low_rank, tol=1e-10 * largest)


@quietly
@given(st.floats(1e-6, 1e6), st.integers(0, 100))
def test_the_decomposition_scales_with_its_input(factor, seed):
    X = np.random.default_rng(seed).normal(size=(8, 20))
    one, two = rf.decompose(X, tol=1e-6), rf.decompose(factor * X, tol=1e-6)
    np.testing.assert_allclose(two.low_rank, factor * one.low_rank, atol=1e-4 * factor)


@quietly
@given(st.integers(0, 1000), st.integers(2, 15), st.integers(2, 40))
def test_transposing_the_data_transposes_the_answer(seed, n, m):
    X = np.random.default_rng(seed).normal(size=(n, m))
    lam = 1 / np.sqrt(max(n, m))
    one, two = (solve(Problem(Z, lam), Settings(tol=1e-6)) for Z in (X, X.T.copy()))
    np.testing.assert_allclose(one.low_rank, two.low_rank.T, atol=1e-8)
