"""The neighbour-preserving embedding, compiled: who is near, which pixels count, and the sums.

How to read it. A, V and E are n x b blocks of pixels of all images; ``nearest`` (n, k) has the
neighbours of every image; outputs are written in place. :mod:`rankfold.manifold.embedding` says
what is computed, and in which order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.sums import PIECE, combine, dots

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.integer[Any]]

# Times α: an error that can be a grain. The edges of shadows are smaller.
LARGE = 4.0


@compiled()
def inverse_norms(gram: Floats) -> Floats:
    """1/‖A_i‖ (n,) from A A', zero for a zero row."""
    norms = np.empty(len(gram))
    largest = 1e-300
    for i in range(len(gram)):
        norms[i] = np.sqrt(max(gram[i, i], 0.0))
        largest = max(largest, norms[i])
    for i in range(len(gram)):
        norms[i] = 1 / norms[i] if norms[i] > 1e-12 * largest else 0.0
    return norms


@compiled()
def chords(gram: Floats) -> Floats:
    """Euclidean distances (n, n) between the rows of A over their norms, from A A'.

    A zero row is far from all: 4 is beyond the sphere's diameter.
    """
    over = inverse_norms(gram)
    out = np.empty(gram.shape)
    for i in range(len(gram)):
        for j in range(len(gram)):
            distance = np.sqrt(max(2 - 2 * (gram[i, j] * over[i] * over[j]), 0.0))
            dead = over[i] == 0 or over[j] == 0
            out[i, j] = 4.0 if dead else distance
        out[i, i] = 0.0
    return out


@compiled()
def smallest(distances: Floats, k: int) -> Any:
    """Where the k smallest values of every row are (n, k), in order, and what they are.

    The diagonal does not count. The first of equals comes first.
    """
    out = np.empty((len(distances), k), np.intp)
    lengths = np.empty((len(distances), k))
    for i in range(len(distances)):
        row = distances[i]
        found = out[i]
        count = 0
        # Insertion into the short sorted list of those that were found so far.
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


