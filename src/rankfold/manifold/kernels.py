"""The pixel work of the neighbour-preserving embedding, compiled: a run of images a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from rankfold.sums import dot

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

PIECE = 256  # pixels that are done at a time, for all images of a run: then the images they are near to stay in cache


@njit(cache=True, nogil=True)
def inliers(sparse: Array, valid: npt.NDArray[np.bool_], alpha: float, window: int, shape: Any, out: Array) -> None:
    """ω (m,): 0 where a pixel is missing or the window around it is mostly error, else 1.

    ``sparse`` (m,) is row i of E; a pixel is in error above ``alpha``; edges are replicated. An empty ``valid`` = all.
    The votes are counted with two long sums over the padded picture as one row, first along x, then along y.
    """
    channels, height, width = shape
    reach = window // 2
    half = (window * window + 1) // 2
    stride = width + 2 * reach
    size = (height + 2 * reach) * stride
    flags = np.zeros(size + window, np.uint16)
    along = np.empty(size, np.uint16)
    votes = np.empty(height * stride, np.uint16)
    for c in range(channels):
        base = c * height * width
        for y in range(height):
            row = flags[(y + reach) * stride : (y + reach + 1) * stride]
            errors = sparse[base + y * width : base + (y + 1) * width]
            for x in range(width):
                row[x + reach] = abs(errors[x]) > alpha
            row[:reach] = row[reach]
            row[width + reach :] = row[width + reach - 1]
        for y in range(reach):
            flags[y * stride : (y + 1) * stride] = flags[reach * stride : (reach + 1) * stride]
            last = (height + reach - 1) * stride
            flags[last + (y + 1) * stride : last + (y + 2) * stride] = flags[last : last + stride]
        along[:] = flags[:size]
        for b in range(1, window):
            shifted = flags[b : b + size]
            for k in range(size):
                along[k] += shifted[k]
        votes[:] = along[: height * stride]
        for a in range(1, window):
            shifted = along[a * stride : (a + height) * stride]
            for k in range(height * stride):
                votes[k] += shifted[k]
        for y in range(height):
            for x in range(width):
                out[base + y * width + x] = votes[y * stride + x] < half
    if valid.size > 0:
        for k in range(len(out)):
            if not valid[k]:
                out[k] = 0


@njit(cache=True, nogil=True)
def normal_equations(
    A: Array, gram: Floats, inverse_norms: Floats, neighbours: Array, target: Array, omega: Array, system: Floats
) -> None:
    """G and right side in one (k, k+1) array: Σ_p ω a_i a_j and Σ_p ω a_i v, with a = A / ‖A‖.

    Without ω, G is part of the Gram matrix of A, and the last column of ``system`` holds Σ_p A_i v on entry; so only
    the pixels that are left out are summed up and taken away, or those that are in where they are fewer.
    """
    k, m = len(neighbours), len(target)
    few = np.empty(m, np.int64)
    count, kept = 0, 0
    for p in range(m):
        kept += omega[p]
    sought = 1 if 2 * kept < m else 0
    for p in range(m):
        few[count] = p
        count += omega[p] == sought
    values = np.empty((k + 1, count), A.dtype)
    for i in range(k + 1):
        row = A[neighbours[i]] if i < k else target
        for p in range(count):
            values[i, p] = row[few[p]]
    for i in range(k):
        scale = inverse_norms[neighbours[i]]
        for j in range(i, k + 1):
            total = dot(values[i], values[j])
            if not sought:
                total = (gram[neighbours[i], neighbours[j]] if j < k else system[i, k]) - total
            if j < k:
                system[i, j] = system[j, i] = total * scale * inverse_norms[neighbours[j]]
            else:
                system[i, k] = total * scale


@njit(cache=True, nogil=True)
def systems(
    A: Array,
    E: Array,
    V: Array,
    valid: npt.NDArray[np.bool_],
    gram: Floats,
    inverse_norms: Floats,
    nearest: Array,
    alphas: Floats,
    window: int,
    shape: Any,
    first: int,
    last: int,
) -> Floats:
    """Normal equations (last - first, k, k+1) of a run of images, each off the support of its own error."""
    k, m = nearest.shape[1], A.shape[1]
    out = np.zeros((last - first, k, k + 1))
    for start in range(0, m, PIECE):
        end = min(start + PIECE, m)
        for i in range(first, last):
            for j in range(k):
                out[i - first, j, k] += dot(A[nearest[i, j], start:end], V[i, start:end])
    omega = np.empty(m, np.uint8)
    for i in range(first, last):
        inliers(E[i], valid[i], alphas[i], window, shape, omega)
        normal_equations(A, gram, inverse_norms, nearest[i], V[i], omega, out[i - first])
    return out


@njit(cache=True, nogil=True)
def embed(
    A: Array, nearest: Array, weights: Floats, alphas: Floats, keep: float, first: int, last: int, out: Array
) -> None:
    """Φ_i = M_1 + ε' S_α[A_i - M_1] with M_1 = Σ_j w_j A_j for a run of images; ``weights`` is (last - first, k)."""
    m, share = A.shape[1], A.dtype.type(keep)
    for start in range(0, m, PIECE):
        end = min(start + PIECE, m)
        for i in range(first, last):
            to, own, limit = out[i, start:end], A[i, start:end], A.dtype.type(alphas[i])
            combine(A, nearest[i], weights[i - first], start, to)
            for p in range(end - start):
                rest = own[p] - to[p]
                to[p] += share * (rest - min(max(rest, -limit), limit))


@njit(cache=True, nogil=True)
def combine(A: Array, chosen: Array, weights: Floats, start: int, out: Array) -> None:
    """Σ_j w_j A_j over ``len(out)`` pixels from ``start`` on, two images a loop."""
    k, size = len(chosen), len(out)
    out[:] = 0
    for j in range(0, k - 1, 2):
        v, w = A.dtype.type(weights[j]), A.dtype.type(weights[j + 1])
        one, two = A[chosen[j], start : start + size], A[chosen[j + 1], start : start + size]
        for p in range(size):
            out[p] += v * one[p] + w * two[p]
    if k % 2:
        w, one = A.dtype.type(weights[k - 1]), A[chosen[k - 1], start : start + size]
        for p in range(size):
            out[p] += w * one[p]
