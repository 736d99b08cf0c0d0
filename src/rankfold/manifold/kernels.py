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
    counts = np.empty((height, width), np.int32)
    for c in range(channels):
        base = c * height * width
        for y in range(height):
            start = base + y * width
            running = 0
            for b in range(-reach, reach + 1):
                running += abs(sparse[start + min(max(b, 0), width - 1)]) > alpha
            counts[y, 0] = running
            for x in range(1, width):
                running += abs(sparse[start + min(x + reach, width - 1)]) > alpha
                running -= abs(sparse[start + max(x - reach - 1, 0)]) > alpha
                counts[y, x] = running
        for x in range(width):
            running = 0
            for a in range(-reach, reach + 1):
                running += counts[min(max(a, 0), height - 1), x]
            for y in range(height):
                if y > 0:
                    running += counts[min(y + reach, height - 1), x] - counts[max(y - reach - 1, 0), x]
                k = base + y * width + x
                out[k] = 0.0 if running >= half or (valid.size > 0 and not valid[k]) else 1.0


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


@njit(cache=True, nogil=True, fastmath=SUMS)
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
