"""Which value at a pixel most pictures agree on, compiled; and plain medians.

How to read this file. :func:`most_agreed` is the whole job on one tile, in three steps:

1. :func:`votes` lets every pair of pictures compare the patches around each pixel: how well they
   agree is added to the score of both;
2. at each pixel the picture with the best score wins, and :func:`mean_of_agreeing` takes the mean
   of the pictures that agree with it;
3. among those that do not agree at all, :func:`rival_of` looks for the largest group that agrees on
   something else.

A patch is a square of ``2 RADIUS + 1`` pixels. Two patches agree fully where they are the same, and
not at all where their mean squared difference reaches ``limit``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.outputs.spool import RADIUS

Array = npt.NDArray[Any]


@compiled()
def most_agreed(
    values: Array,
    trust: Array,
    limit: Array,
    clean: Array,
    support: Array,
    rival: Array,
    total: Array,
) -> None:
    """Find at each pixel of a tile the value that most pictures agree on.

    Parameters
    ----------
    values : (n, c, h + 4, w + 4) array of float32
        The pictures, with a margin of RADIUS around the tile.
    trust : (n, h + 4, w + 4) array of float32
        From 0 (missing) to 1.
    limit : (h, w) array of float32
        The mean squared difference above which patches do not agree at all.
    clean : (c, h, w) array of float32
        Written: the value; NaN where no picture can be trusted.
    support : (h, w) array of float32
        Written: the trust in the pictures that agree on it.
    rival : (h, w) array of float32
        Written: the trust in those that agree on something else.
    total : (h, w) array of float32
        Written: the trust in all pictures.
    """
    n = len(values)
    height, width = limit.shape
    score = np.zeros((n, height, width), np.float32)
    votes(values, trust, limit, score)
    for y in range(height):
        for x in range(width):
            best = -1
            everything = np.float32(0)
            for i in range(n):
                own = trust[i, y + RADIUS, x + RADIUS]
                everything += own
                # A picture agrees with itself, which counts where nobody else is there.
                score[i, y, x] += own
                if own > 0 and (best < 0 or score[i, y, x] > score[best, y, x]):
                    best = i
            total[y, x] = everything
            support[y, x] = mean_of_agreeing(values, trust, limit[y, x], best, y, x, clean)
            rival[y, x] = rival_of(values, trust, limit[y, x], score, best, y, x)


@compiled()
def votes(values: Array, trust: Array, limit: Array, score: Array) -> None:
    """Add to the score (n, h, w) of every picture how well the others agree with it."""
    n, channels = values.shape[:2]
    height, width = limit.shape
    tall = height + 2 * RADIUS
    wide = width + 2 * RADIUS
    # Of a pair: the squared difference of a row of pixels, and whether both may be used. The
    # sums over patches are taken along the rows first, then down the columns.
    difference = np.empty(wide, np.float32)
    both = np.empty(wide, np.float32)
    along = np.empty((tall, width), np.float32)
    counted = np.empty((tall, width), np.float32)
    for i in range(n):
        for j in range(i):
            for y in range(tall):
                for x in range(wide):
                    both[x] = np.float32(min(trust[i, y, x], trust[j, y, x]) > 0)
                difference[:] = 0
                for c in range(channels):
                    for x in range(wide):
                        apart = values[i, c, y, x] - values[j, c, y, x]
                        difference[x] += apart * apart
                for x in range(wide):
                    difference[x] *= both[x]
                along[y] = 0
                counted[y] = 0
                for k in range(2 * RADIUS + 1):
                    for x in range(width):
                        along[y, x] += difference[x + k]
                        counted[y, x] += both[x + k]
            for y in range(height):
                for x in range(width):
                    apart = np.float32(0)
                    count = np.float32(0)
                    for k in range(2 * RADIUS + 1):
                        apart += along[y + k, x]
                        count += counted[y + k, x]
                    left = agreement(apart, count * channels, limit[y, x])
                    score[i, y, x] += left * trust[j, y + RADIUS, x + RADIUS]
                    score[j, y, x] += left * trust[i, y + RADIUS, x + RADIUS]


@compiled()
def agreement(apart: Any, count: Any, limit: Any) -> Any:
    """How well two patches agree: 1 where they are the same, 0 from the limit on (Tukey's)."""
    if count == 0:
        return np.float32(0)
    left = np.float32(1) - apart / (count * limit)
    return left * left if left > 0 else np.float32(0)


@compiled()
def agreement_of(
    values: Array, trust: Array, limit: Any, one: int, two: int, y: int, x: int
) -> Any:
    """How well the patches of two pictures agree around a pixel of the tile."""
    channels = values.shape[1]
    side = 2 * RADIUS + 1
    apart = np.float32(0)
    count = np.float32(0)
    for dy in range(side):
        for dx in range(side):
            if min(trust[one, y + dy, x + dx], trust[two, y + dy, x + dx]) > 0:
                count += channels
                for c in range(channels):
                    gap = values[one, c, y + dy, x + dx] - values[two, c, y + dy, x + dx]
                    apart += gap * gap
    return agreement(apart, count, limit)


@compiled()
def mean_of_agreeing(
    values: Array, trust: Array, limit: Any, best: int, y: int, x: int, clean: Array
) -> Any:
    """Write the mean of the pictures that agree with the best one; return the trust in them."""
    n, channels = values.shape[:2]
    for c in range(channels):
        clean[c, y, x] = np.nan if best < 0 else 0
    if best < 0:
        return np.float32(0)
    weight = np.float32(0)
    supporting = np.float32(0)
    for i in range(n):
        own = trust[i, y + RADIUS, x + RADIUS]
        if own == 0:
            continue
        left = agreement_of(values, trust, limit, i, best, y, x) * own
        if left > 0:
            weight += left
            supporting += own
            for c in range(channels):
                clean[c, y, x] += left * values[i, c, y + RADIUS, x + RADIUS]
    for c in range(channels):
        clean[c, y, x] /= weight
    return supporting


@compiled()
def rival_of(
    values: Array, trust: Array, limit: Any, score: Array, best: int, y: int, x: int
) -> Any:
    """Return the trust in the largest group of pictures that agree on something else."""
    second = -1
    if best >= 0:
        for i in range(len(values)):
            if trust[i, y + RADIUS, x + RADIUS] == 0:
                continue
            if second >= 0 and score[i, y, x] <= score[second, y, x]:
                continue
            if agreement_of(values, trust, limit, i, best, y, x) == 0:
                second = i
    supporting = np.float32(0)
    if second >= 0:
        for i in range(len(values)):
            own = trust[i, y + RADIUS, x + RADIUS]
            if own > 0 and agreement_of(values, trust, limit, i, second, y, x) > 0:
                supporting += own
    return supporting


@compiled()
def medians(values: Array, trust: Array) -> Array:
    """Median (c, h, w) of the pictures (k, c, h, w) that can be trusted; NaN where there is none.

    ``trust`` is (k, h, w).
    """
    n, channels, height, width = values.shape
    found = np.empty((channels, height, width), np.float32)
    ordered = np.empty(n, np.float32)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                count = 0
                for i in range(n):
                    if trust[i, y, x] > 0:
                        # Insert the value where it belongs among those that are smaller.
                        k = count
                        new = values[i, c, y, x]
                        while k > 0 and ordered[k - 1] > new:
                            ordered[k] = ordered[k - 1]
                            k -= 1
                        ordered[k] = new
                        count += 1
                if count == 0:
                    found[c, y, x] = np.nan
                else:
                    found[c, y, x] = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    return found
