"""The tangent space at each image, by local PCA of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.manifold.contract import Array, Context
from rankfold.manifold.neighbours import geodesic_neighbours


def estimate_dimension(X: npt.ArrayLike, share: float = 0.95) -> int:
    """Intrinsic dimension of the rows of X (n, m) by PCA: the fewest components that carry ``share`` of the variance.

    The paper estimates its manifold's dimension in this way; the tangent projector uses it.
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise InputError(
            f"the data have shape {rows.shape}; a dimension needs at least two rows (n, m)"
        )
    if not 0 < share <= 1:
        raise InputError(f"share={share} must lie between 0 and 1")
    centred = rows - rows.mean(axis=0)
    return dimension_of_gram(centred @ centred.T, share)


def dimension_of_gram(centred: npt.NDArray[np.float64], share: float) -> int:
    """The same from the Gram matrix of the centred rows."""
    variances = np.maximum(np.linalg.eigvalsh(centred)[::-1], 0.0)
    total = variances.sum()
    if total <= 0:
        return 0
    return int(np.searchsorted(np.cumsum(variances), share * total * (1 - 1e-12)) + 1)


@dataclass(frozen=True)
class Tangent:
    """Φ_i = the point of the affine space through i's neighbours (mean + leading directions) nearest to A_i."""

    n_neighbors: int = 12
    dimension: int | None = None  # None: estimated, and at most K - 1
    share: float = 0.95

    def __call__(self, context: Context) -> Array:
        """Local PCA through K x K Gram matrices."""
        A = context.low_rank
        n = len(A)
        nearest, _ = geodesic_neighbours(context.gram, min(self.n_neighbors, n - 1))
        centring = np.eye(n) - 1 / n
        wanted = self.dimension or dimension_of_gram(centring @ context.gram @ centring, self.share)
        phi = np.empty_like(A)
        for i in range(n):
            near = A[nearest[i]].astype(np.float64, copy=False)
            middle = near.mean(axis=0)
            near = near - middle
            values, vectors = np.linalg.eigh(near @ near.T)
            keep = np.arange(len(values))[::-1][: min(wanted, len(values) - 1)]
            keep = keep[values[keep] > 1e-12 * max(values[-1], 1e-300)]
            basis = (vectors[:, keep] / np.sqrt(values[keep])).T @ near
            phi[i] = middle + ((A[i] - middle) @ basis.T) @ basis
        return phi
