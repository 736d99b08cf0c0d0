"""Slabs where they are held: in this process, in memory or in mapped files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.admm.blocks import project_onto
from rankfold.admm.layout import ALL, SLAB_VALUES, Slab, cut
from rankfold.admm.problem import Problem
from rankfold.admm.trees import Branch, Combine, grown, total
from rankfold.manifold import AnyProjector
from rankfold.scale import MEMORY, Executor, Serial, store_of

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
R = TypeVar("R")

# Shares into which a sum over slabs is cut, for threads. More would be more sums in memory.
SHARES = 8

# A slab and the rows, or the columns, of it that are done at a time.
Part = tuple[Slab, slice]


class Holder(Protocol):
    """Whoever holds the slabs of a problem."""

    def run(self, function: Callable[..., R], by: str, *shared: object) -> list[R]:
        """Return ``function(part, *shared)`` of every part, in the order of the slabs.

        ``by`` says what a part is: "whole" slabs, "runs" of rows, or "blocks" of columns.
        """
        ...

    def total(self, function: Callable[..., R], combine: Combine[R], *shared: object) -> R:
        """Return what ``function(part, *shared)`` of all slabs comes to, in the tree's order."""
        ...

    def project(self, projector: AnyProjector, gram: Floats | None) -> None:
        """Write Φ, the projection of A, to every slab; ``gram`` is A A' if that is known."""
        ...

    def load(self, name: str, array: Array) -> None:
        """Copy an array (n, m) into the slabs."""
        ...

    def gather(self, name: str) -> Array:
        """Return one array (n, m) put together."""
        ...

    def close(self) -> None:
        """Let go of the slabs, where they are on other machines."""
        ...


class Held:
    """The slabs of a problem in this process.

    Parameters
    ----------
    problem : Problem
    executor : Executor
        Who works on the slabs, and where they are kept.
    slabs : list of Slab, optional
        Where the problem is cut already.
    first : int
        The number of the first slab, where there are others elsewhere.
    """

    def __init__(
        self,
        problem: Problem,
        executor: Executor,
        slabs: list[Slab] | None = None,
        first: int = 0,
    ) -> None:
        self.first = first
        self._problem = problem
        self._executor = executor
        self._store = store_of(executor)
        self.slabs = cut(problem, self._store) if slabs is None else slabs

    def run(self, function: Callable[..., R], by: str, *shared: object) -> list[R]:
        """Return ``function(part, *shared)`` of every part, in the order of the slabs."""
        parts = [(slab, piece) for slab in self.slabs for piece in getattr(slab, by)]
        if self._store is MEMORY or len(self.slabs) == 1:
            return self._executor.run(function, parts, *shared)
        return self._executor.run(
            lambda k: self._streamed(function, k, shared), range(len(self.slabs))
        )

    def _streamed(self, function: Callable[..., R], k: int, shared: tuple[object, ...]) -> R:
        """Call a function on a whole slab, and read the next one ahead meanwhile."""
        if k + 1 < len(self.slabs):
            self._store.soon(self.slabs[k + 1].room)
        slab = self.slabs[k]
        found = function((slab, ALL), *shared)
        self._store.done(slab.room, slab.P)
        return found

    def total(self, function: Callable[..., R], combine: Combine[R], *shared: object) -> R:
        """Return what ``function(part, *shared)`` of all slabs comes to, in the tree's order."""
        return total(self.branches(function, combine, *shared), combine)

    def branches(
        self, function: Callable[..., R], combine: Combine[R], *shared: object
    ) -> list[Branch[R]]:
        """Return the largest branches of the tree that these slabs make up."""

        def add_up(share: range) -> list[Branch[R]]:
            leaves = (Branch(self.first + k, 1, self._streamed(function, k, shared)) for k in share)
            return grown(leaves, combine)

        count = len(self.slabs)
        step = -(-count // SHARES)
        shares = [range(k, min(k + step, count)) for k in range(0, count, step)]
        found = self._executor.run(add_up, shares)
        return grown((branch for some in found for branch in some), combine)

    def project(self, projector: AnyProjector, gram: Floats | None) -> None:
        """Write Φ, the projection of A, to every slab; ``gram`` is A A' if that is known."""
        # To wake a thread takes longer than a small problem saves by it.
        small = self._problem.data.size <= SLAB_VALUES
        executor = Serial() if small else self._executor
        project_onto(projector, self._problem, self.slabs, gram, executor)

    def load(self, name: str, array: Array) -> None:
        """Copy an array (n, m) into the slabs."""
        for slab in self.slabs:
            getattr(slab, name)[...] = array[slab.rows, slab.columns]
            self._store.done(array, slab.room)

    def gather(self, name: str) -> Array:
        """Return one array (n, m) put together; a single piece is returned as it is."""
        if len(self.slabs) == 1:
            piece: Array = getattr(self.slabs[0], name)
            return piece
        whole = self._store.zeros(self._problem.data.shape, self._problem.data.dtype)
        for slab in self.slabs:
            whole[slab.rows, slab.columns] = getattr(slab, name)
            self._store.done(whole, slab.room)
        return whole

    def close(self) -> None:
        """Do nothing: they go with this object."""
