"""What matching found: links, groups of pictures and a transform for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.stack import Bools

Ints = npt.NDArray[np.int_]

# Names that a sentence lists before it only counts the rest.
LISTED = 8


@dataclass(frozen=True)
class Link:
    """What two pictures have in common.

    Attributes
    ----------
    one, two : int
        Indices of the pictures, ``one`` < ``two``.
    points_one, points_two : (k, 2) arrays
        The matches that agree with the transforms, as (x, y) in px of the originals.
    """

    one: int
    two: int
    points_one: Floats
    points_two: Floats

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.points_one)


@dataclass(frozen=True, repr=False)
class Matches:
    """Where pictures lie relative to each other, by the keypoints that they share.

    Attributes
    ----------
    names : n strings
    family : str
        The family of the transforms.
    reference : int
        The picture that most others see, or the one that was asked for.
    transforms : (n, 3, 3) array
        From the coordinates of the reference to those of each picture, in px of the originals.
        NaN where a picture is not reached.
    reached : (n,) array of bool
        True for pictures that links connect to the reference.
    groups : tuple of tuples of int
        Connected groups of pictures, the largest first. Pictures without a link come last.
    links : tuple of Link
    keypoints : (n,) array of int
        How many keypoints each picture had.
    residual : (n,) array
        Root mean square distance of the matches of each picture, in px of its original, after the
        refinement. NaN where a picture is not reached.
    """

    names: tuple[str, ...]
    family: str
    reference: int
    transforms: Floats
    reached: Bools
    groups: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...]
    keypoints: Ints
    residual: Floats

    def __repr__(self) -> str:
        """Say in a line what was found."""
        return (
            f"Matches({self.sentence}; reference {self.names[self.reference]}, {self.family}, "
            f"{len(self.links)} links)"
        )

    @property
    def sentence(self) -> str:
        """What was found, in plain English."""
        n = len(self.names)
        several = [group for group in self.groups if len(group) > 1]
        if not several:
            return f"none of {n} pictures has enough in common with another"
        if len(several) > 1:
            return self._several_scenes(several)
        alone = self._alone
        if not alone:
            return f"all {n} pictures are linked"
        verb = "is" if len(alone) == 1 else "are"
        return f"{n - len(alone)} of {n} pictures are linked; {_listed(alone)} {verb} not"

    @property
    def _alone(self) -> list[str]:
        """Names of the pictures without a link, in their order."""
        return [self.names[group[0]] for group in self.groups if len(group) == 1]

    def _several_scenes(self, several: Sequence[tuple[int, ...]]) -> str:
        """Name groups that have nothing in common, and the pictures that have no group."""
        described = "; ".join(
            f"({k}) {_listed([self.names[index] for index in group])}"
            for k, group in enumerate(several, start=1)
        )
        sentence = (
            f"the {len(self.names)} pictures look like {len(several)} scenes that have nothing "
            f"in common: {described}"
        )
        alone = self._alone
        if not alone:
            return sentence
        verb = "is" if len(alone) == 1 else "are"
        return f"{sentence}; {_listed(alone)} {verb} not linked to any"


def _listed(names: Sequence[str]) -> str:
    """Names in a row, the first few where there are many."""
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"
