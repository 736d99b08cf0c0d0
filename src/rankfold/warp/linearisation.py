"""Line 3 and 4 of Algorithm 1: warp and normalise the images, differentiate, orthonormalise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor, shared_out
from rankfold.families import Family, Floats, coordinate_jacobian, shift
from rankfold.stack import Bools
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Motion:
    """Transforms as T_i = base_i F(parameters_i) shift(-origin), F in the family.

    ``base`` is where image i started, so that any start is allowed for any family (a translation may start from a
    zoomed frame), and ``origin`` is the canonical point about which F turns and scales: the middle of the frame
    keeps rotation and shift apart, which makes the linearisation hold further.
    """

    family: Family
    base: Floats  # (n, 3, 3)
    origin: Floats  # (2,)
    parameters: Floats  # (n, p)

    @classmethod
    def starting_at(cls, transforms: Floats, family: Family, origin: Floats) -> Motion:
        """No motion yet: parameters of the identity, base = the given transforms (n, 3, 3)."""
        parameters = np.tile(family.identity, (len(transforms), 1))
        return cls(family, transforms @ shift(origin), origin, parameters)

    @cached_property
    def transforms(self) -> Floats:
        """The matrices T (n, 3, 3), last entry one."""
        matrices = self.base @ self.family.matrix(self.parameters) @ shift(-self.origin)
        return matrices / matrices[:, 2:, 2:]

    def matrix(self, index: int, parameters: Floats) -> Floats:
        """The matrix (3, 3) that image ``index`` would have with other parameters (p,)."""
        matrix = self.base[index] @ self.family.matrix(parameters) @ shift(-self.origin)
        return np.asarray(matrix / matrix[2, 2])

    @cached_property
    def differentials(self) -> tuple[Floats, Floats]:
        """The matrices (n, 3, 3) before their last entry is made one, and their derivatives (n, p, 3, 3)."""
        away = shift(-self.origin)
        matrices = self.base @ self.family.matrix(self.parameters) @ away
        return matrices, self.base[:, None] @ self.family.derivative(self.parameters) @ away

    def with_parameters(self, parameters: Floats) -> Motion:
        """The same bases, other parameters (n, p)."""
        return Motion(self.family, self.base, self.origin, parameters)

    def after(self, gauge: Floats) -> Motion:
        """All transforms T_i G^{-1} for one G (3, 3) of the family, in canonical coordinates."""
        local = shift(-self.origin) @ np.linalg.inv(gauge) @ shift(self.origin)
        return self.with_parameters(
            self.family.parameters(self.family.matrix(self.parameters) @ local)
        )

    def jacobian(self, points: Floats) -> Floats:
        """Derivative (n, m, 2, p) of the source coordinates of canonical ``points`` (m, 2) by the parameters."""
        return coordinate_jacobian(*self.differentials, points)

    def reach(self, corners: Floats) -> Floats:
        """How far (n, p) in source px a unit of each parameter moves the corner that it moves most."""
        return np.asarray(np.abs(self.jacobian(corners)).max(axis=(1, 2)))


@dataclass(frozen=True)
class Linearised:
    """The data of one inner problem."""

    data: Array  # D, n x m: warped, unit norm over valid pixels, zero where missing
    basis: Array  # Q, n x p x m: orthonormal rows that span the columns of J_i; zero where missing
    increments: Floats  # n x p x p: Δτ_i = increments_i δ_i (R^{-1} of J = Q R, zero in degenerate directions)
    norms: Floats  # n_i
    valid: Bools  # n x m


def linearise(sampler: Sampler, motion: Motion, executor: Executor | None = None) -> Linearised:
    """Warp, normalise and differentiate every image at ``motion``."""
    from rankfold.warp.derivatives import normalise_and_orthonormalise

    matrices, derivatives = motion.differentials
    reach, noise = np.ascontiguousarray(motion.reach(sampler.frame.corners)), _noise(sampler.dtype)
    n, p, m = len(sampler), motion.family.size, int(np.prod(sampler.row_shape))
    data, valid, basis = (
        np.empty((n, m), sampler.dtype),
        np.empty((n, m), np.bool_),
        np.empty((n, p, m), sampler.dtype),
    )
    increments = np.empty((n, p, p))

    def one(i: int) -> float:
        sampler.differentiate(i, matrices[i], derivatives[i], data[i], basis[i], valid[i])
        return float(
            normalise_and_orthonormalise(data[i], basis[i], reach[i], noise, increments[i])
        )

    norms = _seen(np.array(shared_out(executor, (1 + p) * m).run(one, range(n))), sampler)
    return Linearised(data, basis, increments, norms, valid)


def warp_normalised(
    sampler: Sampler, transforms: Floats, executor: Executor | None = None
) -> tuple[Array, Floats, Bools]:
    """D (n, m), norms (n,) and validity (n, m) without derivatives."""
    from rankfold.sums import dot

    run = shared_out(executor, int(np.prod(sampler.row_shape))).run
    sampled = run(lambda index: sampler.sample(index, transforms[index]), range(len(sampler)))
    norms = _seen(
        np.array([np.sqrt(dot(values.ravel(), values.ravel())) for values, _, _ in sampled]),
        sampler,
    )
    data = np.stack(
        [values.ravel() / float(norm) for (values, _, _), norm in zip(sampled, norms, strict=True)]
    )
    return data, norms, np.stack([np.tile(valid, len(values)) for values, _, valid in sampled])


def _noise(dtype: npt.DTypeLike) -> float:
    """Rounding in sums of products of unit rows."""
    return 10 * float(np.finfo(dtype).eps)


def _seen(norms: Floats, sampler: Sampler) -> Floats:
    """Norms (n,) of warped images, refused where there is nothing to normalise."""
    for index in np.flatnonzero(norms == 0):
        h, w = sampler.frame.shape
        raise InputError(
            f"the {h}x{w} frame sees nothing of {sampler.names[index]} (outside it, masked, or all zero there); "
            "use a smaller frame, another start, or leave the picture out"
        )
    return norms
