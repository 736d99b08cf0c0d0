"""MeADMM against RASL: equal where it must be, another thing where it should be."""

import numpy as np
import pytest

import rankfold as rf
from oracles import dense_admm
from rankfold.admm import Clone, Problem, Settings, slabs, solve
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold.manifold import get_projector

LAM = 1 / np.sqrt(500)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    data = low_rank_plus_sparse(30, 500, 3, 0.05, seed).data
    Q = np.linalg.qr(rng.standard_normal((30, 500, 3)))[0].transpose(0, 2, 1)
    return Problem(data + np.einsum("npm,np->nm", Q, rng.standard_normal((30, 3))), LAM, basis=Q)


def assert_same(one, two):
    for name in ("low_rank", "sparse", "dual", "increments", "singular_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.records == two.records


def test_without_weight_it_is_rasl_bit_for_bit():
    rasl = solve(problem())
    assert_same(
        rasl, solve(problem(), Settings(clone=Clone(get_projector("regression"), weight=0.0)))
    )
    heads = rendered_heads(8, seed=1)
    options = {"frame": heads.frame, "init": heads.start}
    bare = {
        "projector": None,
        "features": None,
        "rescue": False,
        "coarse": False,
        "rank_surrogate": "nuclear",
    }
    one, two = (
        rf.align(heads.images, method="rasl", **options),
        rf.align(heads.images, method="meadmm", **options, **bare),
    )
    for name in ("transforms", "low_rank", "sparse"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_the_identity_projector_is_a_proximal_term_that_changes_the_way_not_the_end(shape):
    data = low_rank_plus_sparse(30, 300, 3, 0.05, 1).data
    data = data if shape == "wide" else data.T.copy()
    lam = 1 / np.sqrt(300)
    slow = {"tol": 1e-9, "penalty_growth": 1.02}
    plain = solve(Problem(data, lam), Settings(**slow))
    prox = solve(
        Problem(data, lam),
        Settings(**slow, clone=Clone(get_projector("identity"), start=1.0, period=1)),
    )
    assert prox.records[20].objective != plain.records[20].objective
    assert prox.objective == pytest.approx(plain.objective, rel=1e-6)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("whole", [slabs.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(30, 500), (50, 3001), (200, 40)])
def test_the_whole_iteration_with_transforms_follows_the_dense_algorithm(
    monkeypatch, shape, whole, missing
):
    """One slab swept in runs, slabs of columns that share δ, slabs of rows; a projector that uses all it is given."""
    monkeypatch.setattr(slabs, "WHOLE_VALUES", whole)
    monkeypatch.setattr(slabs, "SLAB_VALUES", 1)
    rng = np.random.default_rng(3)
    n, m = shape
    data = low_rank_plus_sparse(n, m, 3, 0.05, 3).data
    W = (rng.random(shape) > 0.1).astype(float) if missing else None
    Q = rng.standard_normal((n, m, 3)) * (1.0 if W is None else W[:, :, None])
    Q = np.linalg.qr(Q)[0].transpose(0, 2, 1)
    data = data if W is None else data * W
    lam = 1 / np.sqrt(max(shape))

    def blend(A, E, V):
        return 0.6 * A + 0.3 * (V - E) + 0.1 * A.mean(axis=0)

    clone = Clone(lambda c: blend(c.low_rank, c.sparse, c.target), weight=0.8, start=4.0, period=2)
    solution = solve(Problem(data, lam, W, Q), Settings(tol=1e-5, clone=clone))
    A, E, delta, count, objective = dense_admm.solve(
        data, lam, W, Q, tol=1e-5, project=blend, beta=0.8, start=4.0, period=2
    )
    assert len(solution.records) == count
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    for mine, theirs in (
        (solution.low_rank, A),
        (solution.sparse, E),
        (solution.increments, delta),
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-7 * np.abs(data).max())


def test_the_merged_step_minimises_both_squares():
    """A = SVT_{1/(μ(1+β))}((X + βΦ)/(1+β)) against a direct check of optimality."""
    rng = np.random.default_rng(0)
    X, P = rng.standard_normal((6, 40)), rng.standard_normal((6, 40))
    mu, beta = 0.7, 0.5
    U, s, Vt = np.linalg.svd((X + beta * P) / (1 + beta), full_matrices=False)
    A = (U * np.maximum(s - 1 / (mu * (1 + beta)), 0)) @ Vt

    def value(B):
        nuclear = np.linalg.svd(B, compute_uv=False).sum()
        return nuclear + mu / 2 * ((B - X) ** 2).sum() + beta * mu / 2 * ((B - P) ** 2).sum()

    assert all(value(A + 1e-3 * rng.standard_normal(A.shape)) > value(A) for _ in range(50))


def test_reweighting_is_open_to_all_and_lowers_the_rank():
    heads = rendered_heads(20, occluded=0.3, seed=2)
    options = {"frame": heads.frame, "init": heads.truth, "method": "rpca"}
    nuclear = rf.align(heads.images, **options)
    reweighted = rf.align(heads.images, **options, rank_surrogate="reweighted")
    assert reweighted.rank < 0.7 * nuclear.rank


@pytest.mark.parametrize("projector", ["average", "regression"])
def test_the_literal_algorithm_ends_with_a_clear_status_and_no_decomposition(projector):
    data = low_rank_plus_sparse(30, 300, 3, 0.05, 1).data
    with pytest.warns(rf.ConvergenceWarning):
        result = rf.decompose(data, method="meadmm", variant="literal", projector=projector)
    assert result.status in (rf.Status.MAX_ITER, rf.Status.NON_FINITE)
    assert result.trace.inner["primal_residual"][-1] > 1e-2
    assert np.isfinite(result.low_rank).all()


def test_rank_zero_in_the_first_iterations_is_no_trouble():
    data = 1e-3 * np.random.default_rng(0).standard_normal((12, 200))
    data[3, 7] = 1.0  # a spike makes the first multiplier small
    early = Settings(
        penalty_start=0.01, clone=Clone(get_projector("regression"), start=0.1, period=1)
    )
    solution = solve(Problem(data, LAM), early)
    assert solution.records[0].rank == 0
    assert np.isfinite(solution.low_rank).all()
