import importlib
from dataclasses import replace

import numpy as np
import pytest

from oracles import dense_admm
from oracles.optimality import violation
from rankfold import InputError, Status
from rankfold.admm import Problem, Settings, slabs, solve
from rankfold.admm.problem import SCHEDULES, scheduled
from rankfold.datasets import low_rank_plus_sparse

LAM = 1 / np.sqrt(400)


def with_basis(n=40, m=400, p=4, seed=0):
    """Data that are low rank + sparse only after a correction in the span of a random basis."""
    rng = np.random.default_rng(seed)
    truth = low_rank_plus_sparse(n, m, 3, 0.05, seed)
    Q = np.linalg.qr(rng.standard_normal((n, m, p)))[0].transpose(0, 2, 1)
    return truth.data + np.einsum("npm,np->nm", Q, 3 * rng.standard_normal((n, p))), Q


@pytest.mark.parametrize("layout", ["one slab", "runs of rows", "slabs"])
@pytest.mark.parametrize("shape", [(40, 400), (400, 40)])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("moving", [False, True])
def test_every_configuration_follows_the_dense_algorithm(
    shape, missing, moving, layout, monkeypatch
):
    if layout != "one slab":
        monkeypatch.setattr(slabs, "SLAB_VALUES", 5000)
    if layout == "slabs":
        monkeypatch.setattr(slabs, "WHOLE_VALUES", 0)
    rng = np.random.default_rng(7)
    D, Q = with_basis(*shape)
    W = (rng.random(shape) > 0.1).astype(float) if missing else None
    if missing:
        D, Q = D * W, Q * W[:, None]
        Q = np.linalg.qr(Q.transpose(0, 2, 1))[0].transpose(0, 2, 1)
    Q = Q if moving else None
    lam = 1 / np.sqrt(max(shape))
    solution = solve(Problem(D, lam, W, Q))
    A, E, delta, count, objective = dense_admm.solve(D, lam, W, Q)
    assert len(solution.records) == count
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-8 * np.abs(D).max())
    np.testing.assert_allclose(solution.sparse, E, atol=1e-8 * np.abs(D).max())
    np.testing.assert_allclose(solution.increments, delta, atol=1e-8 * np.abs(D).max())


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)])
def test_the_precise_form_is_reached_and_follows_the_dense_algorithm_too(shape, monkeypatch):
    module = importlib.import_module("rankfold.admm.solver")
    used = []
    original = module.threshold_triangles
    monkeypatch.setattr(module, "threshold_triangles", lambda *a: used.append(1) or original(*a))
    D, Q = with_basis(*shape)
    lam = 1 / np.sqrt(max(shape))
    solution = solve(Problem(D, lam, None, Q), Settings(tol=1e-10, penalty_growth=1.6))
    A, _, _, count, objective = dense_admm.solve(D, lam, None, Q, tol=1e-10, rho=1.6)
    assert used
    assert abs(len(solution.records) - count) <= 1
    assert solution.objective == pytest.approx(objective, rel=1e-10)
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-9 * np.abs(D).max())


def test_a_balanced_run_is_optimal_with_missing_values_and_transforms():
    rng = np.random.default_rng(1)
    D, Q = with_basis()
    W = (rng.random(D.shape) > 0.1).astype(float)
    Q = np.linalg.qr((Q * W[:, None]).transpose(0, 2, 1))[0].transpose(0, 2, 1)
    solution = solve(Problem(D * W, LAM, W, Q), Settings(tol=1e-8, balance=30))
    assert solution.status is Status.CONVERGED
    assert violation(solution.low_rank, solution.sparse, solution.dual, LAM, W, Q) < 1e-4


