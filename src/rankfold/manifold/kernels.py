"""The neighbour-preserving embedding, compiled: who is near, and the work on a run of images or of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import PIECE, combine, dots

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def inverse_norms(gram: Floats) -> Floats:
    """1/‖A_i‖ (n,) from A A', zero for a zero row."""
    norms, largest = np.empty(len(gram)), 1e-300
    for i in range(len(gram)):
        norms[i] = np.sqrt(max(gram[i, i], 0.0))
        largest = max(largest, norms[i])
    for i in range(len(gram)):
        norms[i] = 1 / norms[i] if norms[i] > 1e-12 * largest else 0.0
    return norms


@njit(cache=True, nogil=True)
def chords(gram: Floats) -> Floats:
    """Euclidean distances (n, n) between the rows of A over their norms, from A A'; a zero row is far from all."""
    over, out = inverse_norms(gram), np.empty(gram.shape)
    for i in range(len(gram)):
        for j in range(len(gram)):
            distance = np.sqrt(max(2 - 2 * (gram[i, j] * over[i] * over[j]), 0.0))
            dead = over[i] == 0 or over[j] == 0
            out[i, j] = (
                0.0 if i == j else 4.0 if dead else distance
            )  # 4 is beyond the sphere's diameter
    return out


@njit(cache=True, nogil=True)
def smallest(distances: Floats, k: int) -> Any:
    """Where the k smallest values of every row but for the diagonal are (n, k), in order, the first of equals first.

    And what they are.
    """
    out, lengths = np.empty((len(distances), k), np.intp), np.empty((len(distances), k))
    for i in range(len(distances)):
        row, found, count = distances[i], out[i], 0
        for j in range(len(row)):
            if j == i or (count == k and row[j] >= row[found[k - 1]]):
                continue
            place = min(count, k - 1)
            while place > 0 and row[j] < row[found[place - 1]]:
                found[place] = found[place - 1]
                place -= 1
            found[place] = j
            count = min(count + 1, k)
        for place in range(k):
            lengths[i, place] = row[found[place]]
    return out, lengths


