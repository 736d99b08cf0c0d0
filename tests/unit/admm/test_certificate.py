"""A proof is never wrong: what it says is checked on problems whose optimum is known better."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import SCHEDULES, Clone, Penalty, Problem, Settings, layout, solve
from rankfold.admm.certificate import EVERY, OPEN, Certificate, Watch
from rankfold.admm.reference import Reference
from rankfold.admm.slabs import Slabs
from rankfold.datasets import low_rank_plus_sparse
from rankfold.manifold import get_projector
from rankfold.scale import Serial
from samples import with_basis

CERTIFIED = SCHEDULES["certified"]
# What rounding may add to an objective, relative to it: the iterates are in the data's precision.
ROUNDING = {np.float64: 1e-9, np.float32: 1e-5}
# Under a penalty that hardly grows small problems converge to six digits, most to eight.
SLOW = Penalty(start=10.0, growth=1.001, relaxation=1.7)
PATIENT = Settings(tol=1e-8, max_iter=3000, penalty=SLOW, certified=True)


@dataclass(frozen=True)
class Case:
    """A small problem, by its seed: every kind occurs in 50 of them, and many pairs of kinds."""

    seed: int

    @property
    def dtype(self):
        return np.float32 if self.seed % 5 == 4 else np.float64

    def problem(self):
        rng = np.random.default_rng(self.seed)
        short, long = rng.integers(5, 20), rng.integers(20, 60)
        shape = (short, long) if self.seed % 2 else (long, short)
        rank = int(rng.integers(1, 5))
        corrupted = float(rng.choice([0.0, 0.05, 0.2]))
        data = low_rank_plus_sparse(*shape, rank, corrupted, self.seed).data
        # Exact, noisy, or nothing but noise.
        data = [data, data + 0.3 * rng.standard_normal(shape), rng.random(shape)][self.seed % 3]
        weights = None
        if self.seed % 4 > 1:
            weights = (rng.random(shape) > 0.15).astype(float)
            data = data * weights
        lam = float(rng.choice([0.6, 1.0, 1.5])) / np.sqrt(max(shape))
        return Problem(data.astype(self.dtype), lam, weights)


def weights_of(problem):
    return np.ones(problem.data.shape) if problem.weights is None else problem.weights


def objective_of(problem, A):
    """‖A‖_* + λ ‖Ω∘(D - A)‖_1 in double precision, by a full SVD."""
    A = A.astype(np.float64)
    D = problem.data.astype(np.float64)
    sparse = np.abs(weights_of(problem) * (D - A)).sum()
    return np.linalg.svd(A, compute_uv=False).sum() + problem.sparsity * sparse


def clipped_subgradient(X, A, mu, problem):
    """The Y of a certificate from its definition: μ(X - A), clipped to λΩ."""
    limit = problem.sparsity * weights_of(problem)
    return np.clip(mu * (X.astype(np.float64) - A), -limit, limit)


class Watched(Reference):
    """The plain storage, which also keeps what every look was given and what came of it."""

    def __init__(self, problem, executor):
        super().__init__(problem, executor)
        self.looks = []

    def certify(self, A, mu, sparsity):
        found = super().certify(A, mu, sparsity)
        self.looks.append((self.X.copy(), self.A.copy(), mu, found))
        return found


def watched(problem, settings):
    """Solve; return the solution and all looks."""
    storages = []

    def storage(*given):
        storages.append(Watched(*given))
        return storages[0]

    solution = solve(problem, settings, storage=storage)
    return solution, storages[0].looks


@pytest.mark.parametrize("seed", range(50))
def test_it_is_never_below_the_true_gap_and_the_bound_never_above_the_optimum(seed):
    case = Case(seed)
    problem = case.problem()
    rounding = ROUNDING[case.dtype]
    precise = Problem(problem.data.astype(np.float64), problem.sparsity, problem.weights)
    best = solve(precise, PATIENT)
    optimum = objective_of(precise, best.low_rank)
    assert best.proved_gap <= 1e-6

    usual = replace(PATIENT, tol=1e-4, penalty=CERTIFIED.penalty, max_iter=100)
    # Single precision proves three digits of any of them.
    enough = replace(PATIENT, tol=1e-3)
    for settings in (usual, enough):
        solution = solve(problem, settings)
        looked = [record for record in solution.records if not np.isnan(record.gap)]
        assert looked[-1] is solution.records[-1]
        for record in looked:
            true_gap = (record.objective - optimum) / record.objective
            assert record.gap >= true_gap - rounding
            bound = record.objective * (1 - record.gap)
            assert bound <= optimum * (1 + rounding)
        # It is told of A and D - A.
        returned = objective_of(problem, solution.low_rank)
        assert solution.objective == pytest.approx(returned, rel=rounding)
    assert solution.status is rf.Status.CONVERGED
    assert solution.proved_gap <= 1e-3


@pytest.mark.parametrize("seed", range(0, 50, 7))
def test_the_defaults_reach_their_tolerance(seed):
    problem = Case(seed).problem()
    X = np.where(weights_of(problem) > 0, problem.data, np.nan)
    assert rf.decompose(X, strict=True).gap <= CERTIFIED.tol


@pytest.mark.parametrize("seed", range(0, 50, 3))
def test_its_dual_point_is_feasible_and_proves_what_is_said(seed):
    problem = Case(seed).problem()
    limit = problem.sparsity * weights_of(problem)
    D = problem.data.astype(np.float64)
    settings = Settings(tol=1e-3, max_iter=100, penalty=CERTIFIED.penalty, certified=True)
    _, looks = watched(problem, settings)
    assert looks
    for X, A, mu, found in looks:
        Y = clipped_subgradient(X, A, mu, problem)
        Y = Y / max(np.linalg.norm(Y, 2), 1.0)
        assert np.linalg.norm(Y, 2) <= 1 + 1e-12
        assert (np.abs(Y) <= limit).all()
        assert found.bound == pytest.approx(max((Y * D).sum(), 0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cutting", ["one slab", "blocks", "slabs"])
@pytest.mark.parametrize("seed", range(8))
def test_slabs_give_the_one_of_a_full_svd(seed, cutting, monkeypatch):
    if cutting != "one slab":
        monkeypatch.setattr(layout, "SLAB_VALUES", 1)
        monkeypatch.setattr(layout, "SLAB_MIN", 1)
    if cutting == "slabs":
        monkeypatch.setattr(layout, "WHOLE_VALUES", 0)
    case = Case(seed)
    problem = case.problem()
    settings = Settings(tol=1e-3, max_iter=2 * EVERY - 3, penalty=CERTIFIED.penalty, certified=True)
    _, looks = watched(problem, settings)
    found = []

    class Cut(Slabs):
        def certify(self, *given):
            found.append(super().certify(*given))
            return found[-1]

    solve(problem, settings, storage=Cut)
    assert len(found) == len(looks) == 2
    # In single precision the iterates differ in their last digits, and so does what is proved.
    digits = 1e-9 if case.dtype is np.float64 else 2e-5
    for mine, (*_, plain) in zip(found, looks, strict=True):
        for name in ("l1", "product", "norm"):
            assert getattr(mine, name) == pytest.approx(getattr(plain, name), rel=digits)


class TestCertificate:
    def test_a_norm_below_one_is_left_as_it_is(self):
        assert Certificate(l1=1.0, product=3.0, norm=0.5).bound == 3.0
        assert Certificate(l1=1.0, product=3.0, norm=2.0).bound == 1.5

    def test_zero_is_always_a_bound(self):
        assert Certificate(l1=1.0, product=-3.0, norm=2.0).bound == 0.0


class TestWatch:
    def look(self, watch, gap, share):
        """Look where the objective is one with E = D - A; with E it is lower by a share of gap."""
        found = Certificate(l1=0.0, product=1 - gap, norm=1.0)
        return watch.after(found, objective=1 - share * gap, feasible=1.0)

    def test_before_the_first_look_nothing_is_known(self):
        assert np.isnan(Watch(50.0).gap)

    def test_the_gap_is_relative_to_the_objective(self):
        found = Certificate(l1=0.0, product=3.0, norm=1.0)
        assert Watch(50.0).after(found, 4.0, 4.0).gap == 0.25

    @pytest.mark.parametrize(("objective", "bound"), [(3.0, 3.1), (0.0, 0.0)])
    def test_it_is_never_negative_nor_a_division_by_zero(self, objective, bound):
        found = Certificate(l1=0.0, product=bound, norm=1.0)
        assert Watch(50.0).after(found, objective, objective).gap == 0.0

    def test_the_best_bound_is_kept(self):
        first = Watch(50.0).after(Certificate(0.0, 9.0, 1.0), 10.0, 10.0)
        second = first.after(Certificate(0.0, 8.0, 1.0), 9.5, 9.5)
        assert second.bound == 9.0
        assert second.gap == pytest.approx(0.5 / 9.5)

    def test_the_balance_stays_where_the_first_part_of_the_gap_is_as_it_should_be(self):
        assert self.look(Watch(50.0), 1e-2, OPEN).balance == pytest.approx(50.0)

    @pytest.mark.parametrize(("share", "factor"), [(1.5, 1.5), (0.7, 0.7)])
    def test_it_follows_that_part(self, share, factor):
        assert self.look(Watch(50.0), 1e-2, share * OPEN).balance == pytest.approx(50.0 * factor)

    @pytest.mark.parametrize(("share", "factor"), [(30.0, 2.0), (0.01, 0.5), (-5.0, 0.5)])
    def test_by_no_more_than_a_factor_of_two(self, share, factor):
        assert self.look(Watch(50.0), 1e-2, share * OPEN).balance == 50.0 * factor

    def test_without_a_gap_there_is_nothing_to_follow(self):
        assert self.look(Watch(50.0), 0.0, 1.0).balance == 50.0

    @pytest.mark.parametrize("limit", [EVERY, 5 * EVERY, 5 * EVERY + 3])
    def test_a_run_looks_now_and_then_and_in_its_last_iteration(self, limit):
        settings = replace(PATIENT, max_iter=limit)
        solution = solve(Case(3).problem(), settings)
        looked = [r.iteration for r in solution.records if not np.isnan(r.gap)]
        assert looked == sorted({*range(EVERY - 1, limit, EVERY), limit - 1})


class TestRefused:
    def test_a_manifold(self):
        clone = Clone(get_projector("regression"))
        with pytest.raises(rf.InputError, match="nothing can be proved of a problem that is not"):
            Settings(certified=True, clone=clone)

    def test_a_concave_surrogate(self):
        with pytest.raises(rf.InputError, match="nothing can be proved of a problem that is not"):
            Settings(certified=True, surrogate="reweighted")

    def test_transforms(self):
        D, Q = with_basis(8, 40, p=2)
        with pytest.raises(rf.InputError, match="nothing can be proved of a problem with trans"):
            solve(Problem(D, 0.1, basis=Q), Settings(certified=True))


class TestEnds:
    data = Case(3).problem().data

    @pytest.mark.filterwarnings("ignore:decompose. stopped at the iteration limit")
    @pytest.mark.parametrize("limit", [1, 2, EVERY - 1, EVERY, EVERY + 1, 17])
    def test_at_the_iteration_limit_the_gap_is_told(self, limit):
        result = rf.decompose(self.data, tol=1e-9, max_iter=limit)
        assert result.status is rf.Status.MAX_ITER
        assert 0 < result.gap <= 1
        assert len(result.trace.inner["gap"]) == limit

    def test_all_zero_data_are_their_own_optimum(self):
        result = rf.decompose(np.zeros((4, 9)))
        assert result.gap == 0
        assert result.status is rf.Status.CONVERGED

    def test_an_observer_that_stops_between_two_looks_leaves_the_gap_unknown(self):
        result = rf.decompose(self.data, observe=lambda record: record.iteration == 3)
        assert result.gap is None
        np.testing.assert_array_equal(result.sparse, self.data - result.low_rank)

    def test_no_other_run_says_anything(self):
        for words in ({"schedule": "published"}, {"method": "meadmm"}):
            result = rf.decompose(self.data, **words)
            assert result.gap is None
            assert np.isnan(result.trace.inner["gap"]).all()

    def test_an_executor_is_given_the_looks_too(self):
        seen = []

        class Counting(Serial):
            def run(self, function, items, *given):
                seen.append(function.__name__)
                return super().run(function, items, *given)

        settings = Settings(
            tol=1e-3, max_iter=2 * EVERY - 3, penalty=CERTIFIED.penalty, certified=True
        )
        solve(Case(3).problem(), settings, Counting())
        assert seen.count("_certify") == 2
