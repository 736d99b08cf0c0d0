"""Compiled sums that may be reassociated, and so vectorised, because their loops write nothing.

In a loop that also writes, the compiler falls back to another order where its check for overlapping arrays fails, which
depends on where they happen to lie in memory, and the last bits with it.

Sums of a piece are in the precision of the data, for short pieces; whoever adds pieces up does so in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

FREE = {"reassoc", "nsz"}
PIECE = (
    512  # values of a row that are done at a time: a few such pieces fit into the first-level cache
)


@njit(cache=True, nogil=True)
def dot(one: Array, other: Array) -> float:
    """Σ u v of any length."""
    total = 0.0
    for first in range(0, len(one), PIECE):
        total += dot_piece(one[first : first + PIECE], other[first : first + PIECE])
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def dot_piece(one: Array, other: Array) -> Any:
    """Σ u v."""
    total = one.dtype.type(0)
    for j in range(len(one)):
        total += one[j] * other[j]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_absolute(values: Array) -> Any:
    """Σ |v|."""
    total = values.dtype.type(0)
    for j in range(len(values)):
        total += abs(values[j])
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_weighted(values: Array, weights: Array) -> Any:
    """Σ w|v|."""
    total = values.dtype.type(0)
    for j in range(len(values)):
        total += abs(values[j]) * weights[j]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_primal(v: Array, a: Array, e: Array) -> Any:
    """‖V - A - E‖²."""
    total = v.dtype.type(0)
    for j in range(len(v)):
        z = v[j] - e[j] - a[j]
        total += z * z
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_dual(y: Array, x: Array, a: Array, mu: float) -> Any:
    """‖Y - μ (X - A)‖², μ in the precision of the data."""
    total = y.dtype.type(0)
    for j in range(len(y)):
        s = y[j] - mu * (x[j] - a[j])
        total += s * s
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def dot_four(a: Array, b: Array, c: Array, d: Array, y: Array) -> Any:
    """Four dot products with the same y, which is loaded once."""
    zero = y.dtype.type(0)
    s, t, u, v = zero, zero, zero, zero
    for j in range(len(y)):
        s += a[j] * y[j]
        t += b[j] * y[j]
        u += c[j] * y[j]
        v += d[j] * y[j]
    return s, t, u, v


@njit(cache=True, nogil=True)
def dots(rows: Array, chosen: Array, first: int, y: Array, out: Array) -> None:
    """out_k += Σ rows_k y for the ``chosen`` rows, from column ``first`` on: of a piece."""
    p, last = len(chosen), first + len(y)
    for k in range(0, p - 3, 4):
        s, t, u, v = dot_four(
            rows[chosen[k], first:last],
            rows[chosen[k + 1], first:last],
            rows[chosen[k + 2], first:last],
            rows[chosen[k + 3], first:last],
            y,
        )
        out[k] += s
        out[k + 1] += t
        out[k + 2] += u
        out[k + 3] += v
    for k in range(p - p % 4, p):
        out[k] += dot_piece(rows[chosen[k], first:last], y)


@njit(cache=True, nogil=True)
def combine(weights: Array, rows: Array, chosen: Array, first: int, out: Array) -> None:
    """Σ_k weights_k rows_k for the ``chosen`` rows, from column ``first`` on; four rows a loop, to write less often."""
    p, size, last = len(chosen), len(out), first + len(out)
    kind = out.dtype.type
    if p < 4:
        out[:] = 0
    for k in range(0, p - 3, 4):
        one, two = rows[chosen[k], first:last], rows[chosen[k + 1], first:last]
        three, four = rows[chosen[k + 2], first:last], rows[chosen[k + 3], first:last]
        a, b, c, d = (
            kind(weights[k]),
            kind(weights[k + 1]),
            kind(weights[k + 2]),
            kind(weights[k + 3]),
        )
        if k == 0:
            for j in range(size):
                out[j] = a * one[j] + b * two[j] + c * three[j] + d * four[j]
        else:
            for j in range(size):
                out[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
    k = p - p % 4
    if p % 4 >= 2:
        one, two = rows[chosen[k], first:last], rows[chosen[k + 1], first:last]
        a, b = kind(weights[k]), kind(weights[k + 1])
        for j in range(size):
            out[j] += a * one[j] + b * two[j]
    if p % 2:
        one, a = rows[chosen[p - 1], first:last], kind(weights[p - 1])
        for j in range(size):
            out[j] += a * one[j]
