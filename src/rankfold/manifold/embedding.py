"""The neighbour-preserving embedding of Definition 1: by regression (the robust reading) or by the paper's average.

Both rebuild image i from its K geodesically nearest images, M_1 = Σ_j w_j a_j, and return
Φ_i = M_1 + ε' S_α[A_i - M_1]. They differ in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.manifold.contract import Array, Context, Floats
from rankfold.manifold.neighbours import geodesic_neighbours

RUN = 32  # images that one call of a kernel does
BLOCK = 1024  # or pixels
WIDEST = 255  # window of a vote: its votes are counted in sixteen bits


@dataclass(frozen=True)
class Embedding:
    """Parameters of Definition 1; the defaults are the paper's."""

    n_neighbors: int = 7  # K
    alpha: float = 0.05  # α, as a share of the pixel range
    keep: float = 0.85  # ε'
    links: int | None = None  # neighbours that are joined in the graph of geodesics; None = K

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        if self.n_neighbors < 1:
            raise InputError(f"n_neighbors={self.n_neighbors} must be at least 1")
        if self.links is not None and self.links < 1:
            raise InputError(
                f"links={self.links} must be at least 1; None joins the n_neighbors nearest"
            )

    def neighbours(self, context: Context) -> tuple[npt.NDArray[np.intp], Floats]:
        """At most K of the other images: a batch of n has n - 1 of them."""
        return geodesic_neighbours(
            context.gram, min(self.n_neighbors, len(context.gram) - 1), self.links
        )


@dataclass(frozen=True)
class Regression(Embedding):
    """Weights by least squares to V_m off the support of the error, with a small ridge and no sum-to-one."""

    ridge: float = 1e-4  # r, of the mean diagonal
    window: float = 0.11  # of the short side, for the vote on what is in error; WIDEST at most

    def __call__(self, context: Context) -> Array:
        """Steps a to d of the robust reading."""
        from rankfold.manifold.kernels import embed, inverse_norms, right_sides, systems

        A, V, E = context.low_rank, context.target, context.sparse
        n, m = A.shape
        nearest, _ = self.neighbours(context)
        k = nearest.shape[1]
        gram = np.ascontiguousarray(context.gram)
        over = inverse_norms(gram)
        side = min(context.shape[1:])
        window = min(max(2 * round((self.window * side - 1) / 2) + 1, 1), WIDEST)
        valid = np.zeros((n, 0), dtype=bool) if context.valid is None else context.valid
        alphas = self.alpha * context.units
        matrices, phi = np.empty((n, k, k)), np.empty_like(A)

        def multiply(first: int) -> Floats:
            return np.asarray(right_sides(A, V, nearest, first, min(first + BLOCK, m)))

        def build(first: int) -> None:
            images, run = (
                (A, E, V, valid, gram, over, nearest, alphas),
                (first, min(first + RUN, n)),
            )
            systems(*images, self.ridge, window, context.shape, *run, matrices, right)

        def rebuild(first: int) -> None:
            embed(A, nearest, weights, alphas, self.keep, first, min(first + BLOCK, m), phi)

        right = reduce(np.add, context.executor.run(multiply, range(0, m, BLOCK)))
        context.executor.run(build, range(0, n, RUN))
        # LAPACK stays out of the threads: called from several at once it does not always give the same last bit
        weights = np.linalg.solve(matrices, right[:, :, None])[:, :, 0] * over[nearest]
        context.executor.run(rebuild, range(0, m, BLOCK))
        return phi


@dataclass(frozen=True)
class Average(Embedding):
    """Definition 1 as printed: weights 1 - W_j, W the geodesic distances over their sum, made to sum to one."""

    def __call__(self, context: Context) -> Array:
        """M_1 = Σ_j (1 - W_j) M_j."""
        from rankfold.manifold.kernels import embed

        A = context.low_rank
        nearest, paths = self.neighbours(context)
        share = paths / np.maximum(paths.sum(axis=1, keepdims=True), 1e-300)
        weights = 1 - share
        # a single neighbour has all of the distance and so no weight as printed; it is all there is
        total = weights.sum(axis=1, keepdims=True)
        weights = np.where(
            total > 1e-12, weights / np.where(total > 1e-12, total, 1.0), 1 / nearest.shape[1]
        )
        phi = np.empty_like(A)
        embed(A, nearest, weights, self.alpha * context.units, self.keep, 0, A.shape[1], phi)
        return phi
