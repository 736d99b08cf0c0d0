"""Manifolds that are given rather than learned, as in Del Bue et al.: the sphere, the Stiefel manifold, everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfold.manifold.contract import Array, Context


@dataclass(frozen=True)
class Identity:
    """Everything: Φ = A, so that the clone penalty is a plain proximal term."""

    def __call__(self, context: Context) -> Array:
        """A itself."""
        return context.low_rank


@dataclass(frozen=True)
class Sphere:
    """Every image has the length of its data row: one, for pictures."""

    def __call__(self, context: Context) -> Array:
        """Rows scaled; a zero row stays."""
        lengths = np.linalg.norm(context.target, axis=1)
        norms = np.sqrt(np.maximum(np.diag(context.gram), 0.0))
        factors = np.where(norms > 0, lengths / np.where(norms > 0, norms, 1.0), 0.0)
        return (context.low_rank * factors[:, None]).astype(context.low_rank.dtype, copy=False)


@dataclass(frozen=True)
class Stiefel:
    """Orthonormal rows (columns where there are more rows): the polar factor of A, zero directions left zero."""

    def __call__(self, context: Context) -> Array:
        """U V' of A = U Σ V'."""
        U, s, Vt = np.linalg.svd(context.low_rank, full_matrices=False)
        rank = int((s > 1e-10 * max(float(s.max(initial=0.0)), 1e-300)).sum())
        return np.asarray(U[:, :rank] @ Vt[:rank])