@njit(cache=True, nogil=True)
def inliers(
    sparse: Array,
    valid: npt.NDArray[np.bool_],
    alpha: float,
    window: int,
    shape: Any,
    out: Array,
    room: Array,
) -> None:
    """ω (m,): 0 where a pixel is missing or the window around it is mostly error, else 1.

    ``sparse`` (m,) is row i of E; a pixel is in error above ``alpha``; edges are replicated. An empty ``valid`` = all.
    The votes are counted down the columns, then along the rows, each in a few long sums over the picture as one row,
    in which only the ends of the rows come out wrong. ``room`` is what :func:`room_for` makes.
    """
    channels, height, width = shape
    reach, size = window // 2, height * width
    half = np.uint16((window * window + 1) // 2)
    flags, down, votes = room[0], room[1, reach : reach + size], room[0, :size]
    for c in range(channels):
        channel = slice(c * size, (c + 1) * size)
        errors, here, picture = flags[reach * width :], out[channel], sparse[channel]
        for k in range(size):
            errors[k] = abs(picture[k]) > alpha
        for y in range(reach):
            for x in range(width):
                flags[y * width + x] = errors[x]
                errors[size + y * width + x] = errors[size - width + x]
        add_windows(flags, window, width, down)
        add_windows(room[1], window, 1, votes)
        for y in range(height):
            mend_ends(down[y * width : (y + 1) * width], reach, votes[y * width : (y + 1) * width])
        for k in range(size):
            here[k] = votes[k] < half
    if valid.size > 0:
        for k in range(len(out)):
            out[k] &= valid[k]


@njit(cache=True, nogil=True)
def room_for(window: int, shape: Any) -> Array:
    """Two pictures as long rows, with room for half a window before and after."""
    _, height, width = shape
    return np.zeros((2, (height + window) * width + window), np.uint16)


@njit(cache=True, nogil=True)
def add_windows(values: Array, window: int, step: int, out: Array) -> None:
    """Sums of ``window`` values that lie ``step`` apart."""
    size = len(out)
    for k in range(size):
        out[k] = values[k]
    for b in range(1, window):
        shifted = values[b * step : b * step + size]
        for k in range(size):
            out[k] += shifted[k]


@njit(cache=True, nogil=True)
def mend_ends(row: Array, reach: int, out: Array) -> None:
    """Sums over 2 reach + 1 values of a row whose first and last are repeated, for the places that need those."""
    last = len(row) - 1
    left, right = (reach + 1) * row[0], (reach + 1) * row[last]
    for k in range(1, reach + 1):
        left += row[min(k, last)]
        right += row[max(last - k, 0)]
    for x in range(min(reach, last + 1)):
        out[x], out[last - x] = left, right
        left += row[min(x + 1 + reach, last)]
        left -= row[0]
        right += row[max(last - x - 1 - reach, 0)]
        right -= row[last]


@njit(cache=True, nogil=True)
def normal_equations(
    A: Array,
    gram: Floats,
    over: Floats,
    neighbours: Array,
    target: Array,
    omega: Array,
    matrix: Floats,
    right: Floats,
    few: Array,
    values: Array,
) -> None:
    """The ``matrix`` (k, k) Σ_p ω a_i a_j and the ``right`` side (k,) Σ_p ω a_i v, with a = A / ‖A‖.

    Without ω, the matrix is part of the Gram matrix of A, and ``right`` holds Σ_p A_i v on entry; so only the pixels
    that are left out are summed up and taken away, or those that are in where they are fewer. ``few`` (m,), unsigned so
    that no index counts from the end, and ``values`` (k+1, m) are room for them. ``over`` is 1/‖A‖.
    """
    k, m = len(neighbours), len(target)
    for sought in range(2):
        count = find(omega, sought, few)
        if 2 * count <= m:
            break
    for i in range(k + 1):
        row = A[neighbours[i]] if i < k else target
        for p in range(count):
            values[i, p] = row[few[p]]
    sums, every = np.zeros((k, k + 1)), np.arange(k + 1)
    for start in range(0, count, PIECE):
        for i in range(k):
            dots(
                values, every[i:], start, values[i, start : min(start + PIECE, count)], sums[i, i:]
            )
    for i in range(k):
        scale = over[neighbours[i]]
        for j in range(i, k + 1):
            total = sums[i, j]
            if not sought:
                total = (gram[neighbours[i], neighbours[j]] if j < k else right[i]) - total
            if j < k:
                matrix[i, j] = matrix[j, i] = total * scale * over[neighbours[j]]
            else:
                right[i] = total * scale


@njit(cache=True, nogil=True)
def find(flags: Array, sought: int, out: Array) -> int:
    """Write where flags (bytes, 0 or 1) have the value sought to ``out``, return how many. Skips eight at a time."""
    others = np.uint64(0x0101010101010101 * (1 - sought))
    count, whole = 0, len(flags) // 8 * 8
    words = flags[:whole].view(np.uint64)
    for w in range(len(words)):
        if words[w] != others:
            for p in range(8 * w, 8 * w + 8):
                out[count] = p
                count += flags[p] == sought
    for p in range(whole, len(flags)):
        if flags[p] == sought:
            out[count] = p
            count += 1
    return count


@njit(cache=True, nogil=True)
def right_sides(A: Array, V: Array, nearest: Array, first: int, last: int) -> Floats:
    """Σ_p A_j V_i (n, k) over some pixels, j the neighbours of i; a piece of all images at a time stays in cache."""
    out = np.zeros(nearest.shape)
    for start in range(first, last, PIECE):
        end = min(start + PIECE, last)
        for i in range(len(A)):
            dots(A, nearest[i], start, V[i, start:end], out[i])
    return out


@njit(cache=True, nogil=True)
def systems(
    A: Array,
    E: Array,
    V: Array,
    valid: npt.NDArray[np.bool_],
    gram: Floats,
    over: Floats,
    nearest: Array,
    alphas: Floats,
    ridge: float,
    window: int,
    shape: Any,
    first: int,
    last: int,
    matrices: Floats,
    right: Floats,
) -> None:
    """Normal equations of a run of images, each off the support of its own error.

    They are written to ``matrices`` (n, k, k) and ``right`` (n, k), which has the sums over all pixels on entry. The
    ``ridge`` is a share of the mean diagonal of a matrix.
    """
    k, m = nearest.shape[1], A.shape[1]
    omega, few, values = (
        np.empty(m, np.uint8),
        np.empty(m, np.uint64),
        np.empty((k + 1, m), A.dtype),
    )
    room = room_for(window, shape)
    for i in range(first, last):
        inliers(E[i], valid[i], alphas[i], window, shape, omega, room)
        normal_equations(A, gram, over, nearest[i], V[i], omega, matrices[i], right[i], few, values)
        trace = 0.0
        for j in range(k):
            trace += matrices[i, j, j]
        for j in range(k):
            matrices[i, j, j] += ridge * trace / k + 1e-300


@njit(cache=True, nogil=True)
def embed(
    A: Array,
    nearest: Array,
    weights: Floats,
    alphas: Floats,
    keep: float,
    first: int,
    last: int,
    out: Array,
) -> None:
    """Φ_i = M_1 + ε' S_α[A_i - M_1] with M_1 = Σ_j w_j A_j for some pixels of all images."""
    share = A.dtype.type(keep)
    for start in range(first, last, PIECE):
        end = min(start + PIECE, last)
        for i in range(len(A)):
            to, own, limit = out[i, start:end], A[i, start:end], A.dtype.type(alphas[i])
            combine(weights[i], A, nearest[i], start, to)
            for p in range(end - start):
                rest = own[p] - to[p]
                to[p] += share * (rest - min(max(rest, -limit), limit))
