"""What a family of transforms is: the contract that every row of FAMILIES keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from rankfold.families.points import Floats, coordinate_jacobian


class Family(ABC):
    """A group of plane transforms with p parameters.

    A member is a 3x3 matrix that maps coordinates (x, y) of the frame to those of a picture.
    Methods take stacks of parameters (..., p) or matrices (..., 3, 3) and keep the leading axes.

    Attributes
    ----------
    name : str
        What the caller calls it.
    size : int
        p, the number of parameters.
    min_points : int
        How many correspondences determine a member.
    """

    name: ClassVar[str]
    size: ClassVar[int]
    min_points: ClassVar[int]

    @abstractmethod
    def matrix(self, parameters: Floats) -> Floats:
        """Turn parameters (..., p) into matrices (..., 3, 3)."""

    @abstractmethod
    def parameters(self, matrix: Floats) -> Floats:
        """Turn matrices (..., 3, 3) of the family into parameters (..., p)."""

    @abstractmethod
    def derivative(self, parameters: Floats) -> Floats:
        """Return derivatives (..., p, 3, 3) of the matrices by the parameters (..., p)."""

    @abstractmethod
    def fit(self, canonical: Floats, source: Floats) -> Floats:
        """Return the least-squares member (3, 3) from points (k, 2) to points (k, 2)."""

    def jacobian(self, parameters: Floats, points: Floats) -> Floats:
        """Return the derivative (m, 2, p) of the mapped points (m, 2) by the parameters (p,)."""
        return coordinate_jacobian(self.matrix(parameters), self.derivative(parameters), points)

    @property
    def identity(self) -> Floats:
        """Parameters (p,) of the identity."""
        return self.parameters(np.eye(3))

    def contains(self, matrix: Floats, tol: float = 1e-9) -> bool:
        """Return whether a matrix (3, 3) belongs to the family, up to ``tol`` in every entry."""
        scaled = matrix / matrix[2, 2]
        member = self.matrix(self.parameters(scaled))
        return bool(np.allclose(member, scaled, rtol=0, atol=tol))
