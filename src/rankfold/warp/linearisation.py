"""Lines 3 and 4 of Algorithm 1: warp and normalise the pictures, and differentiate them (Eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import UnseenError
from rankfold.families import Family, Floats, coordinate_jacobian, shift
from rankfold.scale import Executor, shared_out, store_of
from rankfold.stack import Bools
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Motion:
    """Transforms as T_i = base_i F(parameters_i) shift(-origin), with F in the family.

    The base is where picture i started, so that any start is allowed for any family: a translation
    may start from a zoomed frame. The origin is the point of the frame about which F turns and
    scales. In the middle of the frame it keeps rotation and shift apart, and the linearisation
    holds further.

    Parameters
    ----------
    family : Family
    base : (n, 3, 3) array
    origin : (2,) array
        As (x, y) of the frame.
    parameters : (n, p) array
        τ of the paper.
    """

    family: Family
    base: Floats
    origin: Floats
    parameters: Floats

    @classmethod
    def starting_at(cls, transforms: Floats, family: Family, origin: Floats) -> Motion:
        """Return a motion that has not begun: its transforms are the given ones (n, 3, 3)."""
        parameters = np.tile(family.identity, (len(transforms), 1))
        return cls(family, transforms @ shift(origin), origin, parameters)

    def reaching(self, transforms: Floats) -> Motion:
        """Return the motion with the same bases whose transforms are the given ones (n, 3, 3)."""
        matrices = np.linalg.inv(self.base) @ transforms @ shift(self.origin)
        return self.with_parameters(self.family.parameters(matrices / matrices[:, 2:, 2:]))

    @cached_property
    def transforms(self) -> Floats:
        """The matrices T (n, 3, 3), last entry one."""
        matrices = self.base @ self.family.matrix(self.parameters) @ shift(-self.origin)
        return matrices / matrices[:, 2:, 2:]

    def matrix(self, index: int, parameters: Floats) -> Floats:
        """Return the matrix (3, 3) that one picture would have with other parameters (p,)."""
        matrix = self.base[index] @ self.family.matrix(parameters) @ shift(-self.origin)
        return np.asarray(matrix / matrix[2, 2])

    @cached_property
    def differentials(self) -> tuple[Floats, Floats]:
        """Matrices (n, 3, 3), last entry not made one, and their derivatives (n, p, 3, 3)."""
        # The chain rule of ``coordinate_jacobian`` does not need the last entry to be one.
        away = shift(-self.origin)
        matrices = self.base @ self.family.matrix(self.parameters) @ away
        derivatives = self.base[:, None] @ self.family.derivative(self.parameters) @ away
        return matrices, derivatives

    def with_parameters(self, parameters: Floats) -> Motion:
        """Return a motion with the same bases and other parameters (n, p)."""
        return Motion(self.family, self.base, self.origin, parameters)

    def after(self, gauge: Floats) -> Motion:
        """Return the motion with transforms T_i G^-1, for one G (3, 3) of the family.

        G acts in coordinates of the frame: all pictures move together.
        """
        # T G^-1 = base F shift(-origin) G^-1 = base (F local) shift(-origin).
        local = shift(-self.origin) @ np.linalg.inv(gauge) @ shift(self.origin)
        matrices = self.family.matrix(self.parameters) @ local
        return self.with_parameters(self.family.parameters(matrices))

    def jacobian(self, points: Floats) -> Floats:
        """Return the derivative (n, m, 2, p) by the parameters of where points (m, 2) land."""
        return coordinate_jacobian(*self.differentials, points)

    def reach(self, corners: Floats) -> Floats:
        """Return how far (n, p) in px of the picture a unit of each parameter moves a corner.

        ``corners`` (k, 2) are points of the frame; the one that moves most counts.
        """
        return np.asarray(np.abs(self.jacobian(corners)).max(axis=(1, 2)))


@dataclass(frozen=True)
class Linearised:
    """The pictures near their transforms, D + Σ J_i Δτ_i of Eq. 1: the data of one inner problem.

    Parameters
    ----------
    data : (n, m) array
        D: warped pictures of unit norm over valid pixels, zero at missing ones.
    basis : (n, p, m) array
        Q: orthonormal rows that span those of J_i; zero at missing pixels.
    to_parameters : (n, p, p) array
        R_i^-1 of J_i = Q_i R_i, so Δτ_i = to_parameters_i δ_i; zero in degenerate directions.
    norms : (n,) array
        What the warped pictures were divided by.
    valid : (n, m) array
    """

    data: Array
    basis: Array
    to_parameters: Floats
    norms: Floats
    valid: Bools


def linearise(sampler: Sampler, motion: Motion, executor: Executor | None = None) -> Linearised:
    """Warp, normalise and differentiate every picture at the transforms of ``motion``."""
    from rankfold.warp.derivatives import normalise_and_orthonormalise

    matrices, derivatives = motion.differentials
    reach = np.ascontiguousarray(motion.reach(sampler.frame.corners))
    noise = _noise(sampler.dtype)
    n = len(sampler)
    p = motion.family.size
    m = int(np.prod(sampler.row_shape))
    store = store_of(executor)
    data = store.zeros((n, m), sampler.dtype)
    valid = store.zeros((n, m), np.bool_)
    # Holds the rows of J_i first, and Q_i once they are orthonormal.
    basis = store.zeros((n, p, m), sampler.dtype)
    to_parameters = np.empty((n, p, p))

    def linearise_one(i: int) -> float:
        # I_i∘ζ and its derivative at ζ = τ, before any division by a norm.
        sampler.differentiate(i, matrices[i], derivatives[i], data[i], basis[i], valid[i])
        # Lines 3 and 4: D_i, then J_i = Q_i R_i.
        norm = normalise_and_orthonormalise(data[i], basis[i], reach[i], noise, to_parameters[i])
        store.done(data[i], basis[i], valid[i], sampler.sources[i].planes)
        return float(norm)

    values_a_picture = (1 + p) * m
    norms = np.array(shared_out(executor, values_a_picture).run(linearise_one, range(n)))
    _refuse_unseen(norms, sampler)
    return Linearised(data, basis, to_parameters, norms, valid)


def warp_normalised(
    sampler: Sampler, transforms: Floats, executor: Executor | None = None
) -> tuple[Array, Floats, Bools]:
    """Return D (n, m), norms (n,) and validity (n, m) at ``transforms`` (n, 3, 3): line 4 alone."""
    store = store_of(executor)
    n = len(sampler)
    m = int(np.prod(sampler.row_shape))
    data = store.zeros((n, m), sampler.dtype)
    valid = store.zeros((n, m), np.bool_)

    def sample_one(index: int) -> float:
        data[index], valid[index], norm = normalised_row(sampler, index, transforms[index])
        store.done(data[index], valid[index], sampler.sources[index].planes)
        return norm

    norms = np.array(shared_out(executor, m).run(sample_one, range(n)))
    _refuse_unseen(norms, sampler)
    return data, norms, valid


def normalised_row(sampler: Sampler, index: int, matrix: Floats) -> tuple[Array, Bools, float]:
    """Return a picture's row (m,) of D, its validity (m,), and the norm it was divided by."""
    from rankfold.sums import dot

    values, _, seen = sampler.sample(index, matrix)
    row = values.ravel()
    # The same sum as in ``linearise``, in pieces and in double precision over them.
    norm = float(np.sqrt(dot(row, row)))
    return (row / norm if norm > 0 else row), np.tile(seen, sampler.channels), norm


def _noise(dtype: npt.DTypeLike) -> float:
    """Rounding error in sums of products of unit rows."""
    return 10 * float(np.finfo(dtype).eps)


def _refuse_unseen(norms: Floats, sampler: Sampler) -> None:
    """Raise an error that names the first picture whose norm, of ``norms`` (n,), is zero."""
    unseen = np.flatnonzero(norms == 0)
    if unseen.size == 0:
        return
    height, width = sampler.frame.shape
    raise UnseenError(
        f"the {height}x{width} frame sees nothing of {sampler.names[unseen[0]]} "
        "(outside it, masked, or all zero there); "
        "use a smaller frame, another start, or leave the picture out"
    )
