"""The tangent space at each image, by local PCA of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.arguments import number, numbers, whole
from rankfold.errors import InputError
from rankfold.manifold.combination import Combination
from rankfold.manifold.contract import Floats, Overview, Projection, Projector
from rankfold.manifold.neighbours import check_has_neighbours, geodesic_neighbours
from rankfold.stack import power_of_two

# Variance, as a share of the largest, below which a direction is rounding.
NO_VARIANCE = 1e-10


def estimate_dimension(X: npt.ArrayLike, share: float = 0.95) -> int:
    """Intrinsic dimension of the rows of X (n, m) by PCA.

    The fewest components that carry ``share`` of the variance. The paper estimates its manifold's
    dimension in this way; the tangent projector uses it.

    Parameters
    ----------
    X : (n, m) array
    share : float
        Between 0 and 1.
    """
    rows = numbers("the data", X, "n m")
    if len(rows) < 2:
        raise InputError(
            f"the data have shape {rows.shape}; a dimension needs at least two rows (n, m)"
        )
    if not 0 < number("share", share, "give one between 0 and 1") <= 1:
        raise InputError(f"share={share} must lie between 0 and 1")
    # Shares of the variance do not depend on the unit, whose square must be in range.
    rows = rows / power_of_two(rows)
    centred = rows - rows.mean(axis=0)
    return dimension_of_gram(centred @ centred.T, share)


def dimension_of_gram(centred: Floats, share: float) -> int:
    """The same from the Gram matrix (n, n) of the centred rows."""
    variances = np.maximum(np.linalg.eigvalsh(centred)[::-1], 0.0)
    total = variances.sum()
    if total <= 0:
        return 0
    return int(np.searchsorted(np.cumsum(variances), share * total * (1 - 1e-12)) + 1)


@dataclass(frozen=True)
class Tangent(Projector):
    """Φ_i = the point nearest to A_i in the affine space through its neighbours.

    The space is their mean and their leading directions.
    """

    # K: how many neighbours span the space.
    n_neighbors: int = 12
    # Of the space; None: estimated, and at most K - 1.
    dimension: int | None = None
    # Of the variance, for the estimate.
    share: float = 0.95

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        whole("n_neighbors", self.n_neighbors, 1)
        if self.dimension is not None:
            whole("dimension", self.dimension, 1)
        if not 0 < number("share", self.share, "give one between 0 and 1") <= 1:
            raise InputError(f"share={self.share} must lie between 0 and 1")

    def at(self, overview: Overview) -> Projection:
        """Local PCA. All products of images are in the Gram matrix, so no pixel is looked at."""
        gram = overview.gram
        n = len(gram)
        check_has_neighbours(n)
        nearest, _ = geodesic_neighbours(gram, min(self.n_neighbors, n - 1))
        centring = np.eye(n) - 1 / n
        wanted = self.dimension or dimension_of_gram(centring @ gram @ centring, self.share)
        weights = np.stack([tangent_weights(gram, i, nearest[i], wanted) for i in range(n)])
        return Combination(nearest, np.zeros(n), keep=0.0, fixed=weights)


def tangent_weights(gram: Floats, image: int, near: npt.NDArray[np.intp], dimension: int) -> Floats:
    """Weights (k,) of the neighbours that make the nearest point of their affine space."""
    k = len(near)
    centring = np.eye(k) - 1 / k
    # Products of the centred neighbours with each other, (k, k), and with the centred image, (k,).
    among = centring @ gram[np.ix_(near, near)] @ centring
    with_image = centring @ (gram[near, image] - gram[np.ix_(near, near)].mean(axis=1))
    values, vectors = np.linalg.eigh(among)
    leading = np.arange(k)[::-1][: min(dimension, k - 1)]
    leading = leading[values[leading] > NO_VARIANCE * max(values[-1], 1e-300)]
    directions = vectors[:, leading]
    coefficients = (directions / values[leading]) @ (directions.T @ with_image)
    return np.asarray(1 / k + centring @ coefficients)
