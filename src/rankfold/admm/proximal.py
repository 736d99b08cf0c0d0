"""Singular value thresholding through a small matrix.

SVT_t(X) = U S_t[Σ] V' = M X with M = U diag((1 - t/σ)_+) U'. So only U and σ are needed, and no
decomposition touches the long axis of X. They come from one of two small matrices, which are sums
or stacks over slabs:

Gram matrix G = X X' (the usual one): one symmetric product and an n x n eigenproblem. Squaring
costs digits: an eigenvalue is off by about ε σ_1², hence a singular value near the threshold by
about ε σ_1² / 2t.

Triangle R of X' = Q R (the precise one): a QR factorisation of every slab, of their stacked
triangles, and the full SVD of the last triangle. It is backward stable, like an SVD of X itself,
and costs about twice as much as the Gram form.

``form_for`` chooses between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Two thin products with the factors of M are less work than one with M below rank n / 2. A little
# less than that, because thin products run slower.
THIN = 2.2
# Fewer than n / 12 singular values are found one by one; with more, all at once are quicker.
PARTIAL = 12
# t / σ_1 below which the Gram form is left. Its error in a singular value, ε σ_1²/2t, is then 1e-9
# σ_1 and 1 % of t: a thousandth of what a run to tolerance 1e-6 leaves open.
GRAM_LIMIT = 1e-7
# t / σ_1 below which data in single precision are converted before they are multiplied. Above it
# the error is 0.3 % of t at most, because the sum over slabs is in double precision.
SINGLE_LIMIT = 3e-3
# d / σ_1 of the reweighted surrogate.
BEND = 0.03


def nuclear(sigma: Floats, threshold: float) -> Floats:
    """The same threshold for every singular value: the proximal operator of the nuclear norm."""
    return np.full_like(sigma, threshold)


def reweighted(sigma: Floats, threshold: float) -> Floats:
    """Thresholds t min(2, 2d / ((σ - t)_+ + d)), d = 0.03 σ_1: hard on small values, soft on large.

    One step of a reweighted (concave) surrogate of the rank. For use once the nuclear norm has
    done its work: from a poor start it does harm.
    """
    d = BEND * sigma[0] if len(sigma) and sigma[0] > 0 else 1.0
    above = np.maximum(sigma - threshold, 0.0)
    return np.asarray(threshold * np.minimum(2.0, 2 * d / (above + d)))


SURROGATES: dict[str, Callable[[Floats, float], Floats]] = {
    "nuclear": nuclear,
    "reweighted": reweighted,
}


@dataclass(frozen=True)
class Wanted:
    """A singular value thresholding that is asked for."""

    threshold: float  # t
    # Of the rank: a row of SURROGATES.
    surrogate: str = "nuclear"
    # What X is reduced to, see form_for.
    form: str = "own"
    # The rank that is likely, which only decides what is quicker; None: unknown.
    expected: int | None = None


@dataclass(frozen=True)
class Thresholding:
    """SVT_t(X) = M X, M = U diag(shares) U', with the singular values of the result."""

    vectors: Floats  # U, n x r
    shares: Floats  # (r,) what is left of each singular value
    singular_values: Floats  # of M X, (r,) descending
    largest: float  # σ_1 of X

    def factors(self, dtype: npt.DTypeLike) -> tuple[Floats, ...]:
        """Matrices whose product is M: two thin ones where that is less work, else M itself."""
        left = self.vectors * self.shares
        right = self.vectors.T
        parts = (left, right) if THIN * len(self.shares) < len(left) else (left @ right,)
        return tuple(part.astype(dtype, copy=False) for part in parts)

    def gram(self) -> Floats:
        """Gram matrix (n, n) of M X, without a pass over X."""
        return np.asarray((self.vectors * self.singular_values**2) @ self.vectors.T)


def form_for(threshold: float, largest: float) -> str:
    """What a slab is reduced to: a Gram matrix ("own" precision, "double") or a "triangle"."""
    if threshold < GRAM_LIMIT * largest:
        return "triangle"
    return "double" if threshold < SINGLE_LIMIT * largest else "own"


def threshold_gram(gram: Floats, wanted: Wanted) -> Thresholding:
    """SVT from X X'. If few singular values are expected, only those are looked for."""
    if wanted.expected is not None and PARTIAL * wanted.expected < len(gram):
        from scipy.linalg import eigh

        # Bisection finds every value above t, however many there are.
        above = (wanted.threshold**2, np.inf)
        squares, U = eigh(gram, subset_by_value=above, driver="evx", check_finite=False)
    else:
        # Divide and conquer: the MRRR driver is not bit for bit repeatable.
        squares, U = np.linalg.eigh(gram)
    sigma = np.sqrt(np.maximum(squares[::-1], 0.0))
    return _operator(U[:, ::-1], sigma, wanted)


def threshold_triangles(triangles: list[Floats], wanted: Wanted) -> Thresholding:
    """SVT from the triangles of the slabs."""
    R = np.linalg.qr(np.concatenate(triangles), mode="r")
    _, sigma, Vt = np.linalg.svd(R, full_matrices=False)
    return _operator(Vt.T, sigma, wanted)


def largest_singular_value(gram: Floats) -> float:
    """σ_1 from X X'."""
    return float(np.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)))


def _operator(U: Floats, sigma: Floats, wanted: Wanted) -> Thresholding:
    """M = U diag((1 - t/σ)_+) U' from the left singular vectors and values of X, largest first.

    Values up to t may be left out: no surrogate keeps them.
    """
    thresholds = SURROGATES[wanted.surrogate](sigma, wanted.threshold)
    rank = int(np.count_nonzero(sigma > thresholds))
    kept = sigma[:rank] - thresholds[:rank]
    largest = float(sigma.max(initial=0.0))
    return Thresholding(U[:, :rank], kept / sigma[:rank], kept, largest)
