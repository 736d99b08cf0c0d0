"""A proof of how far a decomposition is from the optimum, and when to look for one.

Let Y be any matrix with ‖Y‖_2 ≤ 1 and |Y| ≤ λΩ. Then for all A and E with A + E = D

    ‖A‖_* + λ ‖Ω∘E‖_1  ≥  <Y, A> + <Y, E>  =  <Y, D>,

so no decomposition lies below <Y, D>: it is a lower bound, and the closer the better. The singular
value thresholding that made A from X leaves such a Y behind, nearly: μ(X - A) is a subgradient of
the nuclear norm at A, so its norm is at most one, and near the optimum it hardly exceeds λΩ.
Clipped to that and divided by its norm, where that is above one, it is exactly of this kind.

No transforms may be part of the problem (Y would have to be orthogonal to them), and no Φ.

What the proof leaves open has two parts. A + E is not yet D, so that the objective at E = D - A is
above the one at hand; the rest is what the bound lacks. A larger penalty makes the first part
smaller and the second one larger. So the proof also says whether the penalty is right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# Iterations between two looks: to look takes most of an iteration.
EVERY = 8
# Of the gap that the first part should have. Below, the true gap is a tenth of the proved one.
OPEN = 0.1
# Looks after which the balance stays: a penalty that changes for ever keeps the iterates from
# settling.
CORRECTED = 24


@dataclass(frozen=True)
class Certificate:
    """What one A and the X that made it prove."""

    l1: float  # ‖Ω∘(D - A)‖_1
    product: float  # <Y, D> for the clipped Y
    norm: float  # ‖Y‖_2

    @property
    def bound(self) -> float:
        """No decomposition has a lower objective; Y = 0 proves zero."""
        return max(self.product / max(self.norm, 1.0), 0.0)


@dataclass(frozen=True)
class Watch:
    """What has been proved so far."""

    # Under which ratio of dual to primal residual the penalty may grow.
    balance: float
    # The highest lower bound so far.
    bound: float = 0.0
    # How far the objective was above the optimum at most when last looked at, relative to itself.
    gap: float = np.nan
    # How often it was looked at.
    looks: int = 0

    def after(self, certificate: Certificate, objective: float, feasible: float) -> Watch:
        """What is known once an iteration was looked at.

        ``objective`` is that of A and E, ``feasible`` that of A and D - A.
        """
        bound = max(self.bound, certificate.bound)
        gap = max(feasible - bound, 0.0)
        share = (feasible - objective) / gap if gap > 0 else OPEN
        correction = float(np.clip(share / OPEN, 0.5, 2.0)) if self.looks < CORRECTED else 1.0
        return replace(
            self,
            balance=self.balance * correction,
            bound=bound,
            gap=gap / feasible if feasible > 0 else 0.0,
            looks=self.looks + 1,
        )
