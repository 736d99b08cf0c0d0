"""The inner loop: it follows the dense algorithm, ends at an optimum and says how it ended."""

import importlib

import numpy as np
import pytest

from oracles import dense_admm
from oracles.optimality import violation
from rankfold import InputError, Status
from rankfold.admm import Clone, Penalty, Problem, Settings, layout, slabs, solve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.manifold import get_projector
from samples import with_basis, with_holes

LAM = 1 / np.sqrt(400)
# A penalty that hardly grows, under which the iterates go on to the optimum.
PATIENT = Penalty(growth=1.02)


@pytest.mark.parametrize("cutting", ["one slab", "runs of rows", "slabs"])
@pytest.mark.parametrize("shape", [(40, 400), (400, 40)])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("moving", [False, True])
def test_every_configuration_follows_the_dense_algorithm(
    shape, missing, moving, cutting, monkeypatch
):
    if cutting != "one slab":
        monkeypatch.setattr(layout, "SLAB_VALUES", 5000)
    if cutting == "slabs":
        monkeypatch.setattr(layout, "WHOLE_VALUES", 0)
    D, Q = with_basis(*shape)
    W = None
    if missing:
        D, Q, W = with_holes(D, Q, seed=7)
    Q = Q if moving else None
    lam = 1 / np.sqrt(max(shape))
    solution = solve(Problem(D, lam, W, Q))
    A, E, delta, count, objective = dense_admm.solve(D, lam, W, Q)
    assert len(solution.records) == count
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-8 * np.abs(D).max())
    np.testing.assert_allclose(solution.sparse, E, atol=1e-8 * np.abs(D).max())
    np.testing.assert_allclose(solution.delta, delta, atol=1e-8 * np.abs(D).max())


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)])
def test_the_precise_form_is_reached_and_follows_the_dense_algorithm_too(shape, monkeypatch):
    used = []
    original = slabs.threshold_triangles
    monkeypatch.setattr(slabs, "threshold_triangles", lambda *a: used.append(1) or original(*a))
    D, Q = with_basis(*shape)
    lam = 1 / np.sqrt(max(shape))
    solution = solve(Problem(D, lam, None, Q), Settings(tol=1e-10, penalty=Penalty(growth=1.6)))
    A, _, _, count, objective = dense_admm.solve(D, lam, None, Q, tol=1e-10, rho=1.6)
    assert used
    assert abs(len(solution.records) - count) <= 1
    assert solution.objective == pytest.approx(objective, rel=1e-10)
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-9 * np.abs(D).max())


def test_a_patient_run_is_optimal_with_missing_values_and_transforms():
    D, Q, W = with_holes(*with_basis(), seed=1)
    solution = solve(Problem(D, LAM, W, Q), Settings(tol=1e-8, penalty=PATIENT))
    assert solution.status is Status.CONVERGED
    assert violation(solution.low_rank, solution.sparse, solution.dual, LAM, W, Q) < 1e-4


def test_the_dual_residual_in_the_trace_bounds_the_violation():
    truth = low_rank_plus_sparse(60, 400, 12, 0.15, 0)
    for growth in (1.05, 1.25, 1.6):
        solution = solve(Problem(truth.data, LAM), Settings(penalty=Penalty(growth=growth)))
        found = violation(solution.low_rank, solution.sparse, solution.dual, LAM)
        size = np.linalg.norm(solution.dual)
        assert found <= solution.records[-1].dual_residual * size


def test_missing_values_are_filled_in():
    truth = low_rank_plus_sparse(80, 300, 3, 0.03, 2)
    W = (np.random.default_rng(2).random(truth.data.shape) > 0.3).astype(float)
    problem = Problem(truth.data * W, 1 / np.sqrt(300), W)
    solution = solve(problem, Settings(tol=1e-8, penalty=PATIENT))
    hidden = W == 0
    size = np.linalg.norm(truth.low_rank[hidden])
    error = np.linalg.norm((solution.low_rank - truth.low_rank)[hidden]) / size
    assert error < 1e-5
    np.testing.assert_array_equal(solution.dual[hidden], 0)


class TestStatus:
    truth = low_rank_plus_sparse(40, 300, 3, 0.05, 0)

    @pytest.mark.parametrize(("certified", "tol"), [(False, 1e-8), (True, 1e-5)])
    def test_converged(self, certified, tol):
        settings = Settings(tol=tol, penalty=PATIENT, certified=certified)
        solution = solve(Problem(self.truth.data, LAM), settings)
        assert solution.status is Status.CONVERGED

    def test_max_iter(self):
        solution = solve(Problem(self.truth.data, LAM), Settings(max_iter=3))
        assert solution.status is Status.MAX_ITER
        assert len(solution.records) == 3

    def test_stalled_when_the_penalty_grows_too_fast(self):
        hard = low_rank_plus_sparse(60, 300, 15, 0.2, 0)
        solution = solve(Problem(hard.data, LAM), Settings(penalty=Penalty(growth=3)))
        assert solution.status is Status.STALLED
        assert violation(solution.low_rank, solution.sparse, solution.dual, LAM) > 1e-2

    def test_non_finite(self):
        data = self.truth.data.copy()
        data[3, 4] = np.inf
        assert solve(Problem(data, LAM)).status is Status.NON_FINITE

    def test_stopped_by_an_observer(self):
        seen = []

        def observe(record):
            seen.append(record)
            return record.iteration == 4

        solution = solve(Problem(self.truth.data, LAM), observe=observe)
        assert solution.status is Status.STOPPED
        assert len(seen) == len(solution.records) == 5
        assert [r.iteration for r in seen] == [0, 1, 2, 3, 4]

    def test_an_observer_sees_every_iteration_also_the_last(self):
        seen = []
        solution = solve(Problem(self.truth.data, LAM), observe=seen.append)
        assert seen == list(solution.records)

    def test_an_observer_stops_also_where_the_loop_converges(self):
        problem = Problem(self.truth.data, LAM)
        last = solve(problem).records[-1].iteration
        stopped = solve(problem, observe=lambda record: record.iteration == last)
        assert stopped.status is Status.STOPPED

    def test_every_status_has_a_sentence_and_only_one_is_good(self):
        assert [s for s in Status if s.good] == [Status.CONVERGED]
        assert all(len(s.value) > 20 for s in Status)


