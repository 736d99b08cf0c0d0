"""Originals that are read again: where they lie, and how they were read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, RankfoldError
from rankfold.stack import Stack

if TYPE_CHECKING:
    from rankfold.io import Source


class Originals(Protocol):
    """Pictures that can be read again."""

    def read(self, indices: Sequence[int]) -> Iterator[Stack]:
        """Give the pictures at ascending ``indices``, each as a stack of one."""


@dataclass(frozen=True)
class OnDisk:
    """Originals that lie on disk; they are looked for when the first one is asked for.

    Attributes
    ----------
    path : str
        Absolute, or a pattern.
    opened_with : mapping
        See :attr:`rankfold.io.Source.opened_with`.
    names : n strings
    shapes : (n, 2) array
        Height and width of each, by which a picture that was replaced is known.
    reduction : int
    span, unit : float
        Range and unit of the batch, see :meth:`rankfold.stack.Stack.as_part_of`.
    dtype : str
    """

    path: str
    opened_with: Mapping[str, Any]
    names: tuple[str, ...]
    shapes: npt.NDArray[np.int_]
    reduction: int
    span: float
    unit: float
    dtype: str

    def read(self, indices: Sequence[int]) -> Iterator[Stack]:
        """Give the pictures at ascending ``indices``, each as a stack of one."""
        source = self.opened
        wanted = [self._places.get(self.names[k], -1) for k in indices]
        for k, place in zip(indices, wanted, strict=True):
            gone = place < 0 or tuple(source.shapes[place][:2]) != tuple(self.shapes[k])
            if gone:
                raise FormatError(
                    f"{self.names[k]} is no longer in {self.path} as it was aligned; put it back, "
                    "or use low_rank, which does not need it"
                )
        for name, picture in zip(
            (self.names[k] for k in indices), source.some(wanted).pictures(), strict=True
        ):
            masks = None if picture.mask is None else [picture.mask]
            one = Stack.of([picture.values], masks, [name], np.dtype(self.dtype))
            yield one.reduced(self.reduction, views=False).as_part_of(self.span, self.unit)

    @cached_property
    def opened(self) -> Source:
        """The pictures, opened once more: that looks at all headers, so it is done once."""
        from rankfold.io import reopen

        try:
            return reopen(self.path, self.opened_with)
        except RankfoldError as error:
            raise FormatError(
                f"the originals cannot be read again ({error}); put them back where they were, or "
                "use low_rank, which does not need them"
            ) from error

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where the pictures are now, by their names."""
        return {name: k for k, name in enumerate(self.opened.names)}

    def facts(self) -> dict[str, Any]:
        """Give what is stored, besides what a result has anyway."""
        return {
            "path": self.path,
            "opened_with": dict(self.opened_with),
            "reduction": self.reduction,
            "span": self.span,
            "unit": self.unit,
            "read_as": self.dtype,
        }


def absolute(path: str) -> str:
    """Write a path or a pattern so that it means the same from every folder."""
    return os.path.abspath(path)  # noqa: PTH100 (a pattern is no path)
