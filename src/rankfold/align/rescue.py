"""Bring back single pictures that went astray: many starts, a robust fit to the others, and proof that it helped."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.robust import Basis, Model, ridge_for
from rankfold.align.steps import displacements, limit
from rankfold.executors import Executor
from rankfold.families import Family, Floats, get_family
from rankfold.warp.linearisation import Motion
from rankfold.warp.sampling import Sampler

Array = npt.NDArray[Any]

SUSPICIOUS = 1.5  # robust z-score of the cost
BETTER = 0.97  # a new place must lower the cost to this share
MOVED = 0.3  # canonical px: less is no rescue
KEPT_STARTS = 4
STEPS = 6  # of the robust Lucas-Kanade for each scale
ANNEAL = (4.0, 2.0, 1.0)  # times the ordinary residual


@dataclass(frozen=True)
class Search:
    """How far to look, in degrees and canonical px."""

    angles: tuple[float, ...]
    shifts: tuple[float, ...]
    bound: float  # corner displacement from the start beyond which a place is not believed

    @classmethod
    def near(cls) -> Search:
        """After a start that is nearly right."""
        return cls((-8.0, 0.0, 8.0), (-3.0, 0.0, 3.0), 8.0)

    @classmethod
    def wide(cls, side: int) -> Search:
        """After a coarse stage."""
        return cls(tuple(np.arange(-30.0, 31, 10)), tuple(np.arange(-7.5, 7.6, 2.5)), 0.6 * side)


LOCAL = Search((-4.0, 0.0, 4.0), (-1.5, 0.0, 1.5), np.inf)


def suspicious(cost: Floats) -> npt.NDArray[np.bool_]:
    """Pictures whose cost (n,) stands out."""
    centre = np.median(cost)
    spread = 1.4826 * float(np.median(np.abs(cost - centre)))
    return np.asarray((cost - centre) / max(spread, 1e-12) > SUSPICIOUS)


def rescue(
    sampler: Sampler,
    motion: Motion,
    start: Floats,
    model: Model,
    cost: Floats,
    search: Search,
    executor: Executor,
) -> tuple[Motion, npt.NDArray[np.bool_]]:
    """Search a better place for every suspicious picture; returns the new motion and who moved.

    ``model`` and ``cost`` (n,) belong to features without their +1; ``start`` (n, 3, 3) is where the run began.
    """
    chosen = np.flatnonzero(suspicious(cost))
    corners = sampler.frame.corners

    def one(i: int) -> Floats | None:
        now, others = motion.parameters[i], model.others(i, sampler.dtype)
        starts = _starts(sampler, motion, i, others, search)
        best, lowest = None, BETTER * cost[i]
        for parameters in [*starts, now]:
            found = register(sampler, motion, i, parameters, others)
            matrix = motion.matrix(i, found)
            if displacements(start[i : i + 1], matrix[None], corners)[0] > search.bound:
                continue
            value = _cost(sampler, motion, i, [found], others)[0]
            if (
                value < lowest
                and displacements(motion.matrix(i, now)[None], matrix[None], corners)[0] > MOVED
            ):
                best, lowest = found, value
        return best

    parameters = motion.parameters.copy()
    moved = np.zeros(len(parameters), dtype=bool)
    for i, found in zip(chosen, executor.run(one, [int(i) for i in chosen]), strict=True):
        if found is not None:
            parameters[i], moved[i] = found, True
    return motion.with_parameters(parameters), moved


def register(
    sampler: Sampler, motion: Motion, index: int, parameters: Floats, others: Basis
) -> Floats:
    """Robust Lucas-Kanade of one picture against the basis of the others, from coarse to fine residuals."""
    basis = others.rows
    corners = sampler.frame.corners
    p, m = motion.family.size, basis.shape[1]
    values, valid = np.empty(m, sampler.dtype), np.empty(m, np.bool_)
    design, weighted = np.empty(
        (2, p + len(basis), m), basis.dtype
    )  # F(τ + Δ) ≈ F + JΔ = w B: rows J and -B
    np.negative(basis, out=design[p:])
    for factor in ANNEAL:
        scale = factor * others.scale
        for _ in range(STEPS):
            here = _with(motion, index, parameters)
            matrices, derivatives = here.differentials
            sampler.differentiate(index, matrices[0], derivatives[0], values, design[:p], valid)
            if 2 * valid.sum() < valid.size:
                return parameters
            row = np.where(valid, values - 1, values.dtype.type(0))[None]
            residual = others.residual(row, valid[None], rounds=2, scale=scale)[0]
            weight = valid * (scale**2 / (scale**2 + residual**2)) ** 2
            # one weighted least-squares problem in (Δ, w)
            np.multiply(design, weight, out=weighted)
            normal = (weighted @ design.T).astype(np.float64, copy=False)
            normal += ridge_for(basis.dtype) * np.diag(np.maximum(np.diag(normal), 1e-300))
            change = np.linalg.solve(normal, -(weighted @ row[0]))[:p]
            step = limit(here, change[None], corners, trust=3.0)[0]
            parameters = parameters + step
            if (
                displacements(
                    here.transforms, _with(motion, index, parameters).transforms, corners
                )[0]
                < 0.01
            ):
                break
    return parameters


def _starts(
    sampler: Sampler, motion: Motion, index: int, others: Basis, search: Search
) -> list[Floats]:
    """The most promising places of a grid around the start and of a small one around the current place."""
    family = motion.family
    current = family.matrix(motion.parameters[index])
    around_start = [family.parameters(M) for M in _grid(family, search)]
    around_now = [family.parameters(current @ M) for M in _grid(family, LOCAL)]
    candidates = around_start + around_now
    cost = np.concatenate(
        [
            _cost(sampler, motion, index, candidates[k : k + 48], others)
            for k in range(0, len(candidates), 48)
        ]
    )
    return [candidates[k] for k in np.argsort(cost, kind="stable")[:KEPT_STARTS]]


def _grid(family: Family, search: Search) -> list[Floats]:
    """Turns and shifts about the middle of the frame, as matrices of the family."""
    angles = (0.0,) if family.name == "translation" else search.angles
    euclidean = get_family("euclidean")
    return [
        euclidean.matrix(np.array([np.radians(a), x, y]))
        for a, x, y in product(angles, search.shifts, search.shifts)
    ]


def _cost(
    sampler: Sampler, motion: Motion, index: int, candidates: list[Floats], others: Basis
) -> Floats:
    """Robust cost (k,) of a picture at other parameters; the highest where it would see less than half."""
    rows, valid = sampler.sample_many(
        index, np.stack([motion.matrix(index, parameters) for parameters in candidates])
    )
    rows -= 1
    cost = others.cost(np.where(valid, rows, rows.dtype.type(0)), valid)
    return np.where(2 * valid.sum(axis=1) < valid.shape[1], np.inf, cost)


def _with(motion: Motion, index: int, parameters: Floats) -> Motion:
    """The motion of one picture alone."""
    return Motion(motion.family, motion.base[index : index + 1], motion.origin, parameters[None])
