"""Batches of which one picture is looked at after the other: on disk, or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rankfold.io import Source
from rankfold.lazy import OnDisk, Originals, absolute
from rankfold.stack import Stack


class Batch(Protocol):
    """Pictures of which the sample is read together and all others one by one."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the n pictures are called."""

    @property
    def shapes(self) -> npt.NDArray[np.int_]:
        """Height and width (n, 2) of the originals."""

    def together(self, indices: Sequence[int]) -> Stack:
        """Read some pictures into memory."""

    def as_part_of(self, sample: Stack) -> Originals:
        """Return who reads single pictures, in the range and the unit of the sample."""


@dataclass(frozen=True)
class InMemory:
    """Pictures that are in memory already."""

    stack: Stack

    @property
    def names(self) -> tuple[str, ...]:
        """What the n pictures are called."""
        return self.stack.names

    @property
    def shapes(self) -> npt.NDArray[np.int_]:
        """Height and width (n, 2) of the originals."""
        return np.array(self.stack.original_shapes)

    def together(self, indices: Sequence[int]) -> Stack:
        """Return some pictures."""
        return self.stack.some(indices)

    def as_part_of(self, sample: Stack) -> Held:
        """Return who gives single pictures, in the range and the unit of the sample."""
        return Held(self.stack, sample.value_range, unit_of_floats(sample))


@dataclass(frozen=True)
class Held:
    """Originals in memory."""

    stack: Stack
    span: float
    unit: float

    def read(self, indices: Sequence[int]) -> Iterator[Stack]:
        """Give the pictures at ``indices``, each as a stack of one."""
        for k in indices:
            yield self.stack.only(k).as_part_of(self.span, self.unit)


@dataclass(frozen=True)
class FromSource:
    """Pictures on disk, read so many times coarser than they are."""

    source: Source
    reduction: int
    dtype: npt.DTypeLike
    # Whether the sample keeps small copies for matching, and who is told of its pictures.
    views: bool = True
    watch: Callable[[], object] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the n pictures are called."""
        return self.source.names

    @property
    def shapes(self) -> npt.NDArray[np.int_]:
        """Height and width (n, 2) of the originals."""
        return np.array([shape[:2] for shape in self.source.shapes])

    @property
    def shape(self) -> tuple[int, ...]:
        """(h, w) or (h, w, c) of a picture as it is read, where all have one size."""
        height, width, *channels = self.source.shapes[0]
        return (height // self.reduction, width // self.reduction, *channels)

    def singles(self) -> Iterator[Stack]:
        """Read one picture after the other, each as a stack of one."""
        for one in self.source.singles(self.reduction, self.dtype):
            yield one
            if self.watch is not None:
                self.watch()

    def together(self, indices: Sequence[int]) -> Stack:
        """Read some pictures into memory."""
        self.source.check_one_kind()
        watch = {} if self.watch is None else {"watch": self.watch}
        some = self.source.some(indices)
        return some.stack(self.reduction, self.dtype, views=self.views, **watch)

    def as_part_of(self, sample: Stack) -> Streamed:
        """Return who reads single pictures, in the range and the unit of the sample."""
        return Streamed(
            path=absolute(self.source.path),
            opened_with=self.source.opened_with,
            names=self.names,
            shapes=self.shapes,
            reduction=self.reduction,
            span=sample.value_range,
            unit=unit_of_floats(sample),
            dtype=str(np.dtype(self.dtype)),
            at_hand=self.source,
        )


@dataclass(frozen=True)
class Streamed(OnDisk):
    """Originals on disk that were opened already."""

    at_hand: Source

    @cached_property
    def opened(self) -> Source:
        """The pictures as they were opened."""
        return self.at_hand


def unit_of_floats(sample: Stack) -> float:
    """Return what 1.0 is in the pictures of a sample that did not come as integers."""
    return float(sample.units[~sample.came_as_integers].max(initial=0.0)) or 1.0
