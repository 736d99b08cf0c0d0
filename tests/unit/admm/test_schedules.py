"""How the penalty grows, by every row of SCHEDULES, and the values that are refused."""

from dataclasses import replace

import numpy as np
import pytest

from rankfold import InputError, Status
from rankfold.admm import SCHEDULES, Penalty, Problem, Settings, Steps, get_schedule, solve
from rankfold.admm import kernels as admm_kernels
from rankfold.admm.schedules import FAR, FORMER
from rankfold.datasets import low_rank_plus_sparse

LAM = 1 / np.sqrt(400)
TRUTH = low_rank_plus_sparse(60, 400, 3, 0.05, 1)
NOISY = TRUTH.data + 0.05 * np.random.default_rng(0).standard_normal(TRUTH.data.shape)
PROBLEM = Problem(NOISY, LAM)
CERTIFIED = SCHEDULES["certified"]


def run(schedule, tol=None):
    row = SCHEDULES[schedule]
    settings = Settings(
        tol=row.tol if tol is None else tol,
        max_iter=5000,
        penalty=row.penalty,
        certified=row.certified,
    )
    return solve(PROBLEM, settings)


class TestTable:
    def test_names_are_those_of_the_rows_and_every_row_has_a_sentence(self):
        assert list(SCHEDULES) == ["certified", "rough", "published"]
        for name, row in SCHEDULES.items():
            assert row.name == name
            assert row.summary
            assert not row.summary.endswith(".")

    def test_the_published_one_is_the_default_of_a_penalty_and_of_steps(self):
        assert SCHEDULES["published"].penalty == Penalty() == Settings().penalty
        assert SCHEDULES["published"].steps == Steps()
        assert SCHEDULES["published"].after_steps is None
        assert not SCHEDULES["published"].certified
        assert not Settings().certified

    def test_only_the_certified_one_promises_an_optimum_and_its_penalty_waits(self):
        assert [name for name, row in SCHEDULES.items() if row.certified] == ["certified"]
        waiting = [name for name, row in SCHEDULES.items() if np.isfinite(row.penalty.balance)]
        assert waiting == ["certified"]
        # A run that is resumed starts later and is the same otherwise.
        later = CERTIFIED.after_steps
        assert later.start > CERTIFIED.penalty.start
        assert replace(later, start=CERTIFIED.penalty.start) == CERTIFIED.penalty

    def test_the_tolerances_of_both_rules(self):
        assert {name: row.tol for name, row in SCHEDULES.items()} == {
            "certified": 1e-4,
            "rough": 1e-7,
            "published": 1e-7,
        }


class TestGetSchedule:
    def test_auto_is_certified_where_the_problem_is_convex_and_rough_elsewhere(self):
        assert get_schedule("auto", True) is CERTIFIED
        assert get_schedule("auto", False, "a manifold") is SCHEDULES["rough"]

    @pytest.mark.parametrize(
        ("convex", "names"),
        [(True, ["certified", "published"]), (False, ["rough", "published"])],
    )
    def test_a_problem_may_have_those_that_are_for_it(self, convex, names):
        for name in names:
            assert get_schedule(name, convex) is SCHEDULES[name]

    @pytest.mark.parametrize(
        ("name", "convex", "others"),
        [("certified", False, "rough or published"), ("rough", True, "certified or published")],
    )
    def test_it_refuses_the_others_and_says_which_it_may_have(self, name, convex, others):
        sentence = (
            f"^schedule='{name}' cannot be used with a manifold; leave it out, or take {others}$"
        )
        with pytest.raises(InputError, match=sentence):
            get_schedule(name, convex, "a manifold")

    @pytest.mark.parametrize("convex", [True, False])
    def test_an_unknown_name_is_refused(self, convex):
        choices = "auto, certified, rough, published"
        with pytest.raises(InputError, match=f"unknown schedule 'fast'; choose one of {choices}$"):
            get_schedule("fast", convex, "a manifold")

    @pytest.mark.parametrize("convex", [True, False])
    @pytest.mark.parametrize(
        ("name", "advice"), [("quick", "the default is as quick"), ("balanced", "a smaller tol")]
    )
    def test_a_former_name_is_refused_with_what_took_its_place(self, name, advice, convex):
        sentence = f"schedule='{name}' is no more: leave it out, .*{advice}"
        with pytest.raises(InputError, match=sentence):
            get_schedule(name, convex, "a manifold")

    def test_a_former_name_is_none_of_those_of_today(self):
        assert list(FORMER) == ["quick", "balanced"]
        assert not set(FORMER) & {"auto", *SCHEDULES}


