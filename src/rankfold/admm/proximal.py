"""Singular value thresholding through a small matrix.

SVT_t(X) = U S_t[Σ] V' = M X with M = U diag((1 - t/σ)_+) U'. So only U and σ are needed, and the long axis of X is
never touched by a decomposition. They come from one of two small matrices, both sums or stacks over slabs:

Gram matrix G = X X' (the usual one): one symmetric product and an n x n eigenproblem. Squaring costs digits: an
eigenvalue is off by about ε σ_1², hence a singular value near the threshold by about ε σ_1² / 2t.

Triangle R of X' = Q R (the precise one): a QR factorisation of every slab, of their stacked triangles, and the full SVD
of the last triangle. Backward stable, like an SVD of X itself, at about twice the cost of the Gram form.

``needs_precision`` chooses: the Gram form as long as the threshold is above 1e-6 σ_1, where its error in a singular
value is below 1e-10 σ_1 and below 1e-4 of the threshold itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

GRAM_LIMIT = 1e-6  # t / σ_1 below which the Gram form is left: ε σ_1²/2t is then 1e-10 σ_1 and 1e-4 t


def nuclear(sigma: Floats, threshold: float) -> Floats:
    """The same threshold for every singular value: the proximal operator of the nuclear norm."""
    return np.full_like(sigma, threshold)


def reweighted(sigma: Floats, threshold: float) -> Floats:
    """T min(2, 2d / ((σ - t)_+ + d)), d = 0.03 σ_1: small values are cut harder, large ones hardly at all.

    One step of a reweighted (concave) surrogate of the rank. For use once the nuclear norm has done its work: from a
    poor start it does harm.
    """
    d = 0.03 * sigma[0] if sigma[0] > 0 else 1.0
    return np.asarray(threshold * np.minimum(2.0, 2 * d / (np.maximum(sigma - threshold, 0.0) + d)))


SURROGATES: dict[str, Callable[[Floats, float], Floats]] = {"nuclear": nuclear, "reweighted": reweighted}


@dataclass(frozen=True)
class Thresholding:
    """SVT_t(X) = M X, with the singular values of the result."""

    operator: Floats  # M, n x n
    gram: Floats  # of M X, n x n
    singular_values: Floats  # of M X, descending, without zeros
    largest: float  # σ_1 of X


def needs_precision(threshold: float, largest: float) -> bool:
    """Whether the Gram matrix would lose digits that matter."""
    return threshold < GRAM_LIMIT * largest


def threshold_gram(gram: Floats, threshold: float, surrogate: str = "nuclear") -> Thresholding:
    """SVT from X X'."""
    squares, U = np.linalg.eigh(gram)  # divide and conquer; the MRRR driver is not bit for bit repeatable
    return _operator(U[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0)), threshold, surrogate)


def threshold_triangles(triangles: list[Floats], threshold: float, surrogate: str = "nuclear") -> Thresholding:
    """SVT from the triangles of the slabs."""
    R = np.linalg.qr(np.concatenate(triangles), mode="r")
    _, sigma, Vt = np.linalg.svd(R, full_matrices=False)
    return _operator(Vt.T, sigma, threshold, surrogate)


def largest_singular_value(gram: Floats) -> float:
    """σ_1 from X X'."""
    return float(np.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)))


def _operator(U: Floats, sigma: Floats, threshold: float, surrogate: str) -> Thresholding:
    """M = U diag((1 - t/σ)_+) U' from the left singular vectors and values of X, largest first."""
    thresholds = SURROGATES[surrogate](sigma, threshold)
    rank = int(np.count_nonzero(sigma > thresholds))
    kept = sigma[:rank] - thresholds[:rank]
    Ur = U[:, :rank]
    return Thresholding((Ur * (kept / sigma[:rank])) @ Ur.T, (Ur * kept**2) @ Ur.T, kept, float(sigma[0]))
