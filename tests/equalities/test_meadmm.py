"""MeADMM against RASL: equal where it must be, another thing where it should be."""

import numpy as np
import pytest

import rankfold as rf
from oracles import dense_admm
from rankfold.admm import Clone, Penalty, Problem, Settings, layout, solve
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold.manifold import get_projector

LAM = 1 / np.sqrt(500)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    data = low_rank_plus_sparse(30, 500, 3, 0.05, seed).data
    Q = np.linalg.qr(rng.standard_normal((30, 500, 3)))[0].transpose(0, 2, 1)
    return Problem(data + np.einsum("npm,np->nm", Q, rng.standard_normal((30, 3))), LAM, basis=Q)


def assert_same(one, two):
    for name in ("low_rank", "sparse", "dual", "delta", "singular_values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.records == two.records


def test_without_weight_it_is_rasl_bit_for_bit():
    rasl = solve(problem())
    unweighted = Clone(get_projector("regression"), weight=0.0)
    assert_same(rasl, solve(problem(), Settings(clone=unweighted)))
    heads = rendered_heads(8, seed=1)
    options = {"frame": heads.frame, "init": heads.start}
    bare = {
        "projector": None,
        "features": None,
        "rescue": False,
        "coarse": False,
        "rank_surrogate": "nuclear",
    }
    one = rf.align(heads.images, method="rasl", **options)
    two = rf.align(heads.images, method="meadmm", **options, **bare)
    for name in ("transforms", "low_rank", "sparse"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_the_identity_projector_is_a_proximal_term_that_changes_the_way_not_the_end(shape):
    data = low_rank_plus_sparse(30, 300, 3, 0.05, 1).data
    data = data if shape == "wide" else data.T.copy()
    lam = 1 / np.sqrt(300)
    slow = {"tol": 1e-9, "penalty": Penalty(growth=1.02)}
    clone = Clone(get_projector("identity"), start=1.0, period=1)
    plain = solve(Problem(data, lam), Settings(**slow))
    prox = solve(Problem(data, lam), Settings(**slow, clone=clone))
    assert prox.records[20].objective != plain.records[20].objective
    assert prox.objective == pytest.approx(plain.objective, rel=1e-6)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("whole", [layout.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(30, 500), (50, 3001), (200, 40)])
def test_the_whole_iteration_with_transforms_follows_the_dense_algorithm(
    monkeypatch, shape, whole, missing
):
    """One slab swept in runs, slabs of columns that share δ, slabs of rows.

    The projector uses all that it is given.
    """
    monkeypatch.setattr(layout, "WHOLE_VALUES", whole)
    monkeypatch.setattr(layout, "SLAB_VALUES", 1)
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

    def project(context):
        return blend(context.low_rank, context.sparse, context.target)

    clone = Clone(get_projector(project), weight=0.8, start=4.0, period=2)
    solution = solve(Problem(data, lam, W, Q), Settings(tol=1e-5, clone=clone))
    A, E, delta, count, objective = dense_admm.solve(
        data, lam, W, Q, tol=1e-5, project=blend, beta=0.8, start=4.0, period=2
    )
    assert len(solution.records) == count
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    for mine, theirs in (
        (solution.low_rank, A),
        (solution.sparse, E),
        (solution.delta, delta),
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-7 * np.abs(data).max())


def test_the_merged_step_minimises_both_squares():
    """A = SVT_{1/(μ(1+β))}((X + βΦ)/(1+β)) against a direct check of optimality."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 40))
    P = rng.standard_normal((6, 40))
    mu = 0.7
    beta = 0.5
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
