"""Robust Lucas-Kanade: bring one picture to where a basis of other pictures explains it best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.basis import Basis, ridge_for, trust_in
from rankfold.align.settings import RegistrationSettings
from rankfold.align.steps import limited
from rankfold.families import Floats
from rankfold.warp.linearisation import Motion
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]


def register(
    sampler: Sampler,
    motion: Motion,
    index: int,
    parameters: Floats,
    others: Basis,
    numbers: RegistrationSettings,
    offset: float = 1.0,
) -> Floats:
    """Parameters (p,) of picture ``index``, from coarse to fine residuals.

    The basis is held. Pixels that it does not explain get little weight, fewer and fewer of them
    from one scale to the next. ``offset`` is taken off what is sampled: the one of features, zero
    for pixels.
    """
    basis = others.rows
    corners = sampler.frame.corners
    p = motion.family.size
    m = basis.shape[1]
    values = np.empty(m, sampler.dtype)
    valid = np.empty(m, np.bool_)
    # F(τ + Δ) ≈ F + JΔ = w B, hence the rows J and -B of one least-squares problem in (Δ, w).
    design, weighted = np.empty((2, p + len(basis), m), basis.dtype)
    np.negative(basis, out=design[p:])
    here = alone(motion, index, parameters)
    for factor in numbers.anneal:
        scale = factor * others.scale
        for _ in range(numbers.steps):
            matrices, derivatives = here.differentials
            sampler.differentiate(index, matrices[0], derivatives[0], values, design[:p], valid)
            if 2 * valid.sum() < valid.size:
                return np.asarray(here.parameters[0])
            row = np.where(valid, values - offset, 0).astype(values.dtype, copy=False)[None]
            residual = others.residual(row, valid[None], rounds=numbers.fit_rounds, scale=scale)[0]
            weight = trust_in(residual, valid, scale)
            np.multiply(design, weight, out=weighted)
            change = _solve(weighted, design, row[0])[:p]
            _, here, moved = limited(here, change[None], corners, numbers.trust)
            if moved[0] < numbers.still:
                break
    return np.asarray(here.parameters[0])


def _solve(weighted: Array, design: Array, row: Array) -> Floats:
    """Weighted least squares through the normal equations, with a ridge against rounding."""
    normal = (weighted @ design.T).astype(np.float64, copy=False)
    diagonal = np.maximum(np.diag(normal), 1e-300)
    normal += ridge_for(design.dtype) * np.diag(diagonal)
    return np.asarray(np.linalg.solve(normal, -(weighted @ row)))


def alone(motion: Motion, index: int, parameters: Floats) -> Motion:
    """The motion of one picture alone."""
    return Motion(motion.family, motion.base[index : index + 1], motion.origin, parameters[None])
