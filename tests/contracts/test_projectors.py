"""Every row of PROJECTORS keeps the contract."""

import numpy as np
import pytest

from rankfold.admm import Problem, blocks
from rankfold.admm.blocks import project_onto
from rankfold.admm.layout import ALL, copy_slabs, pieces
from rankfold.manifold import PROJECTORS, Regression, get_projector, project_rows
from rankfold.scale import Serial, Threads
from samples import context_of, subspace

RNG = np.random.default_rng(0)


@pytest.fixture(params=list(PROJECTORS))
def projector(request):
    return get_projector(request.param)


def test_returns_a_finite_array_like_its_input_and_leaves_that_alone(projector):
    for dtype in (np.float64, np.float32):
        A = (subspace() + 0.1 * RNG.standard_normal((20, 300))).astype(dtype)
        before = A.copy()
        phi = project_rows(projector, context_of(A, shape=(1, 15, 20)))
        assert phi.shape == A.shape
        assert phi.dtype == dtype
        assert np.isfinite(phi).all()
        np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("case", ["identical", "zero rows", "all zero", "two rows", "disconnected"])
def test_degenerate_batches_give_finite_answers(projector, case):
    A = subspace()
    if case == "identical":
        A[3] = A[7]
    if case == "zero rows":
        A[[2, 5]] = 0
    if case == "all zero":
        A = np.zeros_like(A)
    if case == "two rows":
        A = A[:2]
    if case == "disconnected":
        A[:10, :150] = 0
        A[10:, 150:] = 0
    phi = project_rows(projector, context_of(A))
    assert phi.shape == A.shape
    assert np.isfinite(phi).all()


# (channels, height, width) of a row: pictures in grey and colour, and a plain row.
SHAPES = [(1, 13, 11), (3, 8, 9), (1, 1, 150)]
# Columns or images that a slab has. None of them divides the width of a picture.
CUTS = [("columns", 5), ("columns", 31), ("columns", 10_000), ("images", 4), ("images", 100)]


def state_of(shape, missing, n=14):
    """A, E and V_m of a problem in the middle of its solution, and the problem."""
    rng = np.random.default_rng(5)
    m = int(np.prod(shape))
    A = subspace(n, m, 5) + 0.05 * rng.standard_normal((n, m))
    # Errors in spots that are larger than a window, so that the vote has something to find.
    E = np.zeros((n, *shape))
    for i in range(n):
        top = rng.integers(0, max(shape[1] - 4, 1))
        left = rng.integers(0, shape[2] - 4)
        E[i, :, top : top + 5, left : left + 5] = 3.0
    E = E.reshape(n, m)
    V = A + E + 0.1 * rng.standard_normal((n, m))
    weights = rng.random((n, m)) > 0.2 if missing else None
    return A, E, V, Problem(V, 0.1, weights, shape=shape)


def phi_by_slabs(projector, A, E, V, problem, by, length, executor):
    """Φ (n, m) as the solver makes it, from slabs of a length."""
    n, m = A.shape
    if by == "columns":
        slabs = copy_slabs(problem, [(ALL, columns) for columns in pieces(m, length)])
    else:
        slabs = copy_slabs(problem, [(rows, ALL) for rows in pieces(n, length)])
    for slab in slabs:
        slab.A[...] = A[slab.rows, slab.columns]
        slab.E[...] = E[slab.rows, slab.columns]
        slab.V[...] = V[slab.rows, slab.columns]
    project_onto(projector, problem, slabs, None, executor)
    phi = np.empty_like(A)
    for slab in slabs:
        phi[slab.rows, slab.columns] = slab.P
    return phi


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("by", "length"), CUTS)
def test_the_blocks_in_which_the_pixels_come_do_not_matter(
    projector, shape, missing, by, length, monkeypatch
):
    monkeypatch.setattr(blocks, "COLUMNS", 17)
    A, E, V, problem = state_of(shape, missing)
    valid = None if problem.weights is None else problem.weights > 0
    context = context_of(A, E, V, valid, problem.row_units, shape)
    whole = project_rows(projector, context)
    with Threads(2) as threads:
        for executor in (Serial(), threads):
            found = phi_by_slabs(projector, A, E, V, problem, by, length, executor)
            np.testing.assert_allclose(found, whole, atol=1e-10 * np.abs(whole).max())


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 3.0])
def test_nor_do_they_where_windows_reach_over_several_blocks(share, shape, missing):
    """The window of the vote is up to three times as wide as the picture."""
    A, E, V, problem = state_of(shape, missing)
    valid = None if problem.weights is None else problem.weights > 0
    projector = Regression(window=share)
    whole = project_rows(projector, context_of(A, E, V, valid, problem.row_units, shape))
    for length in (1, 5, 31):
        found = phi_by_slabs(projector, A, E, V, problem, "columns", length, Serial())
        np.testing.assert_allclose(found, whole, atol=1e-10 * np.abs(whole).max())


def test_a_function_sees_whole_rows_whatever_the_slabs_are():
    shape = SHAPES[1]
    A, E, V, problem = state_of(shape, missing=True)
    seen = []

    def mix(context):
        seen.append(context)
        return 0.5 * context.low_rank + 0.5 * (context.target - context.sparse)

    for by, length in CUTS:
        found = phi_by_slabs(get_projector(mix), A, E, V, problem, by, length, Serial())
        np.testing.assert_array_equal(found, 0.5 * A + 0.5 * (V - E))
        np.testing.assert_array_equal(seen[-1].valid, problem.weights)
        np.testing.assert_allclose(seen[-1].gram, A @ A.T, atol=1e-10)
        assert seen[-1].shape == shape