def test_all_zero_data_have_a_zero_answer():
    solution = solve(Problem(np.zeros((5, 9)), LAM))
    assert solution.status is Status.CONVERGED
    assert not solution.low_rank.any()
    assert solution.rank == 0


def test_the_data_are_not_written_to():
    truth = low_rank_plus_sparse(30, 300, 3, 0.05, 0)
    before = truth.data.copy()
    solve(Problem(truth.data, LAM))
    np.testing.assert_array_equal(truth.data, before)


def test_single_precision_is_kept_and_close():
    D, Q = with_basis()
    double = solve(Problem(D, LAM, None, Q), Settings(tol=1e-5))
    narrow = Problem(D.astype(np.float32), LAM, None, Q.astype(np.float32))
    single = solve(narrow, Settings(tol=1e-5))
    assert single.low_rank.dtype == single.sparse.dtype == np.float32
    assert single.objective == pytest.approx(double.objective, rel=1e-5)


def test_rank_zero_in_the_first_iterations_is_no_trouble():
    data = 1e-3 * np.random.default_rng(0).standard_normal((12, 200))
    # A spike makes the first multiplier small.
    data[3, 7] = 1.0
    clone = Clone(get_projector("regression"), start=0.1, period=1)
    early = Settings(penalty=Penalty(start=0.01), clone=clone)
    solution = solve(Problem(data, 1 / np.sqrt(500)), early)
    assert solution.records[0].rank == 0
    assert np.isfinite(solution.low_rank).all()


def test_few_singular_values_are_found_one_by_one_and_thin_factors_are_used(monkeypatch):
    expected = []
    original = slabs.threshold_gram

    def watched(gram, wanted):
        expected.append(wanted.expected)
        return original(gram, wanted)

    monkeypatch.setattr(slabs, "threshold_gram", watched)
    truth = low_rank_plus_sparse(90, 300, 2, 0.02, 0)
    solution = solve(Problem(truth.data, 1 / np.sqrt(300)))
    assert 12 * max(expected) < 90
    A, _, _, count, _ = dense_admm.solve(truth.data, 1 / np.sqrt(300), None, None)
    assert len(solution.records) == count
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-8 * np.abs(truth.data).max())


def test_the_surrogate_comes_in_when_the_penalty_has_grown(monkeypatch):
    solver = importlib.import_module("rankfold.admm.solver")
    seen = []
    original = solver.Wanted

    def watched(threshold, **words):
        seen.append((words["surrogate"], 1 / threshold))
        return original(threshold, **words)

    monkeypatch.setattr(solver, "Wanted", watched)
    data = low_rank_plus_sparse(40, 300, 3, 0.05, 0).data
    # μ σ_1 starts at 1.25, so this is when μ has grown eightfold.
    solve(Problem(data, LAM), Settings(surrogate="reweighted", surrogate_start=10.0))
    first = seen[0][1]
    for surrogate, mu in seen:
        assert surrogate == ("reweighted" if mu >= 8 * first * (1 - 1e-12) else "nuclear")
    assert {surrogate for surrogate, _ in seen} == {"nuclear", "reweighted"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.zeros((0, 3))}, "must be"),
        ({"weights": np.ones((3, 3))}, r"weights have shape \(3, 3\)"),
        ({"basis": np.ones((5, 2, 4))}, "the basis has shape"),
        ({"sparsity": 0.0}, "must be a positive number"),
        ({"sparsity": np.nan}, "must be a positive number"),
    ],
)
def test_problems_that_make_no_sense_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Problem(**{"data": np.ones((5, 9)), "sparsity": 0.1, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tol": 0.0}, "tol=0.0 must lie between"),
        ({"max_iter": 0}, "must be at least 1"),
        ({"surrogate": "log"}, "unknown rank_surrogate 'log'; choose one of nuclear, reweighted"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Settings(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": -0.5}, "weight -0.5 must be zero or positive"),
        ({"weight": np.nan}, "must be zero or positive"),
        ({"period": 0}, "the period 0 must be at least 1"),
    ],
)
def test_clones_that_make_no_sense_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Clone(get_projector("identity"), **change)


def test_a_clone_is_due_every_so_often_once_the_penalty_has_grown():
    clone = Clone(get_projector("identity"), start=28.0, period=3)
    assert [clone.is_due(30.0, k) for k in range(5)] == [True, False, False, True, False]
    assert clone.is_due(28.0 * (1 - 1e-12), 0)
    assert not clone.is_due(27.9, 0)
    assert not Clone(get_projector("identity"), weight=0.0).is_due(100.0, 0)
