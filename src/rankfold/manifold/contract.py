"""What a projector is, what it is given, and what it returns.

A projector holds its parameters. At the moment of a projection it is told what is known of all
images without their pixels (:class:`Overview`) and answers with a :class:`Projection`: three small
pieces that see some pixels of all images at a time (:class:`Block`), so that no n x m array is ever
put together.

    statistics(block)             small arrays, summed over the blocks
    weights(their sum)            from n x n and smaller
    embed(block, weights, out)    Φ on the block
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import array_of, is_real
from rankfold.errors import InputError
from rankfold.scale import Executor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Of the largest value of the data. Far above it the parts would add up to rounding errors.
LARGEST_ANSWER = 1e6


@dataclass(frozen=True)
class Overview:
    """What is known of all images without their pixels. Do not write to it."""

    gram: Floats  # A A', n x n
    units: Floats  # (n,): the range of a pixel, black to white, in row i
    shape: tuple[int, int, int]  # (channels, height, width) of a row


@dataclass(frozen=True)
class Block:
    """Some neighbouring pixels of all images, b of them. Do not write to it."""

    low_rank: Array  # A, n x b
    target: Array  # V_m = D + Qδ, n x b
    sparse: Array  # E, n x (before + b + after): with the pixels around the block
    valid: Bools | None  # n x b; None = all
    first: int  # where the block begins in a row
    before: int  # how many pixels of `sparse` come before the block
    executor: Executor  # to share the work on this block out

    @property
    def size(self) -> int:
        """b, the number of pixels."""
        return int(self.low_rank.shape[1])


class Projection(ABC):
    """A projector at work on one state of the solver: three pieces."""

    # How many pixels of E before and after a block `statistics` wants to see.
    halo: int = 0

    def statistics(self, block: Block) -> tuple[Floats, ...]:  # noqa: ARG002
        """Small arrays that are summed over all blocks, in their order; none by default."""
        return ()

    @abstractmethod
    def weights(self, total: tuple[Floats, ...]) -> Any:
        """What :meth:`embed` needs, from the sums of the statistics."""

    @abstractmethod
    def embed(self, block: Block, weights: Any, out: Array) -> None:
        """Write Φ on the block (n x b) to ``out``."""


class Projector(ABC):
    """The parameters of a projection onto a manifold; a row of PROJECTORS makes one."""

    @abstractmethod
    def at(self, overview: Overview) -> Projection:
        """The projection at a state of the solver."""


@dataclass(frozen=True)
class Context:
    """The state of the solver in whole rows, for projectors that are plain functions."""

    low_rank: Array  # A, n x m
    sparse: Array  # E, n x m
    target: Array  # V_m = D + Qδ, n x m
    valid: Bools | None  # n x m; None = all
    gram: Floats  # A A', n x n
    units: Floats  # (n,): the range of a pixel, black to white, in row i
    shape: tuple[int, int, int]  # (channels, height, width) of a row
    executor: Executor

    @property
    def overview(self) -> Overview:
        """The part of it that has no pixels."""
        return Overview(self.gram, self.units, self.shape)

    @property
    def block(self) -> Block:
        """All pixels as one block."""
        return Block(
            self.low_rank, self.target, self.sparse, self.valid, 0, 0, executor=self.executor
        )


WholeRows = Callable[[Context], Array]
"""A function from a Context to Φ, an array like A whose rows are on the manifold, or nearer to it.

The solver calls it where a :class:`Projector` could stand; all pixels must be in memory.
"""


@dataclass(frozen=True, repr=False)
class Function:
    """A function on whole rows in the place of a projector, its answer checked every time.

    It needs all pixels of all images at once, so it works only where they are in memory.
    """

    function: WholeRows

    def __call__(self, context: Context) -> Array:
        """Φ (n, m), refused where it is not like A, not finite or far too large."""
        phi = array_of(self.function(context), f"the answer of the projector {self.name}")
        if phi.shape != context.low_rank.shape:
            raise InputError(
                f"the projector {self.name} returned shape {phi.shape}; it must return an array "
                f"like the low-rank rows, {context.low_rank.shape}"
            )
        if not is_real(phi.dtype):
            raise InputError(
                f"the projector {self.name} returned type {phi.dtype}; it must return real numbers"
            )
        with np.errstate(over="ignore"):
            # A type that is wider than the precision may hold more than that does.
            rows = np.ma.filled(phi.astype(context.low_rank.dtype, copy=False), np.nan)
        if not np.isfinite(rows).all():
            raise InputError(
                f"the projector {self.name} returned NaN or infinity, or masked values; every one "
                "must be finite"
            )
        largest = float(np.abs(context.target).max(initial=0))
        if np.abs(rows).max(initial=0) > LARGEST_ANSWER * largest:
            raise InputError(
                f"the projector {self.name} returned values of more than {LARGEST_ANSWER:g} times "
                "the largest of the data; it must return the low-rank rows, moved to the manifold"
            )
        return rows

    @property
    def name(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __repr__(self) -> str:
        """Its name, without a place in memory."""
        return f"Function({self.name})"


AnyProjector = Projector | Function
"""What the solver takes as a projector."""


def add_statistics(parts: list[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Sum the statistics of all blocks, in their order."""
    total = parts[0]
    for part in parts[1:]:
        total = tuple(one + other for one, other in zip(total, part, strict=True))
    return total


def project_rows(projector: AnyProjector, context: Context) -> Array:
    """Φ (n, m) from whole rows, by any projector."""
    if isinstance(projector, Function):
        return projector(context)
    projection = projector.at(context.overview)
    block = context.block
    weights = projection.weights(projection.statistics(block))
    phi = np.empty_like(context.low_rank)
    projection.embed(block, weights, phi)
    return phi
