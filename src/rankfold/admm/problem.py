"""What the inner solver is given (Problem, Settings) and what it returns (Solution)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.proximal import SURROGATES
from rankfold.errors import InputError
from rankfold.manifold import Projector
from rankfold.status import InnerRecord, Status

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """min ‖A‖_* + λ ‖Ω∘E‖_1 subject to D + [Q_i δ_i]_i = A + E (P2 of the paper, linearised).

    Without ``basis`` this is robust PCA, with it the inner problem of RASL.
    """

    data: Array  # D, n x m; zero where the weight is zero
    sparsity: float  # λ
    weights: Array | None = None  # Ω, n x m, 0 = missing (E is free there); None = all ones
    basis: Array | None = (
        None  # Q, n x p x m, orthonormal rows for each image: the column space of J_i
    )
    units: npt.NDArray[np.float64] | None = (
        None  # (n,): the range of a pixel in row i; None: of the data
    )
    shape: tuple[int, int, int] | None = (
        None  # (channels, height, width) of a row; None: a plain row
    )

    def __post_init__(self) -> None:
        """Check shapes and values once, so that the loop need not."""
        if self.data.ndim != 2 or 0 in self.data.shape:
            raise InputError(
                f"the data matrix has shape {self.data.shape}; it must be (n, m) and not empty"
            )
        n, m = self.data.shape
        if self.weights is not None and self.weights.shape != (n, m):
            raise InputError(
                f"weights have shape {self.weights.shape}, the data {(n, m)}; they must agree"
            )
        if self.basis is not None and (self.basis.shape[0], self.basis.shape[2]) != (n, m):
            raise InputError(f"the basis has shape {self.basis.shape}; it must be ({n}, p, {m})")
        if not (np.isfinite(self.sparsity) and self.sparsity > 0):
            raise InputError(
                f"the sparsity weight is {self.sparsity}; it must be a positive number"
            )


def default_sparsity(shape: tuple[int, int], sparsity_weight: float) -> float:
    """λ = λ_c / √max(n, m); for pictures, which have more pixels than a batch has pictures, λ_c / √m."""
    return float(sparsity_weight / np.sqrt(max(shape)))


@dataclass(frozen=True)
class Clone:
    """The manifold constraint of MeADMM: a penalty βμ/2 ‖A - Φ‖² with Φ the projection of A, renewed now and then."""

    projector: Projector
    weight: float = 0.5  # β = σ/μ
    start: float = 28.0  # Φ is first made when μ has grown by this factor
    period: int = 3  # and renewed every so many iterations

    def due(self, growth: float, iteration: int) -> bool:
        """Whether Φ is to be made now: μ has grown enough, and it is the turn of this iteration."""
        return (
            self.weight > 0 and growth >= self.start * (1 - 1e-9) and iteration % self.period == 0
        )

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"the clone penalty's weight {self.weight} must be zero or positive")
        if self.period < 1:
            raise InputError(f"the period {self.period} must be at least 1")


@dataclass(frozen=True)
class Settings:
    """How the inner loop runs; the defaults are RASL's published ones."""

    tol: float = 1e-6  # stop when ‖Z‖_F ≤ tol ‖D‖_F
    max_iter: int = 1000
    penalty_growth: float = 1.25  # ρ
    penalty_start: float = 1.25  # μ_0 σ_1
    balance: float = (
        np.inf
    )  # μ grows only while dual ≤ balance x primal residual; ∞ = always, as published
    outrun: float = (
        np.inf
    )  # x the primal residual: a dual one above it will not fall any more; ∞ = as published
    finish: float = 1.25  # ρ once the run is frozen and only the primal residual has to fall
    relaxation: float = (
        1.0  # a: the steps after A take aA + (1 - a)(V_m - E) for it, until the run is frozen
    )
    dual_tol: float = (
        1e-3  # relative dual residual above which a stopped run was frozen, a balanced one goes on
    )

    surrogate: str = "nuclear"  # of the rank: a row of SURROGATES
    surrogate_start: float = 8.0  # used once μ has grown by this factor; the nuclear norm before
    clone: Clone | None = None  # the manifold constraint; None = RASL and robust PCA
    variant: str = "merged"  # or "literal": Algorithm 2 as printed

    def growth(self, primal: float, dual: float) -> float:
        """What μ is multiplied by, given both residuals of the last iteration."""
        if self.frozen(primal, dual):
            return self.finish
        waiting = np.isfinite(self.balance) and dual > self.balance * primal
        return 1.0 if waiting else self.penalty_growth

    def frozen(self, primal: float, dual: float) -> bool:
        """Whether μ has outrun the dual residual for good. The rank is kept then: noise would pass the threshold."""
        return bool(np.isfinite(self.outrun)) and dual > max(
            self.outrun * primal, 10 * self.dual_tol
        )

    @property
    def convex(self) -> bool:
        """Whether the problem is the convex one, for which the dual residual measures optimality."""
        return self.clone is None and self.surrogate == "nuclear"

    def __post_init__(self) -> None:
        """Refuse settings under which the loop cannot end well."""
        if not (0 < self.tol < 1):
            raise InputError(f"tol={self.tol} must lie between 0 and 1")
        if self.max_iter < 1:
            raise InputError(f"max_iter={self.max_iter} must be at least 1")
        if not (1 < self.penalty_growth < 10):
            raise InputError(
                f"penalty_growth={self.penalty_growth} must lie between 1 and 10, 1.25 is usual"
            )
        if self.variant not in ("merged", "literal"):
            raise InputError(f"unknown variant {self.variant!r}; use 'merged' or 'literal'")
        if self.surrogate not in SURROGATES:
            names = ", ".join(SURROGATES)
            raise InputError(f"unknown rank_surrogate {self.surrogate!r}; choose one of {names}")
        if not self.balance > 0:
            raise InputError(
                f"balance={self.balance} must be positive; infinity lets the penalty always grow"
            )


