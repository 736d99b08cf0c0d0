"""A robust fit of pictures to a basis of other pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.settings import BasisSettings
from rankfold.stack import power_of_two

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Rows below which the products of all pairs of basis rows are more to read than they save.
FEW = 4

# Of the largest value: a residual below this is rounding, however clean the fitted rows were.
ROUNDING = 1e-12

# A scale whose square is still larger than zero, in double and in single precision.
LEAST_SCALE = 1e-150
LEAST_SINGLE_SCALE = 1e-18


@dataclass(frozen=True)
class Basis:
    """A basis B ready for weighted least squares.

    B diag(w) B' is linear in the weights w, so the products of all pairs of rows are kept.
    """

    rows: Array  # B, r x m, orthonormal
    pairs: Array  # r (r + 1) / 2 x m: products of its rows
    scale: float  # c of an ordinary residual
    rounds: int = BasisSettings.rounds  # of the reweighted fit

    @classmethod
    def of(cls, rows: Array, scale: float, rounds: int = BasisSettings.rounds) -> Basis:
        """Multiply all pairs of rows."""
        r, m = rows.shape
        pairs = np.empty((r * (r + 1) // 2, m), rows.dtype)
        done = 0
        for k in range(r):
            np.multiply(rows[k], rows[k:], out=pairs[done : done + r - k])
            done += r - k
        return cls(rows, pairs, scale, rounds)

    def normal(self, weight: Array) -> Floats:
        """B diag(w) B' (k, r, r) for weights (k, m), with a small ridge."""
        r = len(self.rows)
        if len(weight) < FEW:
            products = [(self.rows * row) @ self.rows.T for row in weight]
            matrices = np.stack([product.astype(np.float64, copy=False) for product in products])
        else:
            matrices = (weight @ self.pairs.T)[:, pair_of(r)].astype(np.float64, copy=False)
        return matrices + ridge_for(self.rows.dtype) * np.eye(r)

    def residual(self, rows: Array, valid: Bools, rounds: int, scale: float) -> Array:
        """Residual (k, m) of rows (k, m) after a reweighted least-squares fit of another scale."""
        rows = rows.astype(self.rows.dtype, copy=False)
        return rows - self._fit(rows, valid, rounds, scale**2)

    def cost(self, rows: Array, valid: Bools) -> Floats:
        """Geman-McClure cost (k,) in 0..1 of rows (k, m) over their valid pixels, once fitted."""
        rows = rows.astype(self.rows.dtype, copy=False)
        return self.misfit(rows, self._fit(rows, valid, self.rounds, self.scale**2), valid)

    def misfit(self, rows: Array, fitted: Array, valid: Bools) -> Floats:
        """Mean (k,) of r²/(r² + c²) over the valid pixels of residuals r = rows - fitted."""
        from rankfold.align.kernels import misfit

        square = self.scale**2
        return np.array([misfit(*one, square) for one in zip(rows, fitted, valid, strict=True)])

    def _fit(self, rows: Array, valid: Bools, rounds: int, square: float) -> Array:
        """What the basis makes of rows (k, m): first by all valid pixels, then by those that fit.

        ``square`` is c², the residual at which a pixel has a quarter of its weight.
        """
        from rankfold.align.kernels import reweigh

        weight = valid.astype(rows.dtype)
        weighted = rows * valid
        fitted = np.empty_like(rows)
        whole = bool(valid.all())
        if whole:
            # The basis is orthonormal: the first fit needs no equations.
            np.matmul(rows @ self.rows.T, self.rows, out=fitted)
        for done in range(int(whole), rounds):
            if done:
                reweigh(rows, fitted, valid, square, weight, weighted)
            right = (weighted @ self.rows.T).astype(np.float64, copy=False)
            coefficients = np.linalg.solve(self.normal(weight), right[:, :, None])[:, :, 0]
            np.matmul(coefficients.astype(rows.dtype, copy=False), self.rows, out=fitted)
        return fitted


@cache
def pair_of(r: int) -> npt.NDArray[np.int_]:
    """Where a Basis of r rows has the product of its rows i and j: (r, r)."""
    places = np.empty((r, r), dtype=int)
    upper = np.triu_indices(r)
    # A Basis has the products in the order of the upper triangle; the lower one mirrors it.
    places[upper] = np.arange(len(upper[0]))
    places.T[upper] = places[upper]
    return places


def ridge_for(dtype: npt.DTypeLike) -> float:
    """What is added to a normal matrix of unit diagonal: above the rounding of its sums."""
    return max(1e-9, 10 * float(np.finfo(dtype).eps))


