"""Does each picture lie where the others do? The confirmed share of every picture.

A picture is rebuilt from a basis of other pictures, and compared with that prediction tile by tile:
a tile confirms the place if no shift of it by a few pixels looks better than none. The confirmed
share a_i is the share of the tiles that do, weighted by how well they fit. By chance it is about
.05.

Pictures that went astray together explain each other. So the others are a *group* that grows from
the picture with most links, with a basis of one dimension at first: it holds what most pictures
share, and a few that share another place are not explained by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.settings import VerdictSettings
from rankfold.families import Floats
from rankfold.scale import Executor, shared_out
from rankfold.stack import Frame

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int_]

# Leading directions of a group in which its leave-one-out bases are looked for; they have at most
# a quarter of that many dimensions.
DIRECTIONS = 24


@dataclass(frozen=True)
class FeatureRows:
    """Contrast features of the pictures in a small frame.

    Parameters
    ----------
    values : (n, m) array
        Without their +1, clipped, zero where missing, of unit norm.
    valid : (n, m) array
    frame : Frame
    """

    values: Array
    valid: Bools
    frame: Frame

    @classmethod
    def of(
        cls, features: Array, valid: Bools, frame: Frame, numbers: VerdictSettings
    ) -> FeatureRows:
        """Clip features (k, m), which are about one on average, and scale them to unit norm."""
        clipped = np.clip(features - 1, -numbers.clip, numbers.clip)
        values = np.where(valid, clipped, 0).astype(np.float32)
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        return cls(values / np.where(norms > 0, norms, 1), valid, frame)

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.values)

    @cached_property
    def gram(self) -> Floats:
        """Inner products (n, n) of all pictures."""
        return (self.values @ self.values.T).astype(np.float64)


@dataclass(frozen=True)
class Others:
    """What each picture should look like, by the pictures of a group without it.

    Parameters
    ----------
    directions : (d, m) array
        Leading right singular vectors V of the group's rows.
    projections : (folds, d, d) array
        For each fold the projection on the basis of the group without that fold, in terms of V.
    """

    directions: Array
    projections: Floats

    @classmethod
    def of(cls, rows: FeatureRows, group: Bools, rank: int, folds: int) -> Others:
        """Make bases of ``rank`` dimensions from the pictures of a group (n,)."""
        members = np.flatnonzero(group)
        squares, vectors = np.linalg.eigh(rows.gram[np.ix_(members, members)])
        kept = np.flatnonzero(squares > 1e-9 * squares[-1])[::-1][:DIRECTIONS]
        # Right singular vectors from the eigenvectors of the Gram matrix. d x m
        weights = vectors[:, kept] / np.sqrt(squares[kept])
        directions = (weights.T @ rows.values[members]).astype(np.float32)
        coordinates = vectors[:, kept] * np.sqrt(squares[kept])  # k x d
        whole = coordinates.T @ coordinates
        projections = [] if folds else [_leading(whole, rank)]
        for fold in range(min(folds, len(rows))):
            own = coordinates[fold_of(members, len(rows), folds) == fold]
            projections.append(_leading(whole - own.T @ own, rank))
        return cls(directions, np.stack(projections))

    @classmethod
    def whole(cls, rows: FeatureRows, group: Bools, rank: int) -> Others:
        """Make one basis of the whole group, for pictures that are not in the batch."""
        return cls.of(rows, group, rank, folds=0)

    def predict(self, rows: Array, indices: Ints, n: int) -> Array:
        """Rebuild rows (k, m) of the pictures ``indices`` (k,) of n from the others."""
        coordinates = rows @ self.directions.T  # k x d
        projections = self.projections[fold_of(indices, n, len(self.projections))]
        fitted = (projections @ coordinates[:, :, None])[:, :, 0].astype(np.float32)
        return np.asarray(fitted @ self.directions)


def fold_of(indices: Ints, n: int, folds: int) -> Ints:
    """Say which pictures are left out together: the fold (k,) of pictures ``indices`` (k,)."""
    return np.asarray(indices % min(folds, n))


def _leading(square: Floats, rank: int) -> Floats:
    """Project (d, d) on the leading eigenvectors of a Gram matrix (d, d)."""
    values, vectors = np.linalg.eigh(square)
    # A group of one has nothing left without its only picture.
    alive = values[-rank:] > 1e-9
    basis = vectors[:, -rank:][:, alive]
    return np.asarray(basis @ basis.T)


@dataclass(frozen=True)
class Confirmation:
    """How far the pictures confirm each other's places.

    Parameters
    ----------
    rows : FeatureRows
    share : (n,) array
        Confirmed share against the group.
    rough : (n,) array
        The same against one dimension of all others, with more tolerance.
    group : (n,) array
        Pictures that confirm each other.
    others, mean : Others
        The group's bases, of the last round, and one dimension of all others.
    """

    rows: FeatureRows
    share: Floats
    rough: Floats
    group: Bools
    others: Others
    mean: Others

    def share_elsewhere(
        self, rows: FeatureRows, indices: Ints, numbers: VerdictSettings, rough: bool
    ) -> Floats:
        """Return the share, or the rough one, (k,) of pictures ``indices`` at other places.

        ``rows`` are those pictures there, one or more for each.
        """
        others = self.mean if rough else self.others
        predicted = others.predict(rows.values, indices, len(self.rows))
        tiles = tiles_of(rows, predicted, numbers, None)
        return confirmed(tiles, numbers.rough_near if rough else numbers.near, numbers)


def confirm(rows: FeatureRows, numbers: VerdictSettings, executor: Executor) -> Confirmation:
    """Let the group of pictures that confirm each other grow until it is stable."""
    n = len(rows)
    everyone = np.arange(n)
    group = linked_group(rows, numbers)
    rank = 1
    for done in range(numbers.rounds):
        others = Others.of(rows, group, rank, numbers.folds)
        tiles = tiles_of(rows, others.predict(rows.values, everyone, n), numbers, executor)
        share = confirmed(tiles, numbers.near, numbers)
        agreeing = share >= numbers.agrees
        if done >= numbers.only_growing:
            # A group that goes back and forth ends with all who were in it.
            agreeing |= group
        limit = rank_of(agreeing, numbers)
        stable = bool((agreeing == group).all()) and rank >= limit
        if stable or not agreeing.any():
            break
        group = agreeing
        rank = min(2 * rank, limit)
    mean = Others.of(rows, np.ones(n, dtype=bool), 1, numbers.folds)
    tiles = tiles_of(rows, mean.predict(rows.values, everyone, n), numbers, executor)
    rough = confirmed(tiles, numbers.rough_near, numbers)
    return Confirmation(rows, share, rough, group, others, mean)


def rank_of(group: Bools, numbers: VerdictSettings) -> int:
    """Return how many dimensions the basis of a group (n,) has at most."""
    return int(np.clip(group.sum() // numbers.pictures_a_dimension, 1, numbers.max_rank))


@dataclass(frozen=True)
class Newcomers:
    """Whether pictures that are not in the batch lie where the batch does.

    Parameters
    ----------
    group, mean : Others
        One basis of the whole group, and one dimension of all pictures.
    """

    group: Others
    mean: Others

    @classmethod
    def after(cls, found: Confirmation, numbers: VerdictSettings) -> Newcomers:
        """Ask the pictures that confirmed each other."""
        rows = found.rows
        everyone = np.ones(len(rows), dtype=bool)
        group = found.group if found.group.any() else everyone
        return cls(
            Others.whole(rows, group, rank_of(group, numbers)), Others.whole(rows, everyone, 1)
        )

    def shares(self, rows: FeatureRows, numbers: VerdictSettings) -> tuple[Floats, Floats]:
        """Return the confirmed share and the rough one, each (k,), of new pictures (k, m)."""
        indices = np.zeros(len(rows), dtype=np.int_)
        found = []
        for others, near in ((self.group, numbers.near), (self.mean, numbers.rough_near)):
            predicted = others.predict(rows.values, indices, 1)
            tiles = tiles_of(rows, predicted, numbers, None)
            found.append(confirmed(tiles, near, numbers))
        return found[0], found[1]


def linked_group(rows: FeatureRows, numbers: VerdictSettings) -> Bools:
    """Return the picture that most others look like, and those (n,)."""
    height, width = rows.frame.shape
    pictures = rows.values.reshape(-1, height, width)
    # What pictures have in common by chance: one against the other, shifted round the frame.
    chance = []
    for down, across in far_shifts(height, width, numbers.null_shifts):
        shifted = np.roll(pictures, (down, across), axis=(1, 2)).reshape(len(rows), -1)
        chance.append(rows.values @ shifted.T)
    spread = float(np.std(chance))
    linked = rows.gram > numbers.linked * spread
    np.fill_diagonal(linked, True)
    # Of pictures with as many links, the one that is most like the others.
    order = np.lexsort((rows.gram.sum(axis=1), linked.sum(axis=1)))
    return np.asarray(linked[order[-1]])


def far_shifts(height: int, width: int, count: int) -> Iterator[tuple[int, int]]:
    """Give shifts between a quarter and three quarters of the frame, spread evenly."""
    # Multiples of two irrational numbers, of which no two shifts have the same place.
    for k in range(1, count + 1):
        down = 0.25 + 0.5 * (k * 0.7548776662 % 1)
        across = 0.25 + 0.5 * (k * 0.5698402910 % 1)
        yield round(down * height), round(across * width)


@dataclass(frozen=True)
class Tiles:
    """What the tiles of the pictures say; arrays (n, t)."""

    peaks: Floats  # the largest normalised correlation
    distances: Floats  # how far away it is, px of the small frame
    energies: Floats  # of the picture in the tile


def tiles_of(
    rows: FeatureRows, predicted: Array, numbers: VerdictSettings, executor: Executor | None
) -> Tiles:
    """Compare every tile of every picture with its prediction (n, m) at all shifts."""
    from rankfold.align.kernels import LANES, REACH, tile_peaks

    height, width = rows.frame.shape
    downward = edges(height, numbers)
    across = edges(width, numbers)
    shape = (len(rows), len(downward) - 1, len(across) - 1)
    peaks, distances, energies = np.empty((3, *shape))
    border = ((0, 0), (REACH, REACH), (REACH, LANES - 1 - REACH))
    padded = np.pad(predicted.reshape(-1, height, width), border)
    squares = padded**2
    pictures = rows.values.reshape(-1, height, width)
    seen = rows.valid.reshape(-1, height, width).astype(pictures.dtype)

    def one(i: int) -> None:
        totals = np.pad(squares[i].cumsum(0, np.float64).cumsum(1), ((1, 0), (1, 0)))
        given = (pictures[i], seen[i], padded[i], squares[i], totals)
        written = (peaks[i], distances[i], energies[i])
        tile_peaks(*given, downward, across, numbers.floor, *written)

    shared_out(executor, 100 * height * width).run(one, range(len(rows)))
    flat = (len(rows), -1)
    return Tiles(peaks.reshape(flat), distances.reshape(flat), energies.reshape(flat))


def edges(size: int, numbers: VerdictSettings) -> Ints:
    """Cut a side of the frame into tiles: where they begin, and where the last one ends."""
    count = int(np.clip(round(size / numbers.tile), numbers.min_tiles, numbers.max_tiles))
    return np.linspace(0, size, count + 1).round().astype(np.int_)


def confirmed(tiles: Tiles, near: float, numbers: VerdictSettings) -> Floats:
    """Return the share (n,) of the tiles that fit best within ``near`` px of where they are."""
    # A tile of nearly nothing fits anywhere.
    usual = np.median(tiles.energies, axis=1, keepdims=True)
    counts = np.where(tiles.energies >= numbers.faint * usual, tiles.peaks**2, 0.0)
    total = counts.sum(axis=1)
    agreeing = np.where(tiles.distances <= near, counts, 0.0).sum(axis=1)
    return np.asarray(np.where(total > 0, agreeing / np.where(total > 0, total, 1.0), 0.0))
