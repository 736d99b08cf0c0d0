"""Which patch most pictures agree on, in slow plain NumPy, written from the definition alone.

Two patches of 5 x 5 pixels have a mean squared difference d over the pixels and channels that both
have. They agree by (1 - d / limit)^2 where d < limit, and not at all beyond (Tukey's biweight).
"""

from itertools import product

import numpy as np

REACH = 2


def agreement(values, trust, limit, one, two, y, x):
    """How well two pictures agree around pixel (y, x) of the tile."""
    patch = np.s_[y : y + 2 * REACH + 1, x : x + 2 * REACH + 1]
    both = (trust[(one, *patch)] > 0) & (trust[(two, *patch)] > 0)
    if not both.any():
        return 0.0
    here, there = (values[(k, slice(None), *patch)].astype(float) for k in (one, two))
    d = ((here - there) ** 2)[:, both].mean()
    return max(1 - d / limit, 0.0) ** 2


def most_agreed(values, trust, limit):
    """Return clean (c, h, w), and support, rival and total (h, w) of a tile with its margin.

    The score of a picture is the sum of how well all pictures agree with it, itself included, each
    times the trust in it at the pixel. The best one wins, and those that agree with it are
    averaged. The best of those that do not agree with it at all leads the rival.
    """
    n, channels = values.shape[:2]
    height, width = limit.shape
    clean = np.full((channels, height, width), np.nan)
    support, rival, total = (np.zeros((height, width)) for _ in range(3))
    for y, x in product(range(height), range(width)):
        own = trust[:, y + REACH, x + REACH].astype(float)
        seen = values[:, :, y + REACH, x + REACH].astype(float)
        total[y, x] = own.sum()
        agree = np.array(
            [
                [agreement(values, trust, float(limit[y, x]), i, j, y, x) for j in range(n)]
                for i in range(n)
            ]
        )
        score = np.where(own > 0, agree @ own, -1.0)
        if not (own > 0).any():
            continue
        best = int(np.argmax(score))
        weight = agree[best] * own
        clean[:, y, x] = weight @ seen / weight.sum()
        support[y, x] = own[agree[best] > 0].sum()
        others = np.where((agree[best] == 0) & (own > 0), score, -1.0)
        if (others >= 0).any():
            rival[y, x] = own[agree[int(np.argmax(others))] > 0].sum()
    return clean, support, rival, total