def trust_in(residual: Array, valid: Bools, scale: float) -> Array:
    """Geman-McClure weights (c²/(c² + r²))² of residuals; zero where a value is not valid."""
    return np.asarray(valid * (scale**2 / (scale**2 + residual**2)) ** 2)


def ordinary_residual(residuals: Floats, share: float = 1.0) -> float:
    """The scale c, in the units of the residuals, up to which a residual is an ordinary one.

    The larger one of the robust scale and a ``share`` of the root mean square.
    """
    absolute = np.abs(residuals)
    robust = 2 * 1.4826 * float(np.median(absolute))
    return max(robust, share * float(np.sqrt((absolute**2).mean())))


def robust_spread(values: Floats) -> float:
    """Standard deviation (of values that are mostly normal) from the median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def leading_rows(rows: Array, rank: int) -> Array:
    """Leading right singular vectors (r, m) of rows, signed so that they sum up positive."""
    Vt = np.linalg.svd(rows, full_matrices=False)[2][:rank]
    signs = np.where(Vt.sum(axis=1) < 0, -1, 1)
    return np.asarray(Vt * signs[:, None], dtype=rows.dtype)


def unit_rows(pictures: Array, aligned: Array) -> tuple[Array, Bools]:
    """Rows (n, c h w) over the norms of the aligned pictures, zero where unknown, and validity."""
    n = len(pictures)

    def rows(stack: Array) -> Array:
        return (np.moveaxis(stack, -1, 1) if stack.ndim == 4 else stack).reshape(n, -1)

    seen = rows(aligned)
    # A power of two changes no digit, and keeps squares of tiny or huge values in range.
    unit = power_of_two(seen)
    norms = np.sqrt(np.nansum((seen / unit) ** 2, axis=1, keepdims=True))
    # A picture that is zero all over stays so.
    norms = np.where(norms > 0, norms, 1)
    return np.nan_to_num(rows(pictures) / unit / norms), np.isfinite(seen)


def misfit_of(rows: Array, fitted: Array, valid: Bools, scale: float | Floats) -> Floats:
    """The same mean as :meth:`Basis.misfit` (k,), of rows of any size; rounding is no misfit.

    ``scale`` is one for all rows, or one each (k,).
    """
    from rankfold.align.kernels import misfit

    found = []
    scales = np.broadcast_to(scale, len(rows))
    for row, fit, seen, one in zip(rows, fitted, valid, scales, strict=True):
        level = float(np.abs(row).max(initial=0))
        ordinary = max(float(one), ROUNDING * level)
        unit = power_of_two(np.array([level, float(np.abs(fit).max(initial=0)), ordinary]))
        if unit != 1:
            row = row.astype(np.float64) / unit
            fit = fit.astype(np.float64) / unit
        found.append(misfit(row, fit, seen, max(ordinary / unit, LEAST_SCALE) ** 2))
    return np.array(found)


def annealed_fit(
    rows: Array, basis: Array, valid: Bools, scale: float | Floats
) -> tuple[Array, Array]:
    """Coefficients (n, r) and fit (n, m) of rows that may be far from the basis.

    Reweighted least squares, from plain down to the ordinary residual ``scale`` (one for all rows,
    or one each) by factors of four; one sample at a time, so that the others change nothing.
    """
    scales = np.broadcast_to(scale, len(rows))
    coefficients = np.zeros((len(rows), len(basis)), dtype=rows.dtype)
    wide = basis.astype(np.float64, copy=False)
    ridge = 1e-12 * np.eye(len(wide))
    for i, given in enumerate(rows.astype(np.float64, copy=False)):
        # A power of two changes no digit, and keeps squares of tiny or huge values in range.
        unit = power_of_two(given)
        row = given / unit
        level = float(np.abs(row).max())
        if level == 0 or not len(basis):
            continue
        ordinary = max(float(scales[i]) / unit, ROUNDING * level)
        weight = valid[i].astype(np.float64)
        # The first fit trusts every value; the last one those whose residual is ordinary.
        while True:
            weighted = wide * weight
            fitted = np.linalg.solve(weighted @ wide.T + ridge, weighted @ row)
            weight = trust_in(row - fitted @ wide, valid[i], level)
            if level <= ordinary:
                break
            level = max(level / 4, ordinary)
        coefficients[i] = unit * fitted
    return coefficients, (coefficients @ wide).astype(rows.dtype, copy=False)
