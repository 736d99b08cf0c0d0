"""Singular value thresholding through a small matrix.

SVT_t(X) = U S_t[Σ] V' = M X with M = U diag((1 - t/σ)_+) U'. So only U and σ are needed, and the long axis of X is
never touched by a decomposition. They come from one of two small matrices, both sums or stacks over slabs:

Gram matrix G = X X' (the usual one): one symmetric product and an n x n eigenproblem. Squaring costs digits: an
eigenvalue is off by about ε σ_1², hence a singular value near the threshold by about ε σ_1² / 2t.

Triangle R of X' = Q R (the precise one): a QR factorisation of every slab, of their stacked triangles, and the full SVD
of the last triangle. Backward stable, like an SVD of X itself, at about twice the cost of the Gram form.

``form_for`` chooses: the Gram form as long as the threshold is above 1e-7 σ_1, where its error in a singular value is
below 1e-9 σ_1 and below 1 % of the threshold itself: a thousandth of what a run to tolerance 1e-6 leaves open. Data in
single precision are multiplied as they are as long as the threshold is above 3e-3 σ_1 (an error of 0.3 % of it at most;
the sum over slabs is in double precision), and are converted first below that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

THIN = (
    2.2  # two thin products are less work below n / 2; a little less, because thin ones run slower
)
PARTIAL = 12  # fewer than n / 12 singular values are found one by one; above, all of them at once are quicker
SINGLE_LIMIT = 3e-3  # the same for a Gram matrix in single precision
GRAM_LIMIT = (
    1e-7  # t / σ_1 below which the Gram form is left: ε σ_1²/2t is then 1e-9 σ_1 and 1e-2 t
)


def nuclear(sigma: Floats, threshold: float) -> Floats:
    """The same threshold for every singular value: the proximal operator of the nuclear norm."""
    return np.full_like(sigma, threshold)


def reweighted(sigma: Floats, threshold: float) -> Floats:
    """T min(2, 2d / ((σ - t)_+ + d)), d = 0.03 σ_1: small values are cut harder, large ones hardly at all.

    One step of a reweighted (concave) surrogate of the rank. For use once the nuclear norm has done its work: from a
    poor start it does harm.
    """
    d = 0.03 * sigma[0] if len(sigma) and sigma[0] > 0 else 1.0
    return np.asarray(threshold * np.minimum(2.0, 2 * d / (np.maximum(sigma - threshold, 0.0) + d)))


SURROGATES: dict[str, Callable[[Floats, float], Floats]] = {
    "nuclear": nuclear,
    "reweighted": reweighted,
}


@dataclass(frozen=True)
class Thresholding:
    """SVT_t(X) = M X, M = U diag(shares) U', with the singular values of the result."""

    vectors: Floats  # U, n x r
    shares: Floats  # (r,) what is left of each singular value
    singular_values: Floats  # of M X, (r,) descending
    largest: float  # σ_1 of X

    def factors(self, dtype: npt.DTypeLike) -> tuple[Floats, ...]:
        """Matrices whose product is M: two thin ones where that is less work, else M itself."""
        left, right = self.vectors * self.shares, self.vectors.T
        parts = (left, right) if THIN * len(self.shares) < len(left) else (left @ right,)
        return tuple(part.astype(dtype, copy=False) for part in parts)

    def gram(self) -> Floats:
        """Gram matrix (n, n) of M X, without a pass over X."""
        return np.asarray((self.vectors * self.singular_values**2) @ self.vectors.T)


def form_for(threshold: float, largest: float, precise: bool = True) -> str:
    """What a slab is to be reduced to: its Gram matrix in its own precision or in double, or its "triangle"."""
    if precise and threshold < GRAM_LIMIT * largest:
        return "triangle"
    return "double" if threshold < SINGLE_LIMIT * largest else "own"


def threshold_gram(
    gram: Floats,
    threshold: float,
    surrogate: str = "nuclear",
    most: int | None = None,
    expected: int | None = None,
) -> Thresholding:
    """SVT from X X', of rank ``most`` at most. If few singular values are ``expected``, only those are looked for."""
    if expected is not None and PARTIAL * expected < len(gram):
        from scipy.linalg import eigh

        # bisection finds every one above t, however many there are; the expectation only decides what is quicker
        squares, U = eigh(
            gram, subset_by_value=(threshold**2, np.inf), driver="evx", check_finite=False
        )
    else:
        squares, U = np.linalg.eigh(
            gram
        )  # divide and conquer; the MRRR driver is not bit for bit repeatable
    return _operator(
        U[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0)), threshold, surrogate, most
    )


def threshold_triangles(
    triangles: list[Floats], threshold: float, surrogate: str = "nuclear", most: int | None = None
) -> Thresholding:
    """SVT from the triangles of the slabs, of rank ``most`` at most."""
    R = np.linalg.qr(np.concatenate(triangles), mode="r")
    _, sigma, Vt = np.linalg.svd(R, full_matrices=False)
    return _operator(Vt.T, sigma, threshold, surrogate, most)


def largest_singular_value(gram: Floats) -> float:
    """σ_1 from X X'."""
    return float(np.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)))


def _operator(
    U: Floats, sigma: Floats, threshold: float, surrogate: str, most: int | None
) -> Thresholding:
    """M = U diag((1 - t/σ)_+) U' from the left singular vectors and values of X, largest first.

    Values up to t may be left out: no surrogate keeps them.
    """
    thresholds = SURROGATES[surrogate](sigma, threshold)
    rank = int(np.count_nonzero(sigma > thresholds))
    rank = rank if most is None else min(rank, most)
    kept = sigma[:rank] - thresholds[:rank]
    return Thresholding(U[:, :rank], kept / sigma[:rank], kept, float(sigma.max(initial=0.0)))