class TestPenalty:
    @pytest.mark.parametrize("growth", [0.5, 1.0, 10.0, np.nan])
    def test_a_growth_that_does_not_end_well_is_refused(self, growth):
        with pytest.raises(InputError, match=r"growth .* must lie between 1 and 10; 1.25 is usual"):
            Penalty(growth=growth)

    @pytest.mark.parametrize("balance", [0.0, -1.0, np.nan])
    def test_a_balance_that_is_not_positive_is_refused(self, balance):
        with pytest.raises(InputError, match=r"balance=.* must be positive; infinity lets"):
            Penalty(balance=balance)

    @pytest.mark.parametrize("relaxation", [0.0, 2.0, -1.0, np.nan])
    def test_a_relaxation_under_which_nothing_converges_is_refused(self, relaxation):
        with pytest.raises(InputError, match=r"relaxation .* must lie between 0 and 2; 1 is none"):
            Penalty(relaxation=relaxation)

    def test_it_waits_for_the_dual_residual_and_falls_where_that_is_far_too_large(self):
        penalty = Penalty(growth=1.5)
        assert penalty.growth_after(primal=1e-3, dual=1e-2, balance=30.0) == 1.5
        assert penalty.growth_after(primal=1e-3, dual=4e-2, balance=30.0) == 1.0
        assert penalty.growth_after(primal=1e-3, dual=FAR * 3e-2 + 1e-3, balance=30.0) == 1 / 1.5

    @pytest.mark.parametrize("name", ["rough", "published"])
    def test_the_others_always_grow(self, name):
        penalty = SCHEDULES[name].penalty
        assert penalty.growth_after(primal=1e-9, dual=1.0, balance=penalty.balance) == 1.25
        # Infinity times zero is no number.
        assert penalty.growth_after(primal=0.0, dual=1.0, balance=penalty.balance) == 1.25

    def test_a_published_run_has_the_penalties_that_its_schedule_says(self):
        largest = np.linalg.norm(NOISY, 2)
        found = [record.penalty * largest for record in run("published").records]
        np.testing.assert_allclose(found, 1.25 * 1.25 ** np.arange(len(found)), rtol=1e-9)

    def test_that_of_a_certified_run_grows_stays_or_falls_by_its_factor(self):
        found = np.array([record.penalty for record in run("certified", tol=1e-6).records])
        steps = np.log(found[1:] / found[:-1]) / np.log(CERTIFIED.penalty.growth)
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
        assert set(np.round(steps)) <= {-1.0, 0.0, 1.0}
        assert {0.0, 1.0} <= set(np.round(steps))


def test_both_end_at_the_same_minimum_the_certified_one_next_to_it():
    # Four digits more than the others are asked for: the least objective there is.
    least = run("certified", tol=1e-8)
    assert least.status is Status.CONVERGED
    certified = run("certified")
    published = run("published")
    assert certified.status is Status.CONVERGED
    for end in (certified, published):
        assert least.objective * (1 - 1e-8) < end.objective < least.objective * (1 + 1e-4)
    assert certified.proved_gap <= 1e-4
    # The published rule does not know how far it is.
    assert published.proved_gap is None
    assert certified.objective < published.objective


def test_every_iteration_is_relaxed(monkeypatch):
    used = []
    original = admm_kernels.sweep

    def watched(*given):
        # X A E Y W P Q V, the threshold, β, and then the relaxation.
        used.append(given[10])
        return original(*given)

    monkeypatch.setattr(admm_kernels, "sweep", watched)
    records = run("certified").records
    assert used == [CERTIFIED.penalty.relaxation] * len(records)


@pytest.mark.parametrize("certified", [False, True])
def test_a_start_near_the_solution_saves_iterations(certified):
    first = run("certified")
    moved = NOISY + 1e-4 * np.random.default_rng(1).standard_normal(NOISY.shape)
    settings = Settings(tol=1e-3, penalty=CERTIFIED.penalty, certified=certified)
    cold = solve(Problem(moved, LAM), settings)
    warm = solve(Problem(moved, LAM), settings, near=first)
    assert len(warm.records) < len(cold.records)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-2)
