"""Things that must be equal to the last bit."""

import numpy as np
import pytest

import photographs
import rankfold as rf
from rankfold.admm import SCHEDULES, Clone, Problem, Settings, layout, solve
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
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


def assert_same_alignments(results):
    names = ["transforms", "aligned", "low_rank", "sparse", "valid"]
    names += ["rescued", "verdicts", "lost", "confirmed"]
    first = results[0]
    for other in results[1:]:
        assert_same_arrays(first, other, names)
        for part in ("inner", "outer", "routes", "stages"):
            mine = getattr(first.trace, part)
            theirs = getattr(other.trace, part)
            assert mine.keys() == theirs.keys()
            for column in mine:
                np.testing.assert_array_equal(mine[column], theirs[column], err_msg=column)


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


@pytest.mark.parametrize(("schedule", "tol"), [("certified", 1e-4), ("published", 1e-6)])
def test_aligning_with_fixed_transforms_is_decomposing_the_warped_pictures(heads, schedule, tol):
    words = {"frame": heads.frame, "init": heads.truth, "schedule": schedule}
    fixed = rf.align(heads.images, method="rpca", **words)
    np.testing.assert_array_equal(fixed.transforms, heads.truth)
    rows = fixed.aligned.reshape(len(fixed.names), -1)
    norms = np.linalg.norm(rows, axis=1)[:, None]
    plain = rf.decompose(rows / norms, tol=tol, schedule=schedule)
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
        with Threads(jobs) as threads:
            other = solve(problem, executor=threads)
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


@pytest.mark.parametrize("whole", [layout.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(60, 5000), (2000, 150)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nor_one_of_a_certified_run(shape, whole, dtype, monkeypatch):
    monkeypatch.setattr(layout, "WHOLE_VALUES", whole)
    rng = np.random.default_rng(1)
    data = low_rank_plus_sparse(*shape, rank=4, corrupted=0.1, seed=1).data.astype(dtype)
    weights = rng.random(shape) > 0.1
    problem = Problem(data * weights, 1 / np.sqrt(max(shape)), weights)
    penalty = SCHEDULES["certified"].penalty
    settings = Settings(tol=1e-3, max_iter=60, penalty=penalty, certified=True)
    one = solve(problem, settings, Serial())
    assert one.proved_gap is not None
    for jobs in (1, 2, 3):
        with Threads(jobs) as threads:
            other = solve(problem, settings, threads)
        assert_same_arrays(one, other, ["low_rank", "sparse", "dual", "singular_values"])
        assert one.records == other.records


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
    assert_same_alignments(results)


@pytest.mark.usefixtures("everything_is_shared_out")
@pytest.mark.parametrize(
    ("method", "schedule"), [("meadmm", "rough"), ("meadmm", "published"), ("rasl", "certified")]
)
def test_nor_one_of_an_alignment_with_all_stages(method, schedule):
    """In single precision, in double, and in both; there are pictures enough for rough steps."""
    row = SCHEDULES[schedule]
    batch = rendered_heads(max(row.steps.least, row.rough_steps.least, 8), seed=3)
    words = {"frame": batch.frame, "init": batch.start, "method": method, "schedule": schedule}
    words |= {"features": "contrast", "rescue": True, "start": "auto"}
    assert_same_alignments([rf.align(batch.images, **words, n_jobs=jobs) for jobs in (1, 2, 3)])


@pytest.mark.usefixtures("everything_is_shared_out")
@pytest.mark.parametrize("method", ["meadmm", "rasl"])
def test_nor_one_of_a_search_on_a_smaller_frame(method):
    """With so many values that the whole frame is sampled in single precision."""
    pictures, _ = photographs.near_views()
    settings = rf.AlignSettings().changed(
        {"resolution.side": 48, "decomposition.single_above": 2**14}
    )
    words = {"method": method, "frame": (120, 160), "family": "euclidean", "settings": settings}
    results = [rf.align(pictures, **words, n_jobs=jobs) for jobs in (1, 2, 3)]
    assert "fine" in results[0].trace.stages
    assert_same_alignments(results)


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
