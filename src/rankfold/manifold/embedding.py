"""The neighbour-preserving embedding of Definition 1: by regression, or by the paper's average.

Both rebuild image i from its K geodesically nearest images, M_1 = Σ_j w_j a_j, and return
Φ_i = M_1 + ε' S_α[A_i - M_1]. They differ in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import at_least_zero, whole
from rankfold.errors import InputError
from rankfold.manifold.combination import BLOCK, Combination
from rankfold.manifold.contract import Block, Floats, Overview, Projection, Projector
from rankfold.manifold.neighbours import check_has_neighbours, geodesic_neighbours
from rankfold.manifold.vote import halo_for, segments, window_for

# Images that one call of a kernel does.
RUN = 32


@dataclass(frozen=True)
class Embedding(Projector):
    """Parameters of Definition 1; the defaults are the paper's."""

    # K: how many neighbours an image is rebuilt from.
    n_neighbors: int = 7
    # α, as a share of the pixel range: a difference from the neighbours below it is dropped, and an
    # error above it makes a pixel vote against its surroundings.
    alpha: float = 0.05
    # ε': the share that is kept of what the neighbours do not explain.
    keep: float = 0.85
    # Neighbours that are joined in the graph of geodesics; None = K.
    links: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        whole("n_neighbors", self.n_neighbors, 1)
        if self.links is not None and whole("links", self.links) < 1:
            raise InputError(
                f"links={self.links} must be at least 1; None joins the n_neighbors nearest"
            )
        for name in ("alpha", "keep"):
            at_least_zero(name, getattr(self, name))

    def neighbours(self, overview: Overview) -> tuple[npt.NDArray[np.intp], Floats]:
        """At most K of the other images (n, k), and how far they are."""
        check_has_neighbours(len(overview.gram))
        k = min(self.n_neighbors, len(overview.gram) - 1)
        return geodesic_neighbours(overview.gram, k, self.links)


@dataclass(frozen=True)
class Regression(Embedding):
    """Weights by least squares to V_m off the support of the error, with a small ridge.

    The robust reading of Definition 1: no sum-to-one.
    """

    # r, as a share of the mean diagonal.
    ridge: float = 1e-4
    # Window of the vote on what is in error, as a share of the short side.
    window: float = 0.11
    # A large error in a window of which errors fill less than this is a grain, and counts as an
    # error although its window is mostly right.
    grains: float = 0.4

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        super().__post_init__()
        for name in ("ridge", "window", "grains"):
            at_least_zero(name, getattr(self, name))

    def at(self, overview: Overview) -> Projection:
        """Find the neighbours."""
        from rankfold.manifold.kernels import inverse_norms

        nearest, _ = self.neighbours(overview)
        gram = np.ascontiguousarray(overview.gram)
        window = window_for(self.window, overview.shape)
        return LeastSquares(
            nearest,
            alphas=self.alpha * overview.units,
            keep=self.keep,
            gram=gram,
            over=inverse_norms(gram),
            ridge=self.ridge,
            window=window,
            grains=self.grains,
            shape=overview.shape,
            halo=halo_for(window, overview.shape),
        )


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Combination):
    """w_i = argmin Σ_x ω_ix (V_ix - Σ_j w_j a_jx)² + r (tr G/K) |w|², x the pixels, a = A / ‖A‖.

    G is the K x K matrix Σ_x ω a_j a_l of the neighbours.
    """

    gram: Floats  # A A', n x n
    over: Floats  # 1/‖A‖, (n,)
    ridge: float  # r
    window: int  # of the vote that makes ω, px
    grains: float  # share of the window that errors fill around a grain, at most
    shape: tuple[int, int, int]  # (channels, height, width) of a row
    halo: int

    def statistics(self, block: Block) -> tuple[Floats, ...]:
        """Return Σ_p A_j V_i (n, k), and sums over the pixels in error (n, k, k+1).

        Over all pixels Σ_p A_i A_j is part of the Gram matrix, so only the pixels that do not
        count are summed, to be taken away.
        """
        from rankfold.manifold.kernels import outlier_sums, right_sides

        A = block.low_rank
        n, k = self.nearest.shape
        pieces = segments(block, self.window, self.shape)
        valid = np.zeros((n, 0), dtype=bool) if block.valid is None else block.valid
        outliers = np.zeros((n, k, k + 1))

        def multiply(first: int) -> Floats:
            last = min(first + BLOCK, block.size)
            return np.asarray(right_sides(A, block.target, self.nearest, first, last))

        def vote_and_sum(first: int) -> None:
            outlier_sums(
                A,
                block.sparse,
                block.target,
                valid,
                self.nearest,
                self.alphas,
                self.window,
                self.grains,
                pieces,
                first,
                min(first + RUN, n),
                outliers,
            )

        right = reduce(np.add, block.executor.run(multiply, range(0, block.size, BLOCK)))
        block.executor.run(vote_and_sum, range(0, n, RUN))
        return right, outliers

    def weights(self, total: tuple[Floats, ...]) -> Any:
        """Solve n systems of k equations; the weights (n, k) are of A, not of a."""
        from rankfold.manifold.kernels import normal_equations

        n, k = self.nearest.shape
        right, outliers = total
        matrices = np.empty((n, k, k))
        sides = np.empty((n, k))
        normal_equations(
            self.gram, self.over, self.nearest, right, outliers, self.ridge, matrices, sides
        )
        # Not on threads: called from several at once LAPACK does not always give the same last bit.
        solved = np.linalg.solve(matrices, sides[:, :, None])[:, :, 0]
        return solved * self.over[self.nearest]


@dataclass(frozen=True)
class Average(Embedding):
    """Definition 1 as printed: weights 1 - W_j, W the geodesic distances over their sum.

    The weights are made to sum to one.
    """

    def at(self, overview: Overview) -> Projection:
        """M_1 = Σ_j (1 - W_j) M_j."""
        nearest, paths = self.neighbours(overview)
        share = paths / np.maximum(paths.sum(axis=1, keepdims=True), 1e-300)
        weights = 1 - share
        total = weights.sum(axis=1, keepdims=True)
        # A single neighbour has all of the distance and so no weight as printed; it is all there
        # is, and gets the weight one.
        some = total > 1e-12
        even = 1 / nearest.shape[1]
        weights = np.where(some, weights / np.where(some, total, 1.0), even)
        return Combination(nearest, self.alpha * overview.units, self.keep, weights)
