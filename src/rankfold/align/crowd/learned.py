"""What an aligned sample teaches: how to place, to explain and to judge another picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, solve, weights_of
from rankfold.align.agreement import confirmation, feature_rows
from rankfold.align.basis import Basis, leading_rows, ordinary_residual, robust_spread
from rankfold.align.confirmation import Confirmation, Newcomers
from rankfold.align.job import Job
from rankfold.align.model import Model, fit_model
from rankfold.align.progress import Progress, Rows
from rankfold.align.request import Request
from rankfold.align.rescue import came_from_far
from rankfold.families import Floats
from rankfold.scale import Serial
from rankfold.stack import LUMINANCE, Stack
from rankfold.verdicts import BatchVerdict
from rankfold.warp.linearisation import warp_normalised

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

# Of the largest singular value: directions below it are rounding.
FAINT = 1e-6
# Pictures of the sample whose residuals tell what is ordinary.
ASKED = 24


@dataclass(frozen=True)
class Explaining:
    """The low-rank basis of the sample, to which other pictures are fitted.

    Attributes
    ----------
    rows : (r, c m) array
        Orthonormal, the strongest first.
    coefficients : (k, r) array
        Of the sample's own low-rank pictures, in the caller's units.
    seen : (c m,) array
        Pixels that some picture of the sample shows.
    noise : float
        An ordinary residual in rows of unit norm.
    """

    rows: Array
    coefficients: Floats
    seen: Bools
    noise: float

    def leading(self, rank: int) -> Floats:
        """Return the strongest rows, in double precision: at most ``rank`` of them."""
        return self._wide[:rank]

    @cached_property
    def _wide(self) -> Floats:
        """The rows in double precision, which a fit needs."""
        return self.rows.astype(np.float64)


@dataclass(frozen=True)
class Level:
    """One frame on which pictures are placed by their contrast features.

    Attributes
    ----------
    side : int or None
        Its short side; None for the frame of the search.
    basis : Basis
        Of the sample's features.
    """

    side: int | None
    basis: Basis

    def job(self, small: Job) -> Job:
        """Return a job of the search on this frame."""
        return small if self.side is None else small.on_smaller_frame(self.side)


@dataclass(frozen=True)
class Learned:
    """What the sample teaches.

    Attributes
    ----------
    request : Request
        Of the sample, with its first picture alone: the others would fill the memory.
    transforms, start, origin, base : (k, 3, 3) arrays
        Of the sample, into its pictures as they were read: where they are, where they were given,
        where the search began, and for where they were prepared.
    levels : tuple of Level
        From the coarsest frame to that of the search; empty for a method that moves nothing.
    limit : float
        Up to this cost on the last level a picture fits as those of the sample do.
    pixels : Basis or None
        Of the pixels from which transforms come; like the above.
    on_whole : bool
        Whether the pixels are those of the whole frame, not those of the search.
    explaining : Explaining
    found : Confirmation
        How far the pictures of the sample confirm each other.
    newcomers : Newcomers
    batch : BatchVerdict
        On the sample.
    far : bool
        Whether its pictures came from far, so that others may be far off too.
    """

    request: Request
    transforms: Floats
    start: Floats
    origin: Floats
    base: Floats
    levels: tuple[Level, ...]
    limit: float
    pixels: Basis | None
    on_whole: bool
    explaining: Explaining
    found: Confirmation
    newcomers: Newcomers
    batch: BatchVerdict
    far: bool

    def job_for(self, one: Stack, base: Floats) -> Job:
        """Return the job of a single picture that is prepared for ``base`` (3, 3)."""
        return Job(replace(self.request, stack=one, start=base[None]), Serial())


def learn(job: Job, progress: Progress, start: Floats, origin: Floats | None = None) -> Learned:
    """Learn from a job of which all stages are done.

    ``start`` (k, 3, 3) is what it was given, ``origin`` (k, 3, 3) where its search began, if it
    was aligned twice.
    """
    request = job.request
    settings = request.settings
    judgement = progress.judgement
    assert judgement is not None
    assert progress.rows is not None
    assert progress.decomposition is not None
    transforms = progress.transforms(job)
    explaining = explaining_of(
        progress.rows, progress.decomposition.low_rank, request.stack, settings.sample.scale
    )
    found = confirmation(job, transforms)
    levels: tuple[Level, ...] = ()
    limit = np.inf
    pixels = None
    on_whole = True
    if request.method.moves:
        small = job.search if request.searches_small else job
        levels, limit = _levels(small, job.to_smaller(small, transforms))
        # Where the whole frame shows noise, no step was taken on it, and none should be now.
        on_whole = small is job or "fine" in progress.moved
        if on_whole:
            pixels = _guide(explaining, job)
        else:
            pixels = _searched_pixels(small, job.to_smaller(small, transforms))
    return Learned(
        request=replace(request, stack=request.stack.only(0), start=request.start[:1]),
        transforms=transforms,
        start=start,
        origin=progress.origin if origin is None else origin,
        base=progress.origin,
        levels=levels,
        limit=limit,
        pixels=pixels,
        on_whole=on_whole,
        explaining=explaining,
        found=found,
        newcomers=Newcomers.after(found, settings.verdicts),
        batch=judgement.batch,
        far=came_from_far(progress),
    )


def explaining_of(rows: Rows, low_rank: Array, stack: Stack, scale: float) -> Explaining:
    """Find the basis of low-rank rows (k, c m) by the k x k matrix of their products."""
    seen = np.asarray(rows.valid.any(axis=0))
    squares, vectors = np.linalg.eigh((low_rank @ low_rank.T).astype(np.float64))
    singular = np.sqrt(np.maximum(squares, 0.0))
    # The strongest first.
    kept = np.flatnonzero(singular > FAINT * singular[-1])[::-1]
    basis = (vectors[:, kept] / singular[kept]).T.astype(low_rank.dtype) @ low_rank
    coordinates = vectors[:, kept] * singular[kept]  # k x r
    norms = (rows.norms * stack.units)[:, None]
    some = np.unique(np.linspace(0, len(low_rank) - 1, ASKED).round().astype(int))
    rest = [(rows.data[k] - low_rank[k])[rows.valid[k]] for k in some]
    noise = ordinary_residual(np.concatenate(rest).astype(np.float64), scale)
    return Explaining(basis, coordinates * norms, seen, max(noise, 1e-9))


def _levels(small: Job, transforms: Floats) -> tuple[tuple[Level, ...], float]:
    """Bases of the sample's features at its transforms (k, 3, 3), and what usually fits them."""
    settings = small.request.settings
    side = min(small.request.frame.shape)
    sides: list[int | None] = [None]
    for k in range(1, settings.sample.levels):
        if side // 2**k >= settings.sample.least_side:
            sides.append(side // 2**k)
    levels = []
    for wanted in reversed(sides):
        job = small if wanted is None else small.on_smaller_frame(wanted)
        rank = None if wanted is None else settings.sample.coarse_rank
        model, basis, cost = _features(job, small.to_smaller(job, transforms), rank)
        levels.append(Level(wanted, Basis.of(basis.astype(job.rough), model.scale, model.rounds)))
    # The last level is the finest.
    limit = float(np.median(cost)) + settings.sample.spread * robust_spread(cost)
    return tuple(levels), limit


def _features(job: Job, transforms: Floats, rank: int | None) -> tuple[Model, Array, Floats]:
    """Leave-one-out model of the sample's features, one basis of all, and the costs (k,)."""
    numbers = job.request.settings.basis
    rows, low_rank, valid = feature_rows(job, transforms)
    model = fit_model(rows, low_rank, valid, numbers, rank=rank, executor=job.executor)

    def costs(group: npt.NDArray[np.int_]) -> Floats:
        return model.others(group[0]).cost(rows[group], valid[group])

    size = max(len(basis) for basis in model.bases)
    basis = leading_rows(low_rank.astype(np.float64), size)
    return model, basis, model.for_groups(costs, job.executor)


def _guide(explaining: Explaining, job: Job) -> Basis:
    """Basis of the pixels from which transforms come, on the whole frame."""
    rows = explaining.rows[: job.request.settings.basis.max_rank]
    noise = explaining.noise
    if not job.guided_by_all:
        # Grey is a sum of the channels, so that the grey basis follows from the one in colour.
        channels = job.request.stack.channels
        weights = LUMINANCE if channels == 3 else np.full(channels, 1 / channels)
        planes = rows.reshape(len(rows), channels, -1)
        rows = np.einsum("rcm,c->rm", planes, weights)
        # Columns of Q span the same rows.
        rows = np.linalg.qr(rows.T)[0].T
        # A row of unit norm has larger values where it has fewer of them.
        noise *= float(np.sqrt(channels))
    return _single(rows, noise)


def _searched_pixels(small: Job, transforms: Floats) -> Basis:
    """Basis of the pixels on the smaller frame, where the whole one shows noise."""
    data, norms, valid = warp_normalised(small.pixels, transforms, small.executor)
    problem = Problem(data, small.sparsity(small.pixels), weights_of(valid))
    settings = small.plain(small.request.settings.features.tol, "reweighted")
    low_rank = solve(problem, settings, small.executor).low_rank
    rows = Rows(data, norms, valid, small.pixels.value_range / norms, small.pixels.row_shape)
    numbers = small.request.settings
    found = explaining_of(rows, low_rank, small.request.stack, numbers.sample.scale)
    return _single(found.rows[: numbers.basis.max_rank], found.noise)


def _single(rows: Array, noise: float) -> Basis:
    """Basis for one picture at a time, which needs no products of all pairs of its rows."""
    wide = np.ascontiguousarray(rows, dtype=np.float64)
    return Basis(wide, wide[:0], noise)
