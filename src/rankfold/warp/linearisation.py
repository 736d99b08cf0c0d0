"""Line 3 and 4 of Algorithm 1: warp and normalise the images, differentiate, orthonormalise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor, Serial
from rankfold.families import Family, Floats, map_points, point_jacobian, shift
from rankfold.stack import Bools
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]

DEGENERATE = 1e-6  # directions in which a picture changes this much less than in its best are left alone
FLAT = 1e-6  # change of a unit-norm picture per px of corner motion below which it is flat


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

    @property
    def transforms(self) -> Floats:
        """The matrices T (n, 3, 3), last entry one."""
        matrices = self.base @ self.family.matrix(self.parameters) @ shift(-self.origin)
        return matrices / matrices[:, 2:, 2:]

    def matrix(self, index: int, parameters: Floats) -> Floats:
        """The matrix (3, 3) that image ``index`` would have with other parameters (p,)."""
        matrix = self.base[index] @ self.family.matrix(parameters) @ shift(-self.origin)
        return np.asarray(matrix / matrix[2, 2])

    def with_parameters(self, parameters: Floats) -> Motion:
        """The same bases, other parameters (n, p)."""
        return Motion(self.family, self.base, self.origin, parameters)

    def after(self, gauge: Floats) -> Motion:
        """All transforms T_i G^{-1} for one G (3, 3) of the family, in canonical coordinates."""
        local = shift(-self.origin) @ np.linalg.inv(gauge) @ shift(self.origin)
        return self.with_parameters(self.family.parameters(self.family.matrix(self.parameters) @ local))

    def jacobian(self, index: int, points: Floats) -> Floats:
        """Derivative (m, 2, p) of the source coordinates of canonical ``points`` (m, 2), by the chain rule."""
        local = points - self.origin
        inner = self.family.jacobian(self.parameters[index], local)
        mapped = map_points(self.family.matrix(self.parameters[index]), local)
        return np.asarray(point_jacobian(self.base[index], mapped) @ inner)

    def reach(self, index: int, corners: Floats) -> Floats:
        """How far (p,) in source px a unit of each parameter moves the corner that it moves most."""
        return np.asarray(np.abs(self.jacobian(index, corners)).max(axis=(0, 1)))


@dataclass(frozen=True)
class Linearised:
    """The data of one inner problem."""

    data: Array  # D, n x m: warped, unit norm over valid pixels, zero where missing
    basis: Array  # Q, n x p x m: orthonormal rows that span the columns of J_i; zero where missing
    increments: Floats  # n x p x p: Δτ_i = increments_i δ_i (R^{-1} of J = Q R, zero in degenerate directions)
    norms: Floats  # n_i
    valid: Bools  # n x m


def linearise(sampler: Sampler, motion: Motion, executor: Executor | None = None) -> Linearised:
    """Warp, normalise and differentiate every image at ``motion``.

    Threads only sample: BLAS and LAPACK called from several of them at once do not always give the same last bit.
    """
    grid, corners = sampler.frame.grid, sampler.frame.corners
    transforms = motion.transforms
    sampled = (executor or Serial()).run(
        lambda index: sampler.sample(index, transforms[index], with_gradient=True), range(len(sampler))
    )
    parts = []
    for index, (values, gradient, valid) in enumerate(sampled):
        jacobian = chain(gradient, motion.jacobian(index, grid))
        row = values.ravel()
        norm = _norm(row, sampler, index)
        d = row / norm
        # d(y/n) = (dy - d (d.dy)) / n, after the chain rule: the norm depends on every parameter
        J = (jacobian - (jacobian @ d)[:, None] * d) / norm
        Q, increments = orthonormalise(J, motion.reach(index, corners))
        parts.append((d, Q, increments, norm, np.tile(valid, len(values))))
    data, basis, increments, norms, valid = (np.stack(column) for column in zip(*parts, strict=True))
    return Linearised(data, basis, increments, norms, valid)


def warp_with_jacobian(
    sampler: Sampler, motion: Motion, index: int, grid: Floats, source: int | None = None
) -> tuple[Array, Array, Bools]:
    """Values (m,), their derivative (p, m) by the parameters, and validity (m,) of one image; m = c h w.

    ``source`` is the picture, where its number is not its place in the motion.
    """
    matrix = motion.matrix(index, motion.parameters[index])
    values, gradient, valid = sampler.sample(index if source is None else source, matrix, with_gradient=True)
    return values.ravel(), chain(gradient, motion.jacobian(index, grid)), np.tile(valid, len(values))


def chain(gradient: Array, coordinates: Floats) -> Array:
    """Picture gradient (c, 2, k) by coordinate Jacobian (k, 2, p): derivative (p, c k) by the parameters."""
    chained = np.einsum("cdk,kdp->pck", gradient, coordinates)
    return np.asarray(chained.reshape(coordinates.shape[2], -1).astype(gradient.dtype, copy=False))


def warp_normalised(
    sampler: Sampler, transforms: Floats, executor: Executor | None = None
) -> tuple[Array, Floats, Bools]:
    """D (n, m), norms (n,) and validity (n, m) without derivatives."""
    sampled = (executor or Serial()).run(lambda index: sampler.sample(index, transforms[index]), range(len(sampler)))
    norms = np.array([_norm(values, sampler, index) for index, (values, _, _) in enumerate(sampled)])
    data = np.stack([values.ravel() / float(norm) for (values, _, _), norm in zip(sampled, norms, strict=True)])
    return data, norms, np.stack([np.tile(valid, len(values)) for values, _, valid in sampled])


def orthonormalise(J: Array, reach: Floats) -> tuple[Array, Floats]:
    """Orthonormal rows Q (p, m) with the span of J (p, m), and the p x p matrix that turns δ into Δτ.

    ``reach`` (p,) is how far a unit of each parameter moves a corner (px): it makes the rows of J comparable. The SVD
    does the work of the thin QR and also shows directions that do not change the picture (a turn of a disc, any
    motion of a flat patch): those get a zero row and a zero increment instead of noise.
    """
    scaled = J.astype(np.float64, copy=False) / reach[:, None]
    U, s, Vt = np.linalg.svd(scaled, full_matrices=False)
    noise = 10 * float(np.finfo(J.dtype).eps)
    good = s > max(DEGENERATE * float(s[0]), FLAT, noise)
    Q = np.where(good[:, None], Vt, 0.0)
    increments = (U / reach[:, None]) * np.where(good, 1 / np.where(good, s, 1.0), 0.0)
    return Q.astype(J.dtype, copy=False), increments


def _norm(values: Array, sampler: Sampler, index: int) -> float:
    """Norm of one warped image, refused where there is nothing to normalise."""
    norm = float(np.linalg.norm(values.astype(np.float64, copy=False)))
    if norm == 0:
        h, w = sampler.frame.shape
        raise InputError(
            f"the {h}x{w} frame sees nothing of {sampler.names[index]} (outside it, masked, or all zero there); "
            "use a smaller frame, another start, or leave the picture out"
        )
    return norm
