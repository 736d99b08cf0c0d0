"""How the penalty grows, by every row of SCHEDULES, and the values that are refused."""

from dataclasses import replace

import numpy as np
import pytest

from rankfold import InputError, Status
from rankfold.admm import SCHEDULES, Penalty, Problem, Settings, Steps, get_schedule, solve
from rankfold.admm import kernels as admm_kernels
from rankfold.datasets import low_rank_plus_sparse

LAM = 1 / np.sqrt(400)
TRUTH = low_rank_plus_sparse(60, 400, 3, 0.05, 1)
NOISY = TRUTH.data + 0.05 * np.random.default_rng(0).standard_normal(TRUTH.data.shape)
PROBLEM = Problem(NOISY, LAM)
QUICK = SCHEDULES["quick"].penalty


def run(schedule):
    penalty = SCHEDULES[schedule].penalty
    return solve(PROBLEM, Settings(tol=1e-7, max_iter=5000, penalty=penalty))


class TestTable:
    def test_names_are_those_of_the_rows_and_every_row_has_a_sentence(self):
        assert list(SCHEDULES) == ["published", "balanced", "quick"]
        for name, row in SCHEDULES.items():
            assert row.name == name
            assert row.summary
            assert not row.summary.endswith(".")

    def test_the_published_one_is_the_default_of_a_penalty_and_of_steps(self):
        assert SCHEDULES["published"].penalty == Penalty() == Settings().penalty
        assert SCHEDULES["published"].steps == SCHEDULES["balanced"].steps == Steps()

    def test_only_the_balanced_one_promises_an_optimum(self):
        waiting = [name for name, row in SCHEDULES.items() if row.penalty.waits_for_dual]
        assert waiting == ["balanced"]


class TestGetSchedule:
    def test_auto_is_balanced_where_the_problem_is_convex_and_published_elsewhere(self):
        assert get_schedule("auto", True, "") is SCHEDULES["balanced"]
        assert get_schedule("auto", False, "a manifold") is SCHEDULES["published"]

    @pytest.mark.parametrize("name", SCHEDULES)
    def test_a_convex_problem_may_have_any(self, name):
        assert get_schedule(name, True, "") is SCHEDULES[name]

    @pytest.mark.parametrize("name", ["balanced", "quick"])
    def test_what_is_not_convex_refuses_all_but_the_published_one(self, name):
        assert get_schedule("published", False, "a manifold") is SCHEDULES["published"]
        sentence = f"schedule='{name}' cannot be used with a manifold, which always follows"
        with pytest.raises(InputError, match=sentence):
            get_schedule(name, False, "a manifold")

    @pytest.mark.parametrize("convex", [True, False])
    def test_an_unknown_name_is_refused(self, convex):
        choices = "auto, published, balanced, quick"
        with pytest.raises(InputError, match=f"unknown schedule 'fast'; choose one of {choices}$"):
            get_schedule("fast", convex, "a manifold")


class TestPenalty:
    @pytest.mark.parametrize("growth", [0.5, 1.0, 10.0, np.nan])
    def test_a_growth_that_does_not_end_well_is_refused(self, growth):
        with pytest.raises(InputError, match=r"growth .* must lie between 1 and 10; 1.25 is usual"):
            Penalty(growth=growth)

    @pytest.mark.parametrize("balance", [0.0, -1.0, np.nan])
    def test_a_balance_that_is_not_positive_is_refused(self, balance):
        with pytest.raises(InputError, match=r"balance=.* must be positive; infinity lets"):
            Penalty(balance=balance)

    def test_a_balanced_one_waits_for_the_dual_residual(self):
        penalty = SCHEDULES["balanced"].penalty
        assert penalty.growth_after(primal=1e-5, dual=1e-2) == 1.0
        assert penalty.growth_after(primal=1e-2, dual=1e-2) == penalty.growth
        # To the end, however small the dual residual is.
        assert penalty.growth_after(primal=1e-8, dual=1e-5) == 1.0
        assert Penalty().growth_after(primal=1e-9, dual=1.0) == 1.25

    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_primal_residual_of_zero_is_no_trouble(self, schedule):
        expected = {"published": 1.25, "balanced": 1.0, "quick": 10.0}
        # Infinity times this zero is no number.
        nothing = np.float64(0.0)
        found = SCHEDULES[schedule].penalty.growth_after(nothing, np.float64(1.0))
        assert found == expected[schedule]


def test_all_of_them_end_at_the_same_minimum_the_balanced_one_next_to_it():
    ends = {name: run(name) for name in SCHEDULES}
    least = ends["balanced"].objective
    assert ends["balanced"].status is Status.CONVERGED
    for end in ends.values():
        assert least * (1 - 1e-7) < end.objective < least * (1 + 1e-4)
    assert len(ends["quick"].records) < 0.7 * len(ends["published"].records)


def test_a_frozen_run_strides_to_its_end_and_keeps_its_rank():
    # No iteration lowers this dual residual any more, ...
    assert QUICK.growth_after(primal=1e-6, dual=5e-2) == QUICK.finish
    # but these two are on their way.
    assert QUICK.growth_after(primal=1e-6, dual=5e-3) == QUICK.growth
    assert QUICK.growth_after(primal=1e-3, dual=5e-2) == QUICK.growth
    noise = np.random.default_rng(0).standard_normal(TRUTH.data.shape)
    rough = Problem(TRUTH.data + 0.3 * noise, LAM)
    patient = replace(QUICK, outrun=np.inf)
    strides = solve(rough, Settings(tol=1e-7, penalty=QUICK))
    steps = solve(rough, Settings(tol=1e-7, penalty=patient))
    frozen = [QUICK.is_frozen(r.primal_residual, r.dual_residual) for r in strides.records]
    ranks = [r.rank for r in strides.records]
    first = frozen.index(True)
    assert sum(frozen) > 3
    assert frozen[-1]
    assert max(ranks[first:]) == ranks[first] < 60
    assert len(strides.records) < 0.7 * len(steps.records)
    assert strides.objective < steps.objective * (1 + 1e-4)


def test_a_frozen_run_is_not_relaxed(monkeypatch):
    used = []
    original = admm_kernels.sweep

    def watched(*given):
        # X A E Y W P Q V, the threshold, β, and then the relaxation.
        used.append(given[10])
        return original(*given)

    monkeypatch.setattr(admm_kernels, "sweep", watched)
    records = solve(PROBLEM, Settings(tol=1e-7, penalty=QUICK)).records
    frozen = [QUICK.is_frozen(r.primal_residual, r.dual_residual) for r in records]
    later = [1.0 if one else QUICK.relaxation for one in frozen[:-1]]
    assert used == [QUICK.relaxation, *later]
    assert 1.0 in used


def test_a_start_near_the_solution_saves_iterations():
    first = run("quick")
    moved = NOISY + 1e-4 * np.random.default_rng(1).standard_normal(NOISY.shape)
    settings = Settings(tol=1e-3, penalty=QUICK)
    cold = solve(Problem(moved, LAM), settings)
    warm = solve(Problem(moved, LAM), settings, near=first)
    assert len(warm.records) < len(cold.records)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-2)
