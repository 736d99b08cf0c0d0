"""What the inner solver is given (Problem, Settings) and what it returns (Solution)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm.proximal import SURROGATES
from rankfold.admm.schedules import Penalty
from rankfold.errors import InputError
from rankfold.manifold import AnyProjector
from rankfold.scale import streamed
from rankfold.status import InnerRecord, Status

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


Origin = Callable[[slice], tuple[Array, Array]]
"""Makes some columns of D (n, b), in its precision, and of Ω.

It is sent to other machines, so it is small and made of plain values; reading pictures is its
matter.
"""


@dataclass(frozen=True)
class Problem:
    """min ‖A‖_* + λ ‖Ω∘E‖_1 subject to D + [Q_i δ_i]_i = A + E (P2 of the paper, linearised).

    Without ``basis`` this is robust PCA, with it the inner problem of RASL.
    """

    # D, n x m; zero where the weight is zero.
    data: Array
    # λ
    sparsity: float
    # Ω, n x m: 0 = missing, so that E is free there; None = all ones.
    weights: Array | None = None
    # Q, n x p x m: orthonormal rows that span the columns of J_i; None = no transforms.
    basis: Array | None = None
    # (n,): the range of a pixel, black to white, in row i; None = the range of the data.
    units: Floats | None = None
    # (channels, height, width) of a row; None = a plain row.
    shape: tuple[int, int, int] | None = None
    # How another machine makes some columns of D and Ω itself; None = it is sent them.
    origin: Origin | None = None

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

    @property
    def size(self) -> int:
        """p, the number of parameters of a transform; 0 without transforms."""
        return 0 if self.basis is None else self.basis.shape[1]

    @cached_property
    def norm(self) -> float:
        """‖D‖_F, in double precision; summed row by row, so that no copy of D is made."""
        rows = (row.astype(np.float64, copy=False) for row in streamed(self.data))
        return float(np.sqrt(sum(float(row @ row) for row in rows)))

    @cached_property
    def row_units(self) -> Floats:
        """The range of a pixel in every row (n,)."""
        if self.units is not None:
            return self.units
        ends = [(float(row.min()), float(row.max())) for row in streamed(self.data)]
        low = min(least for least, _ in ends)
        high = max(greatest for _, greatest in ends)
        return np.full(len(self.data), high - low)

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        return self.shape or (1, 1, self.data.shape[1])


def default_sparsity(shape: tuple[int, int], sparsity_weight: float) -> float:
    """Return λ = λ_c / √max(n, m), which for pictures is λ_c / √m: they have more pixels than n."""
    return float(sparsity_weight / np.sqrt(max(shape)))


def weights_of(valid: npt.NDArray[np.bool_]) -> Array | None:
    """Ω of a problem from the valid pixels (n, m); None where every pixel is valid."""
    return None if valid.all() else valid


@dataclass(frozen=True)
class Clone:
    """The manifold constraint of MeADMM: a penalty βμ/2 ‖A - Φ‖², Φ the projection of A (Eq. 4)."""

    # What makes Φ.
    projector: AnyProjector
    # β = σ/μ. Figures hardly change between 0.2 and 2.
    weight: float = 0.5
    # μ σ_1 from which on Φ is made: before, A is not worth projecting.
    start: float = 35.0
    # Φ is renewed every so many iterations.
    period: int = 3

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"the clone penalty's weight {self.weight} must be zero or positive")
        if self.period < 1:
            raise InputError(f"the period {self.period} must be at least 1")

    @property
    def name(self) -> str:
        """What the projector is called and its parameters, for records."""
        return repr(self.projector)

    def is_due(self, penalty: float, iteration: int) -> bool:
        """Whether Φ is to be made after this iteration; ``penalty`` is μ σ_1 in the next one."""
        if self.weight == 0:
            return False
        # A start that is a power of ρ is reached in spite of rounding.
        late = penalty >= self.start * (1 - 1e-9)
        return late and iteration % self.period == 0


@dataclass(frozen=True)
class Settings:
    """How the inner loop runs; the defaults are RASL's published ones."""

    # Stop when ‖Z‖_F ≤ tol ‖D‖_F; where ``certified``, when the objective at E = D - A is proved
    # to be at most this share of itself above the optimum.
    tol: float = 1e-6
    # Iterations at most.
    max_iter: int = 1000
    # How μ grows.
    penalty: Penalty = field(default_factory=Penalty)
    # Of the rank: a row of SURROGATES.
    surrogate: str = "nuclear"
    # μ σ_1 from which on the surrogate is used, the nuclear norm before.
    surrogate_start: float = 10.0
    # The manifold constraint; None = RASL and robust PCA.
    clone: Clone | None = None
    # Whether to stop by a proof: for the convex problem without transforms.
    certified: bool = False
    # Whether E and Y are returned, from which a similar problem can start; A always is.
    keeps: bool = True

    def __post_init__(self) -> None:
        """Refuse settings under which the loop cannot end well."""
        if not (0 < self.tol < 1):
            raise InputError(f"tol={self.tol} must lie between 0 and 1")
        if self.max_iter < 1:
            raise InputError(f"max_iter={self.max_iter} must be at least 1")
        if self.surrogate not in SURROGATES:
            names = ", ".join(SURROGATES)
            raise InputError(f"unknown rank_surrogate {self.surrogate!r}; choose one of {names}")
        if self.certified and not self.convex:
            raise InputError("nothing can be proved of a problem that is not convex")

    @property
    def convex(self) -> bool:
        """Whether the problem is convex, so that the dual residual measures optimality."""
        return self.clone is None and self.surrogate == "nuclear"


@dataclass(frozen=True)
class Solution:
    """A minimiser of a Problem with its certificate."""

    # A, n x m.
    low_rank: Array
    # E, n x m; None where Settings.keeps says that it is not wanted.
    sparse: Array | None
    # Y, n x m: a subgradient of ‖A‖_* and of λ‖Ω∘E‖_1 at once, where optimal; None like E.
    dual: Array | None
    # δ, n x p.
    delta: Floats
    # Of A, descending, without zeros.
    singular_values: Floats
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

    @property
    def proved_gap(self) -> float | None:
        """How far the objective is above the optimum at most, relative; None: nothing is proved."""
        gap = self.records[-1].gap
        return None if np.isnan(gap) else gap


Solver = Callable[..., Solution]
"""What solves a linearised problem, or decomposes one without transforms.

It is called as ``solver(problem, settings, executor, observe, outer, near)`` and returns a
Solution. A row of METHODS names one; :func:`rankfold.admm.solve` is the usual one.
"""
