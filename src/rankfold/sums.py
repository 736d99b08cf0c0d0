"""Compiled sums that may be reassociated, and so vectorised, because their loops write nothing.

In a loop that also writes, the compiler falls back to another order where its check for overlapping arrays fails, which
depends on where they happen to lie in memory, and the last bits with it. All sums are in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

FREE = {"reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_absolute(values: Array) -> float:
    """Σ |v|."""
    total = 0.0
    for j in range(len(values)):
        total += abs(values[j])
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_weighted(values: Array, weights: Array) -> float:
    """Σ w|v|."""
    total = 0.0
    for j in range(len(values)):
        total += abs(values[j]) * weights[j]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def dot(one: Array, other: Array) -> float:
    """Σ u v."""
    total = 0.0
    for j in range(len(one)):
        total += one[j] * other[j]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_primal(v: Array, a: Array, e: Array) -> float:
    """‖V - A - E‖²."""
    total = 0.0
    for j in range(len(v)):
        z = v[j] - e[j] - a[j]
        total += z * z
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def sum_dual(y: Array, x: Array, a: Array, mu: float) -> float:
    """‖Y - μ (X - A)‖²."""
    total = 0.0
    for j in range(len(y)):
        s = y[j] - mu * (x[j] - a[j])
        total += s * s
    return total
