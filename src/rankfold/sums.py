"""Compiled sums over pieces of rows, the innermost loops of the solver and of the warp.

How to read this file. A row of n x m data has up to millions of values. It is cut into *pieces* of
``PIECE`` values; a function here sums up one piece, in the precision of the data, and whoever adds
the pieces up does so in double precision. ``dot`` is the exception: it takes a row of any length.

The sums may be reassociated (``FREE``), which lets the compiler vectorise them, because their loops
write nothing. In a loop that also writes, the compiler would check whether the arrays overlap and
sum in another order where they might; that depends on where they happen to lie in memory, and the
last bits would depend on it too. ``combine`` writes, so it may not be reassociated.

They are always compiled into their callers (``forceinline``). Otherwise there would be two machine
codes of each, one of its own and one inside a caller, which sum in different orders, and which one
runs would depend on whether a process compiles or finds its kernels in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from rankfold.compiled import compiled

Array = npt.NDArray[Any]

# What the compiler may do with a sum: change its order, and ignore the sign of zero.
FREE = {"reassoc", "nsz"}

# Values of a row that are done at a time: a few such pieces fit into the first-level cache.
PIECE = 512


@compiled()
def dot(one: Array, other: Array) -> float:
    """Return Σ u v of two rows (m,) of any length, in double precision over the pieces."""
    total = 0.0
    for first in range(0, len(one), PIECE):
        total += dot_piece(one[first : first + PIECE], other[first : first + PIECE])
    return total


@compiled(fastmath=FREE, forceinline=True)
def dot_piece(one: Array, other: Array) -> Any:
    """Return Σ u v of two pieces (k,)."""
    total = one.dtype.type(0)
    for j in range(len(one)):
        total += one[j] * other[j]
    return total


@compiled(fastmath=FREE, forceinline=True)
def sum_absolute(values: Array) -> Any:
    """Return Σ |v| of a piece (k,)."""
    total = values.dtype.type(0)
    for j in range(len(values)):
        total += abs(values[j])
    return total


@compiled(fastmath=FREE, forceinline=True)
def sum_weighted(values: Array, weights: Array) -> Any:
    """Return Σ w |v| of two pieces (k,)."""
    total = values.dtype.type(0)
    for j in range(len(values)):
        total += abs(values[j]) * weights[j]
    return total


@compiled(fastmath=FREE, forceinline=True)
def sum_primal(v: Array, a: Array, e: Array) -> Any:
    """Return ‖V - A - E‖², the squared primal residual of three pieces (k,); f of Eq. 2."""
    total = v.dtype.type(0)
    for j in range(len(v)):
        z = v[j] - e[j] - a[j]
        total += z * z
    return total


@compiled(fastmath=FREE, forceinline=True)
def sum_dual(y: Array, x: Array, a: Array, mu: float) -> Any:
    """Return ‖Y - μ (X - A)‖² of three pieces (k,), with μ in the precision of the data."""
    total = y.dtype.type(0)
    for j in range(len(y)):
        s = y[j] - mu * (x[j] - a[j])
        total += s * s
    return total


@compiled(fastmath=FREE, forceinline=True)
def dot_four(a: Array, b: Array, c: Array, d: Array, y: Array) -> Any:
    """Return four dot products with the same piece y (k,), which is loaded only once."""
    zero = y.dtype.type(0)
    with_a = zero
    with_b = zero
    with_c = zero
    with_d = zero
    for j in range(len(y)):
        with_a += a[j] * y[j]
        with_b += b[j] * y[j]
        with_c += c[j] * y[j]
        with_d += d[j] * y[j]
    return with_a, with_b, with_c, with_d


@compiled()
def dots(rows: Array, chosen: Array, first: int, y: Array, out: Array) -> None:
    """Add to ``out`` (p,) the dot products of ``chosen`` (p,) rows with one piece y (k,).

    ``rows`` is (r, m); the piece begins at column ``first``.
    """
    p = len(chosen)
    last = first + len(y)
    # Four rows at a time, then the one to three that are left.
    for k in range(0, p - 3, 4):
        with_a, with_b, with_c, with_d = dot_four(
            rows[chosen[k], first:last],
            rows[chosen[k + 1], first:last],
            rows[chosen[k + 2], first:last],
            rows[chosen[k + 3], first:last],
            y,
        )
        out[k] += with_a
        out[k + 1] += with_b
        out[k + 2] += with_c
        out[k + 3] += with_d
    for k in range(p - p % 4, p):
        out[k] += dot_piece(rows[chosen[k], first:last], y)


@compiled()
def combine(weights: Array, rows: Array, chosen: Array, first: int, out: Array) -> None:
    """Write to ``out`` (k,) the sum Σ_i weights_i rows_i of the ``chosen`` (p,) rows.

    ``weights`` is (p,) and ``rows`` (r, m); the piece begins at column ``first``. Four rows are
    added in one loop, then two, then one, so that ``out`` is written less often.
    """
    p = len(chosen)
    size = len(out)
    last = first + len(out)
    kind = out.dtype.type
    if p < 4:
        out[:] = 0
    for k in range(0, p - 3, 4):
        one = rows[chosen[k], first:last]
        two = rows[chosen[k + 1], first:last]
        three = rows[chosen[k + 2], first:last]
        four = rows[chosen[k + 3], first:last]
        a = kind(weights[k])
        b = kind(weights[k + 1])
        c = kind(weights[k + 2])
        d = kind(weights[k + 3])
        # The first four rows overwrite what was there.
        if k == 0:
            for j in range(size):
                out[j] = a * one[j] + b * two[j] + c * three[j] + d * four[j]
        else:
            for j in range(size):
                out[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
    k = p - p % 4
    if p % 4 >= 2:
        one = rows[chosen[k], first:last]
        two = rows[chosen[k + 1], first:last]
        a = kind(weights[k])
        b = kind(weights[k + 1])
        for j in range(size):
            out[j] += a * one[j] + b * two[j]
    if p % 2:
        one = rows[chosen[p - 1], first:last]
        a = kind(weights[p - 1])
        for j in range(size):
            out[j] += a * one[j]