@compiled()
def inliers(
    sparse: Array,
    valid: Bools,
    alpha: float,
    window: int,
    grains: float,
    pieces: Ints,
    out: Array,
    room: Array,
) -> None:
    """ω (b,) of one image: 0 where a pixel is missing or its window is mostly error, else 1.

    ``sparse`` is its row of E with the pixels around the block, ``pieces`` is what
    :func:`rankfold.manifold.vote.segments` makes. A pixel is in error above ``alpha``. A grain is 0
    too: a large error in a window of which errors fill less than ``grains``. An empty ``valid``
    means that all pixels are; ``room`` is what :func:`room_for` makes.
    """
    half = np.uint16((window * window + 1) // 2)
    few = grains * window * window
    for s in range(len(pieces)):
        begin, height, width, skipped, count, target = pieces[s]
        picture = sparse[begin : begin + height * width]
        votes = vote(picture, alpha, window, height, width, room)
        here = out[target : target + count]
        for k in range(count):
            wrong = votes[skipped + k]
            grain = (wrong < few) & (abs(picture[skipped + k]) > LARGE * alpha)
            here[k] = (wrong < half) & (not grain)
    if valid.size > 0:
        for k in range(len(out)):
            out[k] &= valid[k]


@compiled()
def vote(picture: Array, alpha: float, window: int, height: int, width: int, room: Array) -> Array:
    """How many pixels (h w,) of the window around every pixel are in error; edges are replicated.

    The votes are counted down the columns, then along the rows, each in a few long sums over the
    picture as one row, in which only the ends of the rows come out wrong and are mended.
    """
    reach = window // 2
    size = height * width
    flags = room[0]
    down = room[1, reach : reach + size]
    votes = room[0, :size]
    errors = flags[reach * width :]
    for k in range(size):
        errors[k] = abs(picture[k]) > alpha
    # The first row is repeated above the picture, the last one below it.
    for y in range(reach):
        for x in range(width):
            flags[y * width + x] = errors[x]
            errors[size + y * width + x] = errors[size - width + x]
    add_windows(flags, window, width, down)
    add_windows(room[1], window, 1, votes)
    for y in range(height):
        row = slice(y * width, (y + 1) * width)
        mend_ends(down[row], reach, votes[row])
    return votes


@compiled()
def room_for(window: int, pieces: Ints) -> Array:
    """Two pictures as long rows, with room for half a window before and after."""
    largest = 0
    for s in range(len(pieces)):
        height = pieces[s, 1]
        width = pieces[s, 2]
        largest = max(largest, (height + window) * width + window)
    return np.zeros((2, largest), np.uint16)


@compiled()
def add_windows(values: Array, window: int, step: int, out: Array) -> None:
    """Sums of ``window`` values that lie ``step`` apart."""
    size = len(out)
    for k in range(size):
        out[k] = values[k]
    for b in range(1, window):
        shifted = values[b * step : b * step + size]
        for k in range(size):
            out[k] += shifted[k]


@compiled()
def mend_ends(row: Array, reach: int, out: Array) -> None:
    """Sums over 2 reach + 1 values at both ends of a row, whose first and last are repeated."""
    last = len(row) - 1
    left = (reach + 1) * row[0]
    right = (reach + 1) * row[last]
    for k in range(1, reach + 1):
        left += row[min(k, last)]
        right += row[max(last - k, 0)]
    for x in range(min(reach, last + 1)):
        out[x] = left
        out[last - x] = right
        left += row[min(x + 1 + reach, last)]
        left -= row[0]
        right += row[max(last - x - 1 - reach, 0)]
        right -= row[last]


@compiled()
def find_zeros(flags: Array, out: Array) -> int:
    """Write where flags (bytes, 0 or 1) are zero to ``out``, return how many; eight at a time."""
    ones = np.uint64(0x0101010101010101)
    count = 0
    whole = len(flags) // 8 * 8
    words = flags[:whole].view(np.uint64)
    for w in range(len(words)):
        if words[w] != ones:
            for p in range(8 * w, 8 * w + 8):
                out[count] = p
                count += flags[p] == 0
    for p in range(whole, len(flags)):
        if flags[p] == 0:
            out[count] = p
            count += 1
    return count


@compiled()
def right_sides(A: Array, V: Array, nearest: Array, first: int, last: int) -> Floats:
    """Σ_p A_j V_i (n, k) over some pixels, j the neighbours of i.

    A piece of all images at a time stays in cache.
    """
    out = np.zeros(nearest.shape)
    for start in range(first, last, PIECE):
        end = min(start + PIECE, last)
        for i in range(len(A)):
            dots(A, nearest[i], start, V[i, start:end], out[i])
    return out


@compiled()
def outlier_sums(
    A: Array,
    E: Array,
    V: Array,
    valid: Bools,
    nearest: Ints,
    alphas: Floats,
    window: int,
    grains: float,
    pieces: Ints,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Σ_p A_i A_j and Σ_p A_i V over the pixels in error, for a run of images from first to last.

    ``out`` (n, k, k+1) gets the upper triangle for the k neighbours, the column of V last. E has
    the pixels around the block, see :func:`inliers`; A, V and valid have the block's alone.
    """
    k = nearest.shape[1]
    b = A.shape[1]
    omega = np.empty(b, np.uint8)
    # Unsigned, so that the compiler knows that no index counts from the end.
    few = np.empty(b, np.uint64)
    values = np.empty((k + 1, b), A.dtype)
    every = np.arange(k + 1)
    room = room_for(window, pieces)
    for i in range(first, last):
        inliers(E[i], valid[i], alphas[i], window, grains, pieces, omega, room)
        count = find_zeros(omega, few)
        # The values at those pixels of all neighbours and of V, side by side.
        for j in range(k + 1):
            row = A[nearest[i, j]] if j < k else V[i]
            for p in range(count):
                values[j, p] = row[few[p]]
        for start in range(0, count, PIECE):
            end = min(start + PIECE, count)
            for j in range(k):
                dots(values, every[j:], start, values[j, start:end], out[i, j, j:])


@compiled()
def normal_equations(
    gram: Floats,
    over: Floats,
    nearest: Ints,
    right: Floats,
    outliers: Floats,
    ridge: float,
    matrices: Floats,
    sides: Floats,
) -> None:
    """Σ_p ω a_i a_j (n, k, k) and Σ_p ω a_i v (n, k) with a = A / ‖A‖, and the ridge.

    Without ω they are in the Gram matrix of A and in ``right`` (n, k); the sums over the outliers
    are taken away. The ``ridge`` is a share of the mean diagonal of a matrix; ``over`` is 1/‖A‖.
    """
    k = nearest.shape[1]
    for i in range(len(nearest)):
        near = nearest[i]
        for j in range(k):
            scale = over[near[j]]
            for l in range(j, k):
                total = gram[near[j], near[l]] - outliers[i, j, l]
                matrices[i, j, l] = total * scale * over[near[l]]
                matrices[i, l, j] = matrices[i, j, l]
            sides[i, j] = (right[i, j] - outliers[i, j, k]) * scale
        trace = 0.0
        for j in range(k):
            trace += matrices[i, j, j]
        for j in range(k):
            matrices[i, j, j] += ridge * trace / k + 1e-300


@compiled()
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
            phi = out[i, start:end]
            own = A[i, start:end]
            limit = A.dtype.type(alphas[i])
            # M_1, and then ε' of what the soft threshold leaves of the difference.
            combine(weights[i], A, nearest[i], start, phi)
            for p in range(end - start):
                rest = own[p] - phi[p]
                phi[p] += share * (rest - min(max(rest, -limit), limit))
