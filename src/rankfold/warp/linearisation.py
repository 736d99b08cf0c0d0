"""Line 3 and 4 of Algorithm 1: warp and normalise the images, differentiate, orthonormalise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor, Serial
from rankfold.families import Family, Floats, coordinate_jacobian, shift
from rankfold.stack import Bools
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]

RUN = 16  # images that are differentiated at a time: enough to be quick, few enough to stay small
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

    @property
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
        return self.with_parameters(self.family.parameters(self.family.matrix(self.parameters) @ local))

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
    reach = motion.reach(sampler.frame.corners)
    matrices, derivatives = motion.differentials

    def run_of(first: int) -> tuple[Array, Array, Floats, Floats, Bools]:
        members = range(first, min(first + RUN, len(sampler)))
        parts = [sampler.differentiate(i, matrices[i], derivatives[i]) for i in members]
        values, jacobian, valid = (np.stack(column) for column in zip(*parts, strict=True))
        norms = np.array([_norm(row, sampler, i) for i, row in zip(members, values, strict=True)])
        n = norms[:, None].astype(values.dtype)
        d = values / n
        # d(y/n) = (dy - d (d.dy)) / n, after the chain rule: the norm depends on every parameter
        jacobian -= (jacobian @ d[:, :, None]) * d[:, None]
        jacobian /= n[:, None]
        return d, *orthonormalise(jacobian, reach[members.start : members.stop]), norms, valid

    runs = (executor or Serial()).run(run_of, range(0, len(sampler), RUN))
    return Linearised(*(np.concatenate(column) for column in zip(*runs, strict=True)))


def warp_normalised(
    sampler: Sampler, transforms: Floats, executor: Executor | None = None
) -> tuple[Array, Floats, Bools]:
    """D (n, m), norms (n,) and validity (n, m) without derivatives."""
    sampled = (executor or Serial()).run(lambda index: sampler.sample(index, transforms[index]), range(len(sampler)))
    norms = np.array([_norm(values, sampler, index) for index, (values, _, _) in enumerate(sampled)])
    data = np.stack([values.ravel() / float(norm) for (values, _, _), norm in zip(sampled, norms, strict=True)])
    return data, norms, np.stack([np.tile(valid, len(values)) for values, _, valid in sampled])


def orthonormalise(J: Array, reach: Floats) -> tuple[Array, Floats]:
    """Orthonormal rows Q (k, p, m) with the span of J (k, p, m), and the p x p matrices that turn δ into Δτ.

    ``reach`` (k, p) is how far a unit of each parameter moves a corner (px): it makes the rows of J comparable. The
    eigenvectors of their Gram matrix do the work of the thin QR, twice, because once leaves an error that grows with
    the square of the condition. They also show directions that do not change the picture (a turn of a disc, any
    motion of a flat patch): those get a zero row and a zero increment instead of noise.
    """
    S = J.astype(np.float64, copy=False) / reach[:, :, None]
    squares, U = np.linalg.eigh(S @ S.swapaxes(1, 2))
    s = np.sqrt(np.maximum(squares, 0.0))  # k x p, ascending
    noise = 10 * float(np.finfo(J.dtype).eps)
    good = s > np.maximum(DEGENERATE * s[:, -1:], max(FLAT, noise))
    T = U.swapaxes(1, 2) * np.where(good, 1 / np.where(good, s, 1.0), 0.0)[:, :, None]
    Q = T @ S
    again = Q @ Q.swapaxes(1, 2) + np.where(good, 0.0, 1.0)[:, :, None] * np.eye(S.shape[1])
    correction = np.linalg.inv(np.linalg.cholesky(again))
    increments = (correction @ T).swapaxes(1, 2) / reach[:, :, None]
    return (correction @ Q).astype(J.dtype, copy=False), increments


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
