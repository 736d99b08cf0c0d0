"""Which pictures to compare: all of them, or neighbours in time and those that look alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankfold.align.matching.keypoints import Descriptors, Keypoints
from rankfold.align.settings import MatchSettings
from rankfold.families import Floats

# Descriptors that the vocabulary is made from, and rounds of the k-means behind it.
SEEN = 20_000
ROUNDS = 8


def candidates(keypoints: Sequence[Keypoints], numbers: MatchSettings) -> list[tuple[int, int]]:
    """Pairs of pictures (one < two) that are worth comparing."""
    n = len(keypoints)
    if n <= numbers.all_pairs:
        return [(i, j) for i in range(n) for j in range(i + 1, n)]
    pairs = {(i, i + int(lag)) for lag in numbers.in_time for i in range(n - int(lag))}
    likeness = _likeness(keypoints, numbers.words)
    np.fill_diagonal(likeness, -np.inf)
    for i in range(n):
        for j in np.argsort(-likeness[i], kind="stable")[: numbers.look_alikes]:
            pairs.add((min(i, int(j)), max(i, int(j))))
    return sorted(pairs)


def _likeness(keypoints: Sequence[Keypoints], words: int) -> Floats:
    """Cosines (n, n) between summaries of the pictures' descriptors."""
    if not any(map(len, keypoints)):
        return np.zeros((len(keypoints), len(keypoints)))
    vocabulary = _vocabulary(keypoints, words)
    summaries = np.stack([_summary(one.descriptors, vocabulary) for one in keypoints])
    return summaries @ summaries.T


def _vocabulary(keypoints: Sequence[Keypoints], words: int) -> Descriptors:
    """Typical descriptors (words, 128), by k-means from a start that is always the same."""
    everything = np.concatenate([one.descriptors for one in keypoints])
    step = max(len(everything) // SEEN, 1)
    seen = everything[::step]
    evenly = np.linspace(0, len(seen) - 1, min(words, len(seen))).astype(int)
    centres: Descriptors = seen[evenly]
    for _ in range(ROUNDS):
        nearest = _nearest(seen, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, seen)
        count = np.bincount(nearest, minlength=len(centres))[:, None]
        # A centre that nothing is nearest to stays where it is.
        centres = np.where(count > 0, np.rint(sums / np.maximum(count, 1)), centres)
        centres = np.asarray(centres, dtype=np.float32)
    return centres


def _nearest(descriptors: Descriptors, centres: Descriptors) -> npt.NDArray[np.int_]:
    """Index (k,) of the centre nearest to each descriptor (k, 128)."""
    squared = (centres**2).sum(axis=1) - 2 * (descriptors @ centres.T)
    return np.asarray(squared.argmin(axis=1))


def _summary(descriptors: Descriptors, vocabulary: Descriptors) -> Floats:
    """How the descriptors of a picture differ from their typical ones, (words x 128,), unit length.

    These are "vectors of locally aggregated descriptors": for each word the sum of the differences
    of those descriptors that are nearest to it.
    """
    sums = np.zeros(vocabulary.shape)
    if len(descriptors):
        nearest = _nearest(descriptors, vocabulary)
        np.add.at(sums, nearest, descriptors - vocabulary[nearest])
    # Square roots, and unit length word by word: no repeated texture outweighs everything else.
    rooted = np.sign(sums) * np.sqrt(np.abs(sums))
    rooted /= np.maximum(np.linalg.norm(rooted, axis=1, keepdims=True), 1e-12)
    flat = rooted.ravel()
    return np.asarray(flat / max(np.linalg.norm(flat), 1e-12))
