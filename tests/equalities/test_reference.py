"""The compiled passes over slabs do what the plain ones of ``admm/reference.py`` say."""

from dataclasses import replace

import numpy as np
import pytest

from rankfold.admm import SCHEDULES, Clone, Penalty, Problem, Settings, blocks, layout, solve
from rankfold.admm.reference import Reference
from rankfold.datasets import low_rank_plus_sparse
from rankfold.manifold import PROJECTORS, get_projector
from rankfold.scale import Threads
from samples import with_basis, with_holes

WIDE = (24, 420)
TALL = (140, 30)
# (channels, height, width) of the rows of both, with more than one channel.
ROW_SHAPES = {WIDE: (3, 10, 14), TALL: (2, 5, 3)}
LAYOUTS = ["one slab", "runs of rows", "slabs of columns", "slabs of images"]


@pytest.fixture(params=LAYOUTS)
def shape(request, monkeypatch):
    """Cut small problems as large ones are, and return the shape that is cut in this way."""
    if request.param == "one slab":
        return WIDE
    monkeypatch.setattr(layout, "SLAB_VALUES", 1)
    monkeypatch.setattr(layout, "SLAB_MIN", 1)
    monkeypatch.setattr(blocks, "COLUMNS", 7)
    if request.param == "slabs of columns":
        monkeypatch.setattr(layout, "WHOLE_VALUES", 0)
    return TALL if request.param == "slabs of images" else WIDE


def problem_of(shape, missing=False, moving=False):
    """Low rank + sparse, with holes or transforms on request."""
    D, Q = with_basis(*shape, p=3)
    if not moving:
        D = low_rank_plus_sparse(*shape, 3, 0.05, 0).data
    W = None
    if missing:
        D, Q, W = with_holes(D, Q, seed=4)
    lam = 1 / np.sqrt(max(shape))
    return Problem(D, lam, W, Q if moving else None, shape=ROW_SHAPES[shape])


def assert_close(problem, settings, **words):
    """Both storages give the same solution, and as many records of the same objectives."""
    plain = solve(problem, settings, storage=Reference, **words)
    fast = solve(problem, settings, **words)
    assert len(fast.records) == len(plain.records) > 3
    assert fast.status is plain.status
    assert fast.objective == pytest.approx(plain.objective, rel=1e-9)
    for one, other in zip(fast.records, plain.records, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
        assert one.rank == other.rank
        # NaN where nothing was proved, in the same iterations.
        assert one.gap == pytest.approx(other.gap, rel=1e-6, abs=1e-9, nan_ok=True)
        assert one.primal_residual == pytest.approx(other.primal_residual, rel=1e-5, abs=1e-12)
        assert one.dual_residual == pytest.approx(other.dual_residual, rel=1e-5, abs=1e-10)
    size = np.abs(problem.data).max()
    for name in ("low_rank", "sparse", "delta"):
        mine = getattr(fast, name)
        np.testing.assert_allclose(mine, getattr(plain, name), atol=1e-8 * size, err_msg=name)
    values = plain.singular_values
    np.testing.assert_allclose(fast.singular_values, values, atol=1e-10 * values[0])
    # Y is μ times a difference of pixels, so μ multiplies their rounding.
    rounding = 1e-11 * size * plain.records[-1].penalty
    peak = np.abs(plain.dual).max()
    np.testing.assert_allclose(fast.dual, plain.dual, atol=1e-8 * peak + rounding)
    return fast


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_with_holes_and_transforms(shape, missing, moving, schedule):
    problem = problem_of(shape, missing, moving)
    assert_close(problem, Settings(tol=1e-6, penalty=SCHEDULES[schedule].penalty))


@pytest.mark.parametrize("missing", [False, True])
def test_a_certified_run(shape, missing):
    row = SCHEDULES["certified"]
    problem = problem_of(shape, missing)
    settings = Settings(tol=1e-5, penalty=row.penalty, certified=True)
    first = assert_close(problem, settings)
    assert first.proved_gap <= 1e-5
    noise = 1e-3 * np.random.default_rng(2).standard_normal(shape)
    seen = 1 if problem.weights is None else problem.weights
    moved = replace(problem, data=problem.data + noise * seen)
    assert_close(moved, replace(settings, penalty=row.after_steps), near=first)


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_penalty_of_the_steps_from_a_near_solution(shape, moving, schedule):
    problem = problem_of(shape, missing=True, moving=moving)
    row = SCHEDULES[schedule]
    settings = Settings(tol=1e-3, penalty=row.steps.penalty)
    first = assert_close(problem, settings)
    noise = 1e-3 * np.random.default_rng(2).standard_normal(shape)
    moved = replace(problem, data=problem.data + noise * problem.weights)
    assert_close(moved, replace(settings, tol=1e-4), near=first)
    if row.after_steps is not None:
        assert_close(moved, Settings(tol=1e-6, penalty=row.after_steps), near=first)


@pytest.mark.parametrize("missing", [False, True])
def test_the_reweighted_surrogate(shape, missing):
    assert_close(problem_of(shape, missing, moving=True), Settings(surrogate="reweighted"))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", PROJECTORS)
def test_every_projector(shape, missing, name):
    clone = Clone(get_projector(name, 5), weight=0.6, start=4.0, period=2)
    settings = Settings(tol=1e-5, max_iter=60, clone=clone)
    assert_close(problem_of(shape, missing, moving=True), settings)


def test_a_function_of_whole_rows(shape):
    def blend(context):
        return 0.6 * context.low_rank + 0.4 * (context.target - context.sparse)

    clone = Clone(get_projector(blend), start=4.0, period=2)
    assert_close(problem_of(shape, moving=True), Settings(tol=1e-5, clone=clone))


def test_the_manifold_and_the_surrogate_together_on_threads(shape):
    clone = Clone(get_projector("regression", 5))
    settings = Settings(surrogate="reweighted", clone=clone, penalty=Penalty(growth=1.4))
    with Threads(2) as executor:
        assert_close(problem_of(shape, missing=True, moving=True), settings, executor=executor)


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_data_without_an_answer_never_reach_a_storage(value):
    def nowhere(problem, executor):
        raise AssertionError("the pixels are not needed")

    data = np.full((4, 9), value)
    assert not solve(Problem(data, 0.1), storage=nowhere).low_rank.any()
