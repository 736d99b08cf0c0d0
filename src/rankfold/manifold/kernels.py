"""The pixel work of the neighbour-preserving embedding, compiled: a run of images a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

SUMS = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True)
def inliers(sparse: Array, valid: npt.NDArray[np.bool_], alpha: float, window: int, shape: Any, out: Array) -> None:
    """ω (m,): 0 where a pixel is missing or the window around it is mostly error, else 1.

    ``sparse`` (m,) is row i of E; a pixel is in error above ``alpha``; edges are replicated. An empty ``valid`` = all.
    """
    channels, height, width = shape
    reach = window // 2
    half = (window * window + 1) // 2
    padded = np.empty(width + 2 * reach, np.int32)  # one row of flags, its ends replicated
    counts = np.empty((height, width), np.int32)
    total = np.empty(width, np.int32)
    for c in range(channels):
        base = c * height * width
        for y in range(height):
            for x in range(width):
                padded[x + reach] = abs(sparse[base + y * width + x]) > alpha
            padded[:reach] = padded[reach]
            padded[width + reach :] = padded[width + reach - 1]
            for x in range(width):
                counts[y, x] = padded[x]
            for b in range(1, window):
                for x in range(width):
                    counts[y, x] += padded[x + b]
        for y in range(height):
            total[:] = 0
            for a in range(-reach, reach + 1):
                row = min(max(y + a, 0), height - 1)
                for x in range(width):
                    total[x] += counts[row, x]
            for x in range(width):
                out[base + y * width + x] = 0.0 if total[x] >= half else 1.0
    if valid.size > 0:
        for k in range(len(out)):
            if not valid[k]:
                out[k] = 0.0


@njit(cache=True, nogil=True, fastmath=SUMS)
def normal_equations(A: Array, inverse_norms: Floats, neighbours: Array, target: Array, omega: Array) -> Floats:
    """G (k, k) and right side in one (k, k+1) array: Σ_p ω a_i a_j and Σ_p ω a_i v, with a = A / ‖A‖."""
    k, m = len(neighbours), len(target)
    system = np.zeros((k, k + 1))
    weighted = np.empty(m, A.dtype)
    for i in range(k):
        row = A[neighbours[i]]
        for p in range(m):
            weighted[p] = omega[p] * row[p]
        scale = inverse_norms[neighbours[i]]
        for j in range(i, k):
            other = A[neighbours[j]]
            total = 0.0
            for p in range(m):
                total += weighted[p] * other[p]
            system[i, j] = system[j, i] = total * scale * inverse_norms[neighbours[j]]
        total = 0.0
        for p in range(m):
            total += weighted[p] * target[p]
        system[i, k] = total * scale
    return system


@njit(cache=True, nogil=True)
def systems(
    A: Array,
    E: Array,
    V: Array,
    valid: npt.NDArray[np.bool_],
    inverse_norms: Floats,
    nearest: Array,
    alphas: Floats,
    window: int,
    shape: Any,
    first: int,
    last: int,
) -> Floats:
    """Normal equations (last - first, k, k+1) of a run of images, each off the support of its own error."""
    k = nearest.shape[1]
    out = np.empty((last - first, k, k + 1))
    omega = np.empty(A.shape[1], A.dtype)
    for i in range(first, last):
        inliers(E[i], valid[i], alphas[i], window, shape, omega)
        out[i - first] = normal_equations(A, inverse_norms, nearest[i], V[i], omega)
    return out


@njit(cache=True, nogil=True)
def embed_run(
    A: Array, nearest: Array, weights: Floats, alphas: Floats, keep: float, first: int, last: int, out: Array
) -> None:
    """Φ of a run of images; ``weights`` (last - first, k) belong to the rows of A as they are."""
    for i in range(first, last):
        embed(A, i, nearest[i], weights[i - first], alphas[i], keep, out[i])


@njit(cache=True, nogil=True)
def embed(A: Array, index: int, neighbours: Array, weights: Floats, alpha: float, keep: float, out: Array) -> None:
    """Φ_i = M_1 + ε' S_α[A_i - M_1] with M_1 = Σ_j w_j A_j."""
    out[:] = 0
    for j in range(len(neighbours)):
        row = A[neighbours[j]]
        w = A.dtype.type(weights[j])
        for p in range(len(out)):
            out[p] += w * row[p]
    own, a, e = A[index], A.dtype.type(alpha), A.dtype.type(keep)
    for p in range(len(out)):
        rest = own[p] - out[p]
        out[p] += e * (rest - min(max(rest, -a), a))
