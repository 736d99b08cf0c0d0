"""What the solver asks of whoever holds the pixels.

The solver never sees a pixel. It asks a :class:`Storage` for one update after the other and gets
back what is small: singular values, n x p products, norms. ``reference.py`` answers in plain NumPy,
``slabs.py`` with compiled passes over slabs of fixed size, on threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankfold.admm.certificate import Certificate
from rankfold.admm.problem import Solution
from rankfold.admm.proximal import Thresholding, Wanted
from rankfold.manifold import AnyProjector

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pass:
    """The scalars of one iteration, which every pass over the pixels needs."""

    mu: float  # μ
    mu_next: float  # μ of the next iteration, for which X is prepared
    sparsity: float  # λ
    beta: float  # β of the Φ that is merged into X; 0 without one
    relaxation: float  # a
    merge: bool  # whether the next X gets its Φ at once; not if a new Φ is about to come


@dataclass(frozen=True)
class Shrunk:
    """What is known once E is."""

    products: Floats  # Q'(D + Qδ - A - E + Y/μ), n x p
    l1: float  # ‖Ω∘E‖_1


class Storage(Protocol):
    """A problem with its arrays A, E, Y, V_m = D + Qδ, X and Φ, wherever they are.

    An iteration calls :meth:`threshold`, :meth:`shrink` and :meth:`ascend` once each, in this
    order; now and then :meth:`certify` after the first, or :meth:`project` after the last.
    ``ascend`` gets minus the products that ``shrink`` returned, so a storage may have done its work
    already. Where a pass is over-relaxed, E and Y are updated with aA + (1 - a)(V - E) in the place
    of A.
    """

    def measure(self) -> tuple[float, float]:
        """Return σ_1 and the largest magnitude of the data."""
        ...

    def start(self, divisor: float, mu: float) -> None:
        """Y = D / divisor, E = 0, δ = 0; X = D + Y/μ."""
        ...

    def resume(self, near: Solution, mu: float) -> None:
        """E and Y as in a solution of a similar problem, δ = 0; X = D - E + Y/μ."""
        ...

    def threshold(self, wanted: Wanted) -> Thresholding:
        """A = SVT(X)."""
        ...

    def certify(self, A: Thresholding, mu: float, sparsity: float) -> Certificate:
        """What the X that made A proves; without transforms and Φ, now and then."""
        ...

    def shrink(self, A: Thresholding, scalars: Pass) -> Shrunk:
        """E = S_{λΩ/μ}[V - A + Y/μ]."""
        ...

    def ascend(self, change: Floats, scalars: Pass) -> tuple[float, float, float]:
        """V += Q change; Y += μ(V - A - E); X = V - E + Y/μ_next, merged with Φ if there is one.

        Returns the norms of V - A - E, of the dual residual Y - μ(X - A), and of Y.
        """
        ...

    def project(self, projector: AnyProjector, A: Thresholding, beta: float) -> None:
        """Φ = projection of A; X becomes (X + βΦ)/(1 + β)."""
        ...

    def result(self, name: str) -> Array:
        """A, E or Y, n x m."""
        ...

    def close(self) -> None:
        """Let go of the pixels, where they are on other machines."""
        ...
