"""Families of plane transforms: parameters <-> 3x3 matrices, derivatives, least-squares fits.

A transform is a 3x3 matrix T that maps coordinates (x, y) of the frame to coordinates of a picture.
Composition is the matrix product, the inverse is :func:`inverse`, the mean of several is
:func:`mean`. Adding a family is one subclass of :class:`Family` and one row of ``FAMILIES``.
"""

from __future__ import annotations

import numpy as np

from rankfold.errors import InputError
from rankfold.families.contract import Family
from rankfold.families.points import (
    Floats,
    coordinate_jacobian,
    inverse,
    map_points,
    point_jacobian,
)
from rankfold.families.projective import Affine, Homography
from rankfold.families.similarities import Euclidean, Similarity, Translation

__all__ = [
    "FAMILIES",
    "Affine",
    "Euclidean",
    "Family",
    "Floats",
    "Homography",
    "Similarity",
    "Translation",
    "coordinate_jacobian",
    "get_family",
    "inverse",
    "map_points",
    "mean",
    "point_jacobian",
    "shift",
]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Translation(),
        Euclidean(),
        Similarity(),
        Affine(),
        Homography(),
    )
}
"""The families of transforms by their names, from the poorest to the richest."""


def get_family(name: str) -> Family:
    """Return the family of this name; an unknown name raises an InputError that lists all."""
    if name not in FAMILIES:
        raise InputError(f"unknown family {name!r}; choose one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def shift(offset: Floats) -> Floats:
    """Return the matrix (3, 3) that moves points by ``offset`` (2,), given as (x, y)."""
    return FAMILIES["translation"].matrix(np.asarray(offset, dtype=np.float64))


def mean(matrices: Floats, family: Family, origin: Floats) -> Floats:
    """Return a robust mean (3, 3) of transforms (n, 3, 3) of a family.

    It is the median of each parameter about ``origin`` (2,). About the middle of the frame the
    parameters are nearly independent, so turns and shifts of the pictures do not leak into the
    scale of their mean, as they do when a transform is fitted to median corners.
    """
    parameters = family.parameters(shift(-origin) @ matrices @ shift(origin))
    matrix = shift(origin) @ family.matrix(np.median(parameters, axis=0)) @ shift(-origin)
    return np.asarray(matrix / matrix[2, 2])
