"""Slabs on other machines: every worker holds a band of neighbouring ones.

The passes are those of ``slabs.py``; they are sent to the bands with small arguments, and what they
return is small. Pixels travel where a block of a projector reaches over the edge of a band (a few
rows of the frame), and at the end, when the result is put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.admm.blocks import HALOS, Pixels, joined, make_room
from rankfold.admm.held import Held
from rankfold.admm.layout import ALL, Slab, copy_slabs, places_of
from rankfold.admm.problem import Origin, Problem
from rankfold.admm.trees import Branch, Combine, total
from rankfold.manifold import AnyProjector, Context, Function, Overview, Projection, project_rows
from rankfold.manifold.contract import add_statistics
from rankfold.scale import Dask, Executor, Serial, Store, store_of

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
R = TypeVar("R")

# Arrays that a block of a projector may need of a neighbouring band.
SHARED = ("A", "V", "E", "W")
# Unit: values of an array. So many are sent, or fetched, at a time.
SENT = 2**20


def bands_of(problem: Problem, executor: Executor) -> Bands | None:
    """Return the bands of a problem on the workers of an executor.

    None where it has no workers, or where the problem is so small that an iteration takes less
    than a tenth of a second: then nothing is sent anywhere.
    """
    n, m = problem.data.shape
    places = places_of(n, m)
    if not isinstance(executor, Dask) or n > m or len(places) == 1:
        return None
    return Bands(problem, executor, [columns for _, columns in places])


@dataclass(frozen=True)
class Maker:
    """What is sent to a worker, to make its band."""

    images: int
    first: int  # the number of its first slab
    columns: list[slice]  # of its slabs
    sparsity: float
    dtype: str
    parameters: int  # p
    weighted: bool  # whether there is an Ω
    # How the worker makes D and Ω itself; None where they are sent afterwards.
    origin: Origin | None

    def __call__(self) -> Held:
        """Make the slabs of the band."""
        low = self.columns[0].start
        shape = (self.images, self.columns[-1].stop - low)
        if self.origin is None:
            data = np.zeros(shape, self.dtype)
            weights = np.ones(shape, self.dtype) if self.weighted else None
        else:
            data, valid = self.origin(slice(low, self.columns[-1].stop))
            weights = valid if self.weighted else None
        basis = np.zeros((self.images, self.parameters, shape[1]), self.dtype)
        problem = Problem(data, self.sparsity, weights, basis)
        inside = [slice(one.start - low, one.stop - low) for one in self.columns]
        slabs = copy_slabs(problem, [(ALL, columns) for columns in inside])
        for slab, columns in zip(slabs, self.columns, strict=True):
            slab.columns = columns
        # The slabs have a copy of all values. What is left of the problem is its shape.
        hollow = Problem(np.broadcast_to(data.dtype.type(0), shape), self.sparsity)
        return Held(hollow, Serial(), slabs, self.first)


class Bands:
    """The slabs of a problem on the workers of a cluster.

    Parameters
    ----------
    problem : Problem
        With more pixels than images.
    executor : Dask
    columns : list of slice
        Those of the slabs.
    """

    def __init__(self, problem: Problem, executor: Dask, columns: list[slice]) -> None:
        self._problem = problem
        self._store: Store = store_of(executor)
        self._columns = columns
        addresses = executor.addresses()
        shares = np.array_split(np.arange(len(columns)), min(len(addresses), len(columns)))
        # The slabs of every band: their numbers, in order.
        self._bands = [[int(k) for k in share] for share in shares]
        makers = [self._maker(band) for band in self._bands]
        self._placed = executor.place(makers, addresses[: len(makers)])
        try:
            self._send_what_is_lacking()
        except BaseException:
            self.close()
            raise

    def run(self, function: Callable[..., R], by: str, *shared: object) -> list[R]:
        """Return ``function(part, *shared)`` of every part, in the order of the slabs."""
        return list(chain.from_iterable(self._placed.call(_run, function, by, shared)))

    def total(self, function: Callable[..., R], combine: Combine[R], *shared: object) -> R:
        """Return what ``function(part, *shared)`` of all slabs comes to, in the tree's order."""
        found: list[list[Branch[R]]] = self._placed.call(_branches, function, combine, shared)
        return total(chain.from_iterable(found), combine)

    def project(self, projector: AnyProjector, gram: Floats | None) -> None:
        """Write Φ, the projection of A, to every slab; ``gram`` is A A'."""
        assert gram is not None
        problem = self._problem
        overview = Overview(gram, problem.row_units, problem.row_shape)
        self._placed.call(_make_room)
        if isinstance(projector, Function):
            self.load("P", project_rows(projector, self._context(overview)))
            return
        projection = projector.at(overview)
        wide = joined(self._columns, HALOS * projection.halo)
        tasks = [self._survey_of(band, wide, projection.halo) for band in self._bands]
        found = self._placed.call(_survey, projection, problem.data.shape[1], each=tasks)
        weights = projection.weights(add_statistics(list(chain.from_iterable(found))))
        self._placed.call(_embed, projection, weights, problem.data.shape[1])

    def load(self, name: str, array: Array) -> None:
        """Copy an array, n x m or n x p x m, into the slabs, a few megabytes at a time."""
        step = max(SENT // len(array), 1)
        for k, band in enumerate(self._bands):
            span = self._span(band)
            for low in range(span.start, span.stop, step):
                high = min(low + step, span.stop)
                self._placed.ask(k, _write, name, low, np.ascontiguousarray(array[..., low:high]))

    def gather(self, name: str) -> Array:
        """Return one array (n, m) put together, a few slabs at a time."""
        n, m = self._problem.data.shape
        whole = self._store.zeros((n, m), self._problem.data.dtype)
        for k, band in enumerate(self._bands):
            span = self._span(band)
            step = max(SENT // n, 1)
            for low in range(span.start, span.stop, step):
                high = min(low + step, span.stop)
                whole[:, low:high] = self._placed.ask(k, _read, name, low, high, m)
            self._store.done(whole)
        return whole

    def close(self) -> None:
        """Let the workers forget their bands."""
        self._placed.close()

    def _maker(self, band: list[int]) -> Maker:
        """What makes the band of some slabs, given by their numbers."""
        problem = self._problem
        return Maker(
            images=len(problem.data),
            first=band[0],
            columns=[self._columns[k] for k in band],
            sparsity=problem.sparsity,
            dtype=problem.data.dtype.str,
            parameters=problem.size,
            weighted=problem.weights is not None,
            origin=problem.origin,
        )

    def _send_what_is_lacking(self) -> None:
        """Send the workers what they cannot make themselves."""
        problem = self._problem
        if problem.basis is not None:
            self.load("Q", problem.basis)
        if problem.origin is not None:
            return
        self.load("V", problem.data)
        if problem.weights is not None:
            self.load("W", problem.weights)

    def _span(self, band: list[int]) -> slice:
        """The columns of a band."""
        return slice(self._columns[band[0]].start, self._columns[band[-1]].stop)

    def _survey_of(
        self, band: list[int], wide: list[slice], halo: int
    ) -> tuple[list[slice], list[Slab]]:
        """The blocks that begin in a band, and what it lacks for them of other bands."""
        span = self._span(band)
        own = [block for block in wide if span.start <= block.start < span.stop]
        if not own:
            return [], []
        m = self._problem.data.shape[1]
        low = max(own[0].start - halo, 0)
        high = min(own[-1].stop + halo, m)
        visitors = []
        for k, other in enumerate(self._bands):
            theirs = self._span(other)
            first = max(low, theirs.start)
            last = min(high, theirs.stop)
            if other is not band and first < last:
                arrays = [self._placed.ask(k, _read, name, first, last, m) for name in SHARED]
                visitors.append(_visitor(slice(first, last), *arrays))
        return own, visitors

    def _context(self, overview: Overview) -> Context:
        """The state in whole rows, for a projector that is a plain function."""
        weights = self._problem.weights
        return Context(
            low_rank=self.gather("A"),
            sparse=self.gather("E"),
            target=self.gather("V"),
            valid=None if weights is None else weights > 0,
            gram=overview.gram,
            units=overview.units,
            shape=overview.shape,
            executor=Serial(),
        )


# -- what is done by the worker of a band ---------------------------------------------------------


def _run(band: Held, function: Callable[..., R], by: str, shared: tuple[object, ...]) -> list[R]:
    """A pass over the slabs of a band."""
    return band.run(function, by, *shared)


def _branches(
    band: Held, function: Callable[..., R], combine: Combine[R], shared: tuple[object, ...]
) -> list[Branch[R]]:
    """What the slabs of a band come to, as far as they make up branches of the tree."""
    return band.branches(function, combine, *shared)


def _make_room(band: Held) -> None:
    """Room for Φ in every slab."""
    make_room(band.slabs, store_of(Serial()))


def _write(band: Held, name: str, low: int, array: Array) -> None:
    """Copy columns from ``low`` on into the slabs that have them."""
    high = low + array.shape[-1]
    for slab in band.slabs:
        first = max(low, slab.columns.start)
        last = min(high, slab.columns.stop)
        if first < last:
            inside = slice(first - slab.columns.start, last - slab.columns.start)
            getattr(slab, name)[..., inside] = array[..., first - low : last - low]


def _read(band: Held, name: str, low: int, high: int, m: int) -> Array:
    """Columns from low to high of an array; an empty one where there is none."""
    if getattr(band.slabs[0], name).size == 0:
        return np.ones((0, 0), band.slabs[0].V.dtype)
    return np.ascontiguousarray(Pixels(band.slabs, m).read(name, low, high))


def _survey(
    band: Held, task: tuple[list[slice], list[Slab]], projection: Projection, m: int
) -> list[tuple[Floats, ...]]:
    """Statistics of the blocks that begin in a band."""
    blocks, visitors = task
    everyone = sorted([*band.slabs, *visitors], key=lambda slab: slab.columns.start)
    pixels = Pixels(everyone, m)
    return [
        projection.statistics(pixels.block(columns, projection.halo, Serial()))
        for columns in blocks
    ]


def _embed(band: Held, projection: Projection, weights: Any, m: int) -> None:
    """Φ on the slabs of a band."""
    pixels = Pixels(band.slabs, m)
    for slab in band.slabs:
        projection.embed(pixels.block(slab.columns, 0, Serial()), weights, slab.P)


def _visitor(columns: slice, A: Array, V: Array, E: Array, W: Array) -> Slab:
    """Some columns of another band, as far as a block of a projector needs them."""
    none = np.ones((0, 0), A.dtype)
    return Slab(ALL, columns, none, V, none, W, none, A, E, none, none, runs=[], blocks=[])
