"""Numbers of the method: the manifold, the surrogate of the rank, the last decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfold.tuned import COUNT, SHARE, Group, tuned


@dataclass(frozen=True)
class ManifoldSettings(Group):
    """The manifold constraint; what Definition 1 leaves open."""

    n_neighbors: int = tuned(7, COUNT, "K of the paper, while aligning; 7 to 20 hardly differ.")
    last_n_neighbors: int = tuned(
        12, COUNT, "K in the last decomposition, where n allows; 7 to 20 hardly differ."
    )
    alpha: float = tuned(
        0.05, "share of the pixel range", "The paper's α; a smaller difference is dropped."
    )
    keep: float = tuned(
        0.85, SHARE, "The paper's ε', of what is left of a difference; without it, salt leaks."
    )
    ridge: float = tuned(
        1e-4, "share of the mean diagonal", "Of the regression; 1e-2 is bad.", positive=True
    )
    window: float = tuned(
        0.11, "share of the short side", "Of the vote on what is in error: 5 px of faces 45 x 42."
    )
    grains: float = tuned(
        0.4,
        "share of the window",
        "That errors fill around a grain, at most: a large error that counts although its window "
        "is mostly right. With salt on faces the error falls by a fifth, with occluders it stays.",
        most=1.0,
    )
    weight: float = tuned(0.5, "β = σ/μ", "Weight of the clone penalty; 0.2 to 2 hardly differ.")
    start: float = tuned(35.0, "μ σ_1", "Before, A is not worth projecting.")
    period: int = tuned(3, COUNT, "Iterations between two projections; 1 to 4 hardly differ.")


@dataclass(frozen=True)
class SurrogateSettings(Group):
    """The reweighted surrogate of the rank."""

    start: float = tuned(
        10.0, "μ σ_1", "The nuclear norm before: from a poor start the surrogate does harm."
    )


@dataclass(frozen=True)
class DecompositionSettings(Group):
    """The decomposition at the final transforms."""

    gap: float = tuned(
        1e-4,
        "share of the objective",
        "How far it may be above the optimum, where that can be proved; the true distance is then "
        "about a tenth.",
        positive=True,
        most=0.5,
    )
    tol: float = tuned(
        1e-5,
        "relative residual",
        "At which it ends where nothing can be proved; 1e-6 changes what is rebuilt by 1 %.",
        positive=True,
    )
    single_above: int = tuned(
        2**21,
        "values",
        "Larger batches are too large for a cache. They are sampled and decomposed in single "
        "precision, and where nothing can be proved to ten times the residual.",
        most=np.inf,
    )
    more_iterations: int = tuned(5, "times max_inner", "A proof takes more iterations than a step.")
