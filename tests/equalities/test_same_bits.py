"""Things that must be equal to the last bit."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import Clone, Problem, Settings, layout, solve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.families import FAMILIES
from rankfold.manifold import PROJECTORS, get_projector
from rankfold.scale import Serial, Threads, executor_for, executors
from rankfold.warp import linearise, prepare
from rankfold.warp.linearisation import Motion


@pytest.fixture
def everything_is_shared_out(monkeypatch):
    """However small, so that what threads do is what is compared."""
    monkeypatch.setattr(executors, "WORTH_A_THREAD", 0)


def assert_same_arrays(one, two, names):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize("shape", [(60, 3000), (900, 200)])
def test_rasl_without_transforms_is_robust_pca(shape):
    data = low_rank_plus_sparse(*shape, rank=4, corrupted=0.1, seed=0).data
    lam = 1 / np.sqrt(max(shape))
    rpca = solve(Problem(data, lam))
    none = solve(Problem(data, lam, basis=np.zeros((shape[0], 0, shape[1]))))
    # No transform changes anything.
    degenerate = solve(Problem(data, lam, basis=np.zeros((shape[0], 4, shape[1]))))
    for other in (none, degenerate):
        assert_same_arrays(rpca, other, ["low_rank", "sparse", "dual", "singular_values"])
        assert rpca.records == other.records


def test_aligning_with_fixed_transforms_is_decomposing_the_warped_pictures(heads):
    fixed = rf.align(heads.images, method="rpca", frame=heads.frame, init=heads.truth)
    np.testing.assert_array_equal(fixed.transforms, heads.truth)
    rows = fixed.aligned.reshape(len(fixed.names), -1)
    norms = np.linalg.norm(rows, axis=1)[:, None]
    plain = rf.decompose(rows / norms, tol=1e-6)
    # The rows go through the caller's units and back, which costs the last bit.
    np.testing.assert_allclose(
        plain.low_rank * norms, fixed.low_rank.reshape(rows.shape), atol=1e-9
    )
    assert len(plain.trace.inner["iteration"]) == len(fixed.trace.inner["iteration"])


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("whole", [layout.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(60, 5000), (2000, 150)])
def test_the_number_of_threads_does_not_change_a_bit_of_the_solver(
    shape, whole, moving, monkeypatch
):
    monkeypatch.setattr(layout, "WHOLE_VALUES", whole)
    data = low_rank_plus_sparse(*shape, rank=4, corrupted=0.1, seed=1).data
    basis = None
    if moving:
        rng = np.random.default_rng(0)
        basis = rng.standard_normal((shape[0], 2, shape[1])) / np.sqrt(shape[1])
    problem = Problem(data, 1 / np.sqrt(max(shape)), basis=basis)
    one = solve(problem, executor=Serial())
    for jobs in (1, 2, 3):
        other = solve(problem, executor=Threads(jobs))
        assert_same_arrays(one, other, ["low_rank", "sparse", "dual", "singular_values"])
        assert one.records == other.records


@pytest.mark.parametrize("projector", PROJECTORS)
@pytest.mark.parametrize("whole", [layout.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(30, 1500), (400, 60)])
def test_nor_one_of_the_solver_with_a_projector(shape, whole, projector, monkeypatch):
    monkeypatch.setattr(layout, "SLAB_VALUES", 5000)
    monkeypatch.setattr(layout, "WHOLE_VALUES", whole)
    data = low_rank_plus_sparse(*shape, rank=4, corrupted=0.1, seed=1).data
    problem = Problem(data, 1 / np.sqrt(max(shape)))
    settings = Settings(max_iter=12, clone=Clone(get_projector(projector), start=2.0))
    one = solve(problem, settings, Serial())
    with Threads(3) as threads:
        other = solve(problem, settings, threads)
    assert_same_arrays(one, other, ["low_rank", "sparse", "dual", "singular_values"])


@pytest.mark.usefixtures("everything_is_shared_out")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_number_of_threads_does_not_change_a_bit_of_an_alignment(heads, dtype):
    results = [
        rf.align(
            heads.images,
            method="rasl",
            frame=heads.frame,
            init=heads.start,
            n_jobs=jobs,
            outer_tol=0.25,
            dtype=dtype,
        )
        for jobs in (1, 2, 3)
    ]
    assert results[0].low_rank.dtype == dtype
    for other in results[1:]:
        assert_same_arrays(
            results[0],
            other,
            ["transforms", "aligned", "low_rank", "sparse", "valid", "lost", "confirmed"],
        )
        for part in ("inner", "outer"):
            mine, theirs = getattr(results[0].trace, part), getattr(other.trace, part)
            assert mine.keys() == theirs.keys()
            for column in mine:
                np.testing.assert_array_equal(mine[column], theirs[column])


@pytest.mark.usefixtures("everything_is_shared_out")
@pytest.mark.parametrize("large", [0, 10**9])
def test_nor_one_of_meadmm_with_features_in_single_or_double_precision(heads, large):
    settings = rf.AlignSettings().changed({"features.single_above": large})
    words = {"frame": heads.frame, "init": heads.start, "settings": settings}
    one = rf.align(heads.images, **words, n_jobs=1)
    two = rf.align(heads.images, **words, n_jobs=2)
    assert_same_arrays(
        one,
        two,
        ["transforms", "aligned", "low_rank", "sparse", "rescued", "verdicts", "lost", "confirmed"],
    )
    for name, column in one.trace.routes.items():
        np.testing.assert_array_equal(column, two.trace.routes[name], err_msg=name)


def test_the_same_call_twice_gives_the_same_bits(heads, aligned):
    again = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start)
    assert_same_arrays(aligned, again, ["transforms", "low_rank", "sparse"])


@pytest.mark.usefixtures("everything_is_shared_out")
def test_linearising_on_threads_is_the_same(heads):
    stack = rf.Stack.of(heads.images)
    sampler = prepare(stack, heads.frame, heads.start, np.float64)
    motion = Motion.starting_at(heads.start, FAMILIES["affine"], heads.frame.centre)
    serial = linearise(sampler, motion)
    with executor_for(None, 3) as executor:
        threaded = linearise(sampler, motion, executor)
    assert_same_arrays(serial, threaded, ["data", "basis", "to_parameters", "norms", "valid"])
