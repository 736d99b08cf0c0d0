"""Pictures that lie on disk: what is known of them before they are read, and one after the other when they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError, RankfoldError
from rankfold.stack import LUMINANCE, Bools, Stack

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Picture:
    """One picture as its file has it."""

    values: Array  # (h, w) or (h, w, c), in the file's own type
    mask: Bools | None = None  # (h, w): True where the pixel may be used; None = everywhere

    @property
    def grey(self) -> Picture:
        """The same in grey, of the same type."""
        if self.values.ndim == 2:
            return self
        c = self.values.shape[2]
        mean = self.values @ (LUMINANCE if c == 3 else np.full(c, 1 / c))
        return Picture(as_type(mean, self.values.dtype), self.mask)


@dataclass(frozen=True)
class Source:
    """Pictures that can be read one at a time, in order. Made by :func:`rankfold.io.open_pictures`."""

    path: str
    format: str  # a row of FORMATS
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]  # (h, w) or (h, w, c) of each
    dtypes: tuple[np.dtype[Any], ...]  # of each
    iterate: Callable[
        [], Iterator[Picture | FormatError]
    ]  # a picture that cannot be read is given as its error
    rate: float | None = None  # pictures a second, of a video
    left_out: tuple[str, ...] = ()  # files that are no pictures

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that holds all of them."""
        return np.result_type(*set(self.dtypes))

    @property
    def channels(self) -> int:
        """Values a pixel; 1 for grey."""
        return self.shapes[0][2] if len(self.shapes[0]) == 3 else 1

    def pictures(self) -> Iterator[Picture]:
        """Every picture in turn; the first that cannot be read ends it."""
        for item in self.iterate():
            if isinstance(item, FormatError):
                raise item
            yield item

    def without_bad(self) -> Source:
        """The same without pictures that cannot be read; reads everything once to find out."""
        good = [not isinstance(item, FormatError) for item in self.iterate()]
        if not any(good):
            raise FormatError(
                f"none of the {len(self)} pictures in {self.path} can be read; check the files"
            )
        bad = tuple(name for name, ok in zip(self.names, good, strict=True) if not ok)
        return replace(
            self,
            names=tuple(n for n, ok in zip(self.names, good, strict=True) if ok),
            shapes=tuple(s for s, ok in zip(self.shapes, good, strict=True) if ok),
            dtypes=tuple(d for d, ok in zip(self.dtypes, good, strict=True) if ok),
            iterate=lambda: (item for item in self.iterate() if not isinstance(item, FormatError)),
            left_out=(*self.left_out, *bad),
        )

    def in_grey(self) -> Source:
        """The same pictures, each turned grey as it is read."""
        return replace(
            self,
            shapes=tuple(shape[:2] for shape in self.shapes),
            iterate=lambda: (
                item if isinstance(item, FormatError) else item.grey for item in self.iterate()
            ),
        )

    def check_one_kind(self) -> None:
        """Refuse a mixture of grey and colour, naming one of each."""
        kinds = {shape[2:]: name for name, shape in zip(self.names, self.shapes, strict=True)}
        if len(kinds) > 1:
            first, second = list(kinds.values())[:2]
            raise InputError(
                f"{first} and {second} differ in their number of colours; convert them, or use --grey (in_grey())"
            )

    def stack(
        self,
        reduction: int = 1,
        dtype: npt.DTypeLike = np.float64,
        watch: Callable[[], object] = int,
    ) -> Stack:
        """Read everything into memory, each picture reduced on the way; ``watch`` is called after every one."""
        self.check_one_kind()
        parts = []
        for name, picture in zip(self.names, self.pictures(), strict=True):
            masks = None if picture.mask is None else [picture.mask]
            parts.append(Stack.of([picture.values], masks, [name], dtype).reduced(reduction))
            watch()
        return Stack.joined(parts)


@contextmanager
def reading(path: str | Path, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever a decoder raises on bad bytes into one sentence that names the file and the remedy.

    Decoders raise anything. Our own errors, and want of memory, are what they are.
    """
    try:
        yield
    except (RankfoldError, MemoryError, RecursionError):
        raise
    except FileNotFoundError as error:
        raise FormatError(f"{path} does not exist; check the name") from error
    except Exception as error:
        raise FormatError(f"{path} cannot be {what} ({error}); {remedy}") from error


def or_error(read: Callable[[], Picture]) -> Picture | FormatError:
    """A picture, or the error that says why there is none: the next one may still be good."""
    try:
        return read()
    except FormatError as error:
        return error


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts frame2 before frame10."""
    parts = re.split(r"([0-9]+)", name.lower())
    return [
        *((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts),
        (2, 0, name),
    ]


def unit_of(dtype: npt.DTypeLike) -> float:
    """What white is in a type: the largest integer, one for floats."""
    kind = np.dtype(dtype)
    return float(np.iinfo(kind).max) if np.issubdtype(kind, np.integer) else 1.0


def as_type(values: Array, dtype: npt.DTypeLike) -> Array:
    """Values in the type of a file: integers are rounded and clipped to its range, NaN becomes zero."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(np.nan_to_num(values) >= 0.5)
    if not np.issubdtype(kind, np.integer):
        return values.astype(kind, copy=False)
    limits = np.iinfo(kind)
    # the largest 64-bit integers have no float of their own: clip to the next float below
    high = (
        np.nextafter(float(limits.max), 0) if float(limits.max) > limits.max else float(limits.max)
    )
    return np.asarray(np.rint(np.clip(np.nan_to_num(values), limits.min, high)).astype(kind))


def refuse_options(what: str, options: dict[str, object]) -> None:
    """Say which options mean nothing here."""
    for name in options:
        raise InputError(f"--{name} means nothing for {what}; leave it out")