# How the penalty grows: the settings that differ from the published ones. "balanced" waits for the dual residual and is
# optimal to it; "quick" does not wait, and ends 3e-5 to 5e-5 above the least objective on real data. It starts later
# and takes longer strides than the published schedule, which over-relaxation makes up for, and ends in strides that
# are longer still, which saves a third of its iterations.
SCHEDULES: dict[str, dict[str, float]] = {
    "published": {},
    "balanced": {"balance": 30.0},
    "quick": {
        "penalty_start": 8.0,
        "penalty_growth": 1.5,
        "relaxation": 1.6,
        "outrun": 1000.0,
        "finish": 10.0,
    },
}


def scheduled(settings: Settings, schedule: str) -> Settings:
    """The settings with a row of SCHEDULES. What is not convex keeps the published one: its starts depend on it."""
    if schedule not in SCHEDULES:
        raise InputError(f"unknown schedule {schedule!r}; choose one of {', '.join(SCHEDULES)}")
    return replace(settings, **SCHEDULES[schedule]) if settings.convex else settings  # type: ignore[arg-type]


@dataclass(frozen=True)
class Solution:
    """A minimiser of a Problem with its certificate."""

    low_rank: Array  # A, n x m
    sparse: Array  # E, n x m
    dual: Array  # Y, n x m: a subgradient of ‖A‖_* and of λ‖Ω∘E‖_1 at once, where optimal
    increments: npt.NDArray[np.float64]  # δ, n x p
    singular_values: npt.NDArray[np.float64]  # of A, descending, without zeros
    status: Status
    records: tuple[InnerRecord, ...]

    @property
    def rank(self) -> int:
        """Rank of A."""
        return len(self.singular_values)

    @property
    def objective(self) -> float:
        """‖A‖_* + λ ‖Ω∘E‖_1."""
        return self.records[-1].objective
