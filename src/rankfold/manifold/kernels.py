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
def chords(gram: Floats, inverse_norms: Floats, out: Floats) -> None:
    """Distances (n, n) of vectors made unit, from their inner products before; a zero one is far from all."""
    for i in range(len(gram)):
        for j in range(len(gram)):
            distance = np.sqrt(max(2 - 2 * (gram[i, j] * inverse_norms[i] * inverse_norms[j]), 0.0))
            dead = inverse_norms[i] == 0 or inverse_norms[j] == 0
            out[i, j] = 0.0 if i == j else 4.0 if dead else distance  # 4 is beyond the sphere's diameter


@njit(cache=True, nogil=True)
def smallest(distances: Floats, out: Array) -> None:
    """Where in every row, but for the diagonal, its smallest values are (n, k), in order, of equal ones the first."""
    k = out.shape[1]
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


@njit(cache=True, nogil=True)
def inliers(
    sparse: Array, valid: npt.NDArray[np.bool_], alpha: float, window: int, shape: Any, out: Array, room: Array
) -> None:
    """ω (m,): 0 where a pixel is missing or the window around it is mostly error, else 1.

    ``sparse`` (m,) is row i of E; a pixel is in error above ``alpha``; edges are replicated. An empty ``valid`` = all.
    The votes are counted with two long sums over the padded picture as one row, first along x, then along y. ``room``
    is what :func:`room_for` makes.
    """
    channels, height, width = shape
    reach = window // 2
    half = (window * window + 1) // 2
    stride = width + 2 * reach
    flags, along = room[0], room[1]
    for k in range(len(out)):
        out[k] = abs(sparse[k]) > alpha
    for c in range(channels):
        errors = out[c * height * width : (c + 1) * height * width]
        for y in range(height):
            pad(errors[y * width : (y + 1) * width], reach, flags[(y + reach) * stride : (y + reach + 1) * stride])
        for y in range(reach):
            pad(errors[:width], reach, flags[y * stride : (y + 1) * stride])
            last = (height + reach + y) * stride
            pad(errors[(height - 1) * width :], reach, flags[last : last + stride])
        add_windows(flags, window, 1, along[: (height + 2 * reach) * stride])
        add_windows(along, window, stride, flags[: height * stride])
        for y in range(height):
            votes, to = flags[y * stride : y * stride + width], errors[y * width : (y + 1) * width]
            for x in range(width):
                to[x] = votes[x] < half
    if valid.size > 0:
        for k in range(len(out)):
            out[k] &= valid[k]


@njit(cache=True, nogil=True)
def room_for(window: int, shape: Any) -> Array:
    """Two padded pictures as long rows, one window longer."""
    _, height, width = shape
    reach = window // 2
    return np.zeros((2, (height + 2 * reach) * (width + 2 * reach) + window), np.uint16)


@njit(cache=True, nogil=True)
def pad(row: Array, reach: int, out: Array) -> None:
    """A row with its ends repeated ``reach`` times."""
    width = len(row)
    middle = out[reach : reach + width]
    for x in range(width):
        middle[x] = row[x]
    for x in range(reach):
        out[x] = row[0]
        out[reach + width + x] = row[width - 1]


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
def normal_equations(
    A: Array, gram: Floats, inverse_norms: Floats, neighbours: Array, target: Array, omega: Array, system: Floats
) -> None:
    """G and right side in one (k, k+1) array: Σ_p ω a_i a_j and Σ_p ω a_i v, with a = A / ‖A‖.

    Without ω, G is part of the Gram matrix of A, and the last column of ``system`` holds Σ_p A_i v on entry; so only
    the pixels that are left out are summed up and taken away, or those that are in where they are fewer.
    """
    k, m = len(neighbours), len(target)
    kept = 0
    for p in range(m):
        kept += omega[p]
    sought = 1 if 2 * kept < m else 0
    few = np.empty(m, np.int64)
    count = find(omega, sought, few)
    values = np.empty((k + 1, count), A.dtype)
    for i in range(k + 1):
        row = A[neighbours[i]] if i < k else target
        for p in range(count):
            values[i, p] = row[few[p]]
    sums, every = np.zeros((k, k + 1)), np.arange(k + 1)
    for start in range(0, count, PIECE):
        for i in range(k):
            dots(values, every[i:], start, values[i, start : start + PIECE], sums[i, i:])
    for i in range(k):
        scale = inverse_norms[neighbours[i]]
        for j in range(i, k + 1):
            total = sums[i, j]
            if not sought:
                total = (gram[neighbours[i], neighbours[j]] if j < k else system[i, k]) - total
            if j < k:
                system[i, j] = system[j, i] = total * scale * inverse_norms[neighbours[j]]
            else:
                system[i, k] = total * scale


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
    inverse_norms: Floats,
    nearest: Array,
    right: Floats,
    alphas: Floats,
    window: int,
    shape: Any,
    first: int,
    last: int,
) -> Floats:
    """Normal equations (last - first, k, k+1) of a run of images, each off the support of its own error."""
    k = nearest.shape[1]
    out = np.empty((last - first, k, k + 1))
    omega, room = np.empty(A.shape[1], np.uint8), room_for(window, shape)
    for i in range(first, last):
        out[i - first, :, k] = right[i]
        inliers(E[i], valid[i], alphas[i], window, shape, omega, room)
        normal_equations(A, gram, inverse_norms, nearest[i], V[i], omega, out[i - first])
    return out


@njit(cache=True, nogil=True)
def embed(
    A: Array, nearest: Array, weights: Floats, alphas: Floats, keep: float, first: int, last: int, out: Array
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
