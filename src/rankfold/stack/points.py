"""Points that were marked in the pictures, and the transforms through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.arguments import array_of, is_real
from rankfold.errors import InputError
from rankfold.families import FAMILIES, Family, Floats

# Families that points can fix, from the poorest to the richest.
LADDER = ("similarity", "affine", "homography")


@dataclass(frozen=True)
class Points:
    """The same points in the frame and in every picture, counted from zero.

    Parameters
    ----------
    canonical : (k, 2) array
        The points in the frame, as (x, y); at least two.
    sources : (n, k, 2) array
        The points in each of the n pictures, as (x, y).
    """

    canonical: Floats
    sources: Floats

    def __post_init__(self) -> None:
        """Check shapes and values, and keep both as float64."""
        canonical = _as_numbers(self.canonical, "the points of the frame")
        sources = _as_numbers(self.sources, "the points of the pictures")
        _check_shapes(canonical, sources)
        _check_values(canonical, sources)
        # A frozen dataclass lets its own fields be set in this way only.
        object.__setattr__(self, "canonical", canonical)
        object.__setattr__(self, "sources", sources)

    def transforms(self, family: Family) -> Floats:
        """Fit one transform a picture to the points.

        Two points give a similarity, three an affine map, four a homography. More points than
        that are fitted by least squares.

        Parameters
        ----------
        family : Family
            The richest family allowed. A family that is poorer than a similarity allows a
            similarity all the same, because two points always fix one.

        Returns
        -------
        (n, 3, 3) array
        """
        ladder = [FAMILIES[name] for name in LADDER]
        # Translations and rotations are not on the ladder; they stop at its first rung.
        richest = ladder.index(family) if family in ladder else 0
        # Of the allowed families, those that this many points determine.
        fixed = [f for f in ladder[: richest + 1] if f.min_points <= len(self.canonical)]
        chosen = fixed[-1]
        try:
            with np.errstate(all="ignore"):
                found = np.stack([chosen.fit(self.canonical, source) for source in self.sources])
        except np.linalg.LinAlgError:
            found = np.full((1, 3, 3), np.nan)
        if not np.isfinite(found).all():
            raise InputError(
                f"the points fix no {chosen.name}: too many lie on one line, or too far away; "
                "correct them, or mark others"
            )
        return found


def _as_numbers(points: npt.ArrayLike, name: str) -> Floats:
    """Points as float64, of whatever shape; refuse what holds no numbers."""
    given = array_of(points, name)
    if not is_real(given.dtype):
        raise InputError(f"{name} have type {given.dtype}; give numbers")
    with np.errstate(over="ignore"):
        return np.ma.filled(given.astype(np.float64), np.nan)


def _check_shapes(canonical: Floats, sources: Floats) -> None:
    """Refuse arrays that are not (k, 2) and (n, k, 2)."""
    is_list_of_points = canonical.ndim == 2 and canonical.shape[1] == 2
    fits = sources.ndim == 3 and sources.shape[1:] == canonical.shape and len(sources) > 0
    if not is_list_of_points or not fits:
        raise InputError(
            f"points have shapes {canonical.shape} in the frame and {sources.shape} in the "
            "pictures; give (k, 2) and (n, k, 2), each point as (x, y)"
        )


def _check_values(canonical: Floats, sources: Floats) -> None:
    """Refuse points (k, 2) and (n, k, 2) that fix no similarity."""
    if not (np.isfinite(canonical).all() and np.isfinite(sources).all()):
        raise InputError("points contain NaN or infinity; every point needs two finite coordinates")
    if len(canonical) < 2:
        raise InputError(
            "one point does not fix a rotation and a scale; give at least two a picture"
        )
    # The larger side of the box around each set of points.
    with np.errstate(over="ignore"):
        extents = [np.ptp(points, axis=0).max() for points in (canonical, *sources)]
    if min(extents) == 0:
        raise InputError(
            "all points of a set are the same point; they fix neither a rotation nor a scale"
        )
