"""Manifolds that are given, as in Del Bue et al.: the sphere, the Stiefel manifold, everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankfold.manifold.contract import Array, Block, Floats, Overview, Projection, Projector

# σ / σ_1 below which a direction of A counts as zero: the Gram matrix does not know smaller ones.
NO_DIRECTION = 1e-7


@dataclass(frozen=True)
class Identity(Projector):
    """Everything: Φ = A, so that the clone penalty is a plain proximal term."""

    def at(self, overview: Overview) -> Projection:
        """Every row with the factor one."""
        return Scaling(np.ones(len(overview.gram)))


@dataclass(frozen=True)
class Scaling(Projection):
    """Φ_i = f_i A_i."""

    factors: Floats  # (n,)

    def weights(self, total: tuple[Floats, ...]) -> Any:  # noqa: ARG002
        """The factors."""
        return self.factors

    def embed(self, block: Block, weights: Any, out: Array) -> None:
        """Scale the rows."""
        np.multiply(block.low_rank, weights[:, None], out=out, casting="same_kind")


@dataclass(frozen=True)
class Sphere(Projector):
    """Every image has the length of its data row: one, for pictures."""

    def at(self, overview: Overview) -> Projection:
        """The lengths of A are known, those of the data are measured."""
        return Lengths(np.sqrt(np.maximum(np.diag(overview.gram), 0.0)))


@dataclass(frozen=True)
class Lengths(Scaling):
    """Φ_i = ‖V_i‖ A_i / ‖A_i‖; a zero row stays. Here ``factors`` are the lengths ‖A_i‖."""

    def statistics(self, block: Block) -> tuple[Floats, ...]:
        """Squared lengths of the data rows (n,)."""
        return (np.square(block.target, dtype=np.float64).sum(axis=1),)

    def weights(self, total: tuple[Floats, ...]) -> Any:
        """Length wanted over length had."""
        alive = self.factors > 0
        return np.where(alive, np.sqrt(total[0]) / np.where(alive, self.factors, 1.0), 0.0)


@dataclass(frozen=True)
class Stiefel(Projector):
    """Orthonormal rows: the polar factor of A, zero directions left zero.

    Where there are more rows than pixels, the columns are orthonormal.
    """

    def at(self, overview: Overview) -> Projection:
        """U V' = (A A')^{-1/2} A for A = U Σ V'."""
        squares, U = np.linalg.eigh(overview.gram)
        kept = squares > NO_DIRECTION**2 * max(float(squares[-1]), 1e-300)
        directions = U[:, kept]
        return Mixture((directions / np.sqrt(squares[kept])) @ directions.T)


@dataclass(frozen=True)
class Mixture(Projection):
    """Φ = M A for a matrix M (n, n)."""

    matrix: Floats

    def weights(self, total: tuple[Floats, ...]) -> Any:  # noqa: ARG002
        """The matrix."""
        return self.matrix

    def embed(self, block: Block, weights: Any, out: Array) -> None:
        """One product."""
        np.matmul(weights.astype(out.dtype, copy=False), block.low_rank, out=out)
