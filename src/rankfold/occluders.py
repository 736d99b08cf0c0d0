"""What several pictures share and does not belong to the thing: finds, and what is said of them.

How they are found is in ``rankfold.align.occluders``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.verdicts import listed

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

# Words for the place of a region, by the third of the frame in which its middle lies.
DOWN = ("upper", "middle", "lower")
ACROSS = ("left", "", "right")

# How to undo it.
KEEP = "shared=0 keeps it"


@dataclass(frozen=True, eq=False)
class Occluder:
    """Something that some of the pictures have in front of them in the same place.

    Attributes
    ----------
    region : (h, w) array
        True where at least half of its pictures show it.
    pictures : tuple of int
        The pictures that show it, counted from 0, in ascending order.
    masks : (k, h, w) array
        Where each of these pictures shows it.
    confidence : float
        Between 0 and 1. Nine of ten of its pictures show it on a larger share of the region than
        nine of ten of the others seem to; this is how much larger.
    """

    region: Bools
    pictures: tuple[int, ...]
    masks: Bools
    confidence: float

    @property
    def place(self) -> str:
        """Where it lies in the frame, in words: "lower", "upper left"."""
        rows, columns = np.nonzero(self.region)
        height, width = self.region.shape
        down = DOWN[min(int(3 * (rows.mean() + 0.5) / height), 2)]
        across = ACROSS[min(int(3 * (columns.mean() + 0.5) / width), 2)]
        return f"{down} {across}".strip()

    def sentence(self, names: Sequence[str]) -> str:
        """What was found, for a person; ``names`` are those of all pictures."""
        own = [names[k] for k in self.pictures]
        return (
            f"{len(own)} of {len(names)} pictures have something in front of them in the "
            f"{self.place} part, {self.region.mean():.0%} of the frame, which was taken out and "
            f"filled in ({KEEP}): {listed(own)}."
        )

    def as_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Give plain values that JSON knows; ``names`` are those of all pictures."""
        return {
            "pictures": [names[k] for k in self.pictures],
            "place": self.place,
            "share_of_frame": float(self.region.mean()),
            "confidence": self.confidence,
            "sentence": self.sentence(names),
        }


def as_columns(occluders: Sequence[Occluder], count: int) -> dict[str, Array]:
    """Finds in ``count`` pictures as arrays to be stored; nothing where nothing was found."""
    if not occluders:
        return {}
    members = np.zeros((len(occluders), count), dtype=bool)
    for row, one in zip(members, occluders, strict=True):
        row[list(one.pictures)] = True
    return {
        "region": np.stack([one.region for one in occluders]),
        "members": members,
        "masks": np.concatenate([one.masks for one in occluders]),
        "confidence": np.array([one.confidence for one in occluders]),
    }


def from_columns(columns: dict[str, Array]) -> tuple[Occluder, ...]:
    """The finds that :func:`as_columns` stored."""
    if not columns:
        return ()
    members = columns["members"]
    if len(columns["masks"]) != members.sum():
        raise ValueError("occluders.masks are not those of the members")
    ends = np.cumsum(members.sum(axis=1))
    masks = np.split(columns["masks"], ends[:-1])
    return tuple(
        Occluder(region, tuple(int(k) for k in np.flatnonzero(own)), mask, float(confidence))
        for region, own, mask, confidence in zip(
            columns["region"], members, masks, columns["confidence"], strict=True
        )
    )
