"""The tile test by definition: normalised correlation of one tile at every whole shift."""

import numpy as np


def peak(picture, valid, predicted, top, bottom, left, right, reach, floor):
    """The largest correlation of a tile with a prediction, how far away it is, and its energy.

    The prediction (h, w) is zero outside the frame. Only valid pixels of the tile count. To the
    power of the prediction at a shift, ``floor`` times its power without a shift is added.
    """
    height, width = picture.shape
    pixels = [(y, x) for y in range(top, bottom) for x in range(left, right) if valid[y, x]]

    def at(y, x):
        inside = 0 <= y < height and 0 <= x < width
        return float(predicted[y, x]) if inside else 0.0

    own = np.array([float(picture[y, x]) for y, x in pixels])
    still = np.array([at(y, x) for y, x in pixels])
    energy = float(own @ own)
    best = 0.0
    distance = np.inf
    for down in range(-reach, reach + 1):
        for across in range(-reach, reach + 1):
            there = np.array([at(y + down, x + across) for y, x in pixels])
            power = float(there @ there) + floor * float(still @ still)
            if energy * power > 0 and own @ there / np.sqrt(energy * power) > best:
                best = float(own @ there / np.sqrt(energy * power))
                distance = float(np.hypot(down, across))
    return best, distance, energy


def share(peaks, distances, energies, near, faint):
    """Σ over agreeing tiles of peak² / Σ over all, without tiles of little energy."""
    votes = [
        (value**2, away <= near)
        for value, away, energy in zip(peaks, distances, energies, strict=True)
        if energy >= faint * np.median(energies)
    ]
    total = sum(weight for weight, _ in votes)
    return sum(weight for weight, agrees in votes if agrees) / total if total > 0 else 0.0