def test_the_dual_residual_in_the_trace_bounds_the_violation():
    truth = low_rank_plus_sparse(60, 400, 12, 0.15, 0)
    for growth in (1.05, 1.25, 1.6):
        solution = solve(Problem(truth.data, LAM), Settings(penalty_growth=growth))
        found = violation(solution.low_rank, solution.sparse, solution.dual, LAM)
        size = np.linalg.norm(solution.dual)
        assert found <= solution.records[-1].dual_residual * size


def test_missing_values_are_filled_in():
    truth = low_rank_plus_sparse(80, 300, 3, 0.03, 2)
    W = (np.random.default_rng(2).random(truth.data.shape) > 0.3).astype(float)
    solution = solve(Problem(truth.data * W, 1 / np.sqrt(300), W), Settings(tol=1e-8, balance=30))
    hidden = W == 0
    error = np.linalg.norm((solution.low_rank - truth.low_rank)[hidden]) / np.linalg.norm(
        truth.low_rank[hidden]
    )
    assert error < 1e-5
    np.testing.assert_array_equal(solution.dual[hidden], 0)


class TestStatus:
    truth = low_rank_plus_sparse(40, 300, 3, 0.05, 0)

    def test_converged(self):
        assert solve(Problem(self.truth.data, LAM), Settings(balance=30)).status is Status.CONVERGED

    def test_max_iter(self):
        solution = solve(Problem(self.truth.data, LAM), Settings(max_iter=3))
        assert solution.status is Status.MAX_ITER
        assert len(solution.records) == 3

    def test_stalled_when_the_penalty_grows_too_fast(self):
        hard = low_rank_plus_sparse(60, 300, 15, 0.2, 0)
        solution = solve(Problem(hard.data, LAM), Settings(penalty_growth=3))
        assert solution.status is Status.STALLED
        assert violation(solution.low_rank, solution.sparse, solution.dual, LAM) > 1e-2

    def test_non_finite(self):
        data = self.truth.data.copy()
        data[3, 4] = np.inf
        assert solve(Problem(data, LAM)).status is Status.NON_FINITE

    def test_stopped_by_an_observer(self):
        seen = []
        solution = solve(
            Problem(self.truth.data, LAM), observe=lambda r: seen.append(r) or r.iteration == 4
        )
        assert solution.status is Status.STOPPED
        assert len(seen) == len(solution.records) == 5
        assert [r.iteration for r in seen] == [0, 1, 2, 3, 4]

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
    single = solve(
        Problem(D.astype(np.float32), LAM, None, Q.astype(np.float32)), Settings(tol=1e-5)
    )
    assert single.low_rank.dtype == single.sparse.dtype == np.float32
    assert single.objective == pytest.approx(double.objective, rel=1e-5)


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
        ({"penalty_growth": 1.0}, "must lie between 1 and 10"),
        ({"balance": 0.0}, "must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Settings(**change)


def test_few_singular_values_are_found_one_by_one_and_thin_factors_are_used(monkeypatch):
    module = importlib.import_module("rankfold.admm.solver")
    expected = []
    original = module.threshold_gram
    monkeypatch.setattr(
        module,
        "threshold_gram",
        lambda *a, **k: expected.append(k["expected"]) or original(*a, **k),
    )
    truth = low_rank_plus_sparse(90, 300, 2, 0.02, 0)
    solution = solve(Problem(truth.data, 1 / np.sqrt(300)))
    assert 12 * max(expected) < 90
    A, _, _, count, _ = dense_admm.solve(truth.data, 1 / np.sqrt(300), None, None)
    assert len(solution.records) == count
    np.testing.assert_allclose(solution.low_rank, A, atol=1e-8 * np.abs(truth.data).max())


class TestSchedules:
    truth = low_rank_plus_sparse(60, 400, 3, 0.05, 1)
    noisy = truth.data + 0.05 * np.random.default_rng(0).standard_normal(truth.data.shape)
    problem = Problem(noisy, LAM)

    def run(self, schedule, **more):
        return solve(self.problem, scheduled(Settings(tol=1e-7, max_iter=5000), schedule), **more)

    def test_all_of_them_end_at_the_same_minimum_the_balanced_one_next_to_it(self):
        ends = {name: self.run(name) for name in SCHEDULES}
        least = self.run("balanced").objective
        assert ends["balanced"].status is Status.CONVERGED
        for end in ends.values():
            assert least * (1 - 1e-7) < end.objective < least * (1 + 1e-4)
        assert len(ends["quick"].records) < 0.7 * len(ends["published"].records)

    def test_it_waits_for_the_dual_residual(self):
        settings = scheduled(Settings(), "balanced")
        assert settings.growth(primal=1e-5, dual=1e-2) == 1.0
        assert settings.growth(primal=1e-2, dual=1e-2) == settings.penalty_growth
        assert settings.growth(primal=1e-8, dual=1e-5) == 1.0  # to the end, however small it is
        assert Settings().growth(primal=1e-9, dual=1.0) == 1.25

    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_primal_residual_of_zero_is_no_trouble(self, schedule):
        expected = {"published": 1.25, "balanced": 1.0, "quick": 10.0}
        nothing = np.float64(0.0)  # infinity times that is no number
        assert (
            scheduled(Settings(), schedule).growth(nothing, np.float64(1.0)) == expected[schedule]
        )

    def test_a_frozen_run_strides_to_its_end_and_keeps_its_rank(self):
        settings = scheduled(Settings(tol=1e-7), "quick")
        assert (
            settings.growth(primal=1e-6, dual=5e-2) == settings.finish
        )  # no iteration will lower that any more
        assert (
            settings.growth(primal=1e-6, dual=5e-3) == settings.penalty_growth
        )  # this one is on its way
        assert settings.growth(primal=1e-3, dual=5e-2) == settings.penalty_growth
        rough = self.truth.data + 0.3 * np.random.default_rng(0).standard_normal(
            self.truth.data.shape
        )
        strides, steps = (
            solve(Problem(rough, LAM), one) for one in (settings, replace(settings, outrun=np.inf))
        )
        frozen = [settings.frozen(r.primal_residual, r.dual_residual) for r in strides.records]
        ranks = [r.rank for r in strides.records]
        assert sum(frozen) > 3
        assert frozen[-1]
        assert max(ranks[frozen.index(True) :]) == ranks[frozen.index(True)] < 60
        assert len(strides.records) < 0.7 * len(steps.records)
        assert strides.objective < steps.objective * (1 + 1e-4)

    def test_a_frozen_run_is_not_relaxed(self, monkeypatch):
        slabs = importlib.import_module("rankfold.admm.slabs")
        used, original = [], slabs.sweep
        monkeypatch.setattr(
            slabs, "sweep", lambda *given: used.append(given[7]) or original(*given)
        )
        settings = scheduled(Settings(tol=1e-7), "quick")
        records = solve(self.problem, settings).records
        frozen = [settings.frozen(r.primal_residual, r.dual_residual) for r in records]
        assert used == [settings.relaxation] + [
            1.0 if one else settings.relaxation for one in frozen[:-1]
        ]
        assert 1.0 in used

    def test_what_is_not_convex_keeps_the_published_one(self):
        settings = Settings(surrogate="reweighted")
        assert scheduled(settings, "quick") is settings

    def test_a_start_near_the_solution_saves_iterations(self):
        first = self.run("quick")
        problem = Problem(
            self.noisy + 1e-4 * np.random.default_rng(1).standard_normal(self.noisy.shape), LAM
        )
        settings = scheduled(Settings(tol=1e-3), "quick")
        cold, warm = solve(problem, settings), solve(problem, settings, near=first)
        assert len(warm.records) < len(cold.records)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-2)

    def test_an_unknown_name_is_refused(self):
        with pytest.raises(
            InputError, match="unknown schedule 'fast'; choose one of published, balanced, quick"
        ):
            scheduled(Settings(), "fast")
