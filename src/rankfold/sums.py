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
PIECE = 512  # values of a row that are done at a time: a few such pieces fit into the first-level cache


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


@njit(cache=True, nogil=True)
def combine(weights: Array, rows: Array, first: int, out: Array) -> None:
    """Σ_k weights_k rows_k over ``len(out)`` columns from ``first`` on, two rows a loop: it writes half as often."""
    size = len(out)
    p = rows.shape[0]
    out[:] = 0
    for k in range(0, p - 1, 2):
        a, b = out.dtype.type(weights[k]), out.dtype.type(weights[k + 1])
        one, two = rows[k, first : first + size], rows[k + 1, first : first + size]
        for j in range(size):
            out[j] += a * one[j] + b * two[j]
    if p % 2:
        a, one = out.dtype.type(weights[p - 1]), rows[p - 1, first : first + size]
        for j in range(size):
            out[j] += a * one[j]
