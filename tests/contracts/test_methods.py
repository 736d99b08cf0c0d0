"""Every row of METHODS keeps the contract of ``Method.solve``."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import Problem, Settings, default_sparsity
from rankfold.scale import Serial

OPTIONS = {
    "projector": "identity",
    "n_neighbors": 3,
    "rank_surrogate": "reweighted",
    "schedule": "published",
}


@pytest.fixture(params=rf.METHODS.values(), ids=rf.METHODS.keys())
def method(request):
    return request.param


def problem(dtype=np.float64, n=8, m=120, p=2):
    """Rows of low rank with a few errors and a few missing values, and two directions to move."""
    rng = np.random.default_rng(0)
    data = rng.random((n, 2)) @ rng.random((2, m))
    data[rng.random(data.shape) < 0.05] += 1
    valid = rng.random(data.shape) > 0.1
    data[~valid] = 0
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    directions = rng.standard_normal((n, p, m)) * valid[:, None]
    basis = np.stack([np.linalg.qr(one.T)[0].T for one in directions])
    sparsity = default_sparsity(data.shape, 1.0)
    return Problem(data.astype(dtype), sparsity, valid, basis.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_solution_adds_up_and_the_problem_is_left_alone(method, dtype):
    given = problem(dtype)
    before = given.data.copy()
    found = method.solve(given, Settings(tol=1e-4), Serial(), None, 3, None)
    assert found.low_rank.shape == found.sparse.shape == given.data.shape
    assert found.low_rank.dtype == found.sparse.dtype == dtype
    assert found.delta.shape == (8, 2)
    np.testing.assert_array_equal(given.data, before)
    # D + Qδ = A + E, which is what the next step of an alignment relies on.
    moved = given.data + np.einsum("npm,np->nm", given.basis, found.delta)
    np.testing.assert_allclose(moved, found.low_rank + found.sparse, atol=1e-3)
    assert np.isfinite(found.objective)
    assert {record.outer for record in found.records} == {3}
    assert (np.diff(found.singular_values) <= 0).all()


def test_an_observer_sees_every_iteration_and_can_stop_it(method):
    seen = []

    def observe(record):
        seen.append(record)
        return True

    found = method.solve(problem(), Settings(), Serial(), observe, -1, None)
    assert found.status is rf.Status.STOPPED
    assert list(found.records) == seen
    assert len(seen) == 1


def test_pictures_can_be_aligned_with_it(method, heads):
    result = rf.align(heads.images, method=method.name, frame=heads.frame, init=heads.start)
    assert result.method == method.name
    assert np.isfinite(result.low_rank).all()
    moved = np.abs(result.transforms - result.start).max() > 1e-3
    assert moved == method.moves


def test_it_says_which_options_it_does_not_use(method):
    assert set(method.ignores) <= set(OPTIONS)
    for name in method.ignores:
        with pytest.raises(rf.InputError, match=f"{name} has no effect with method"):
            rf.align(np.ones((3, 8, 8)), method=method, **{name: OPTIONS[name]})
