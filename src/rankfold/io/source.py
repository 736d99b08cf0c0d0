"""Pictures that lie on disk: what is known before they are read, and reading them one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import whole
from rankfold.errors import FormatError, InputError
from rankfold.io.metadata import NOTHING_KNOWN, Metadata, read_metadata
from rankfold.stack import LUMINANCE, Bools, Origin, Stack
from rankfold.stack.checks import varies

Array = npt.NDArray[Any]


def nothing() -> None:
    """Do nothing: who is told of every picture by default."""


@dataclass(frozen=True)
class Picture:
    """One picture as its file has it.

    Parameters
    ----------
    values : (h, w) or (h, w, c) array
        In the type of the file.
    mask : (h, w) array of bool, optional
        True where the pixel may be used; None means everywhere.
    """

    values: Array
    mask: Bools | None = None

    @classmethod
    def with_alpha(cls, samples: Array) -> Picture:
        """Make a picture of samples (h, w, c + 1), the last of which is transparency."""
        transparency = samples[..., -1]
        # At least half opaque.
        valid = np.asarray(transparency >= unit_of(transparency.dtype) / 2)
        colours = samples[..., 0] if samples.shape[2] == 2 else samples[..., :-1]
        return cls(np.ascontiguousarray(colours), None if valid.all() else valid)

    @property
    def grey(self) -> Picture:
        """The same picture in grey, of the same type."""
        if self.values.ndim == 2:
            return self
        count = self.values.shape[2]
        weights = LUMINANCE if count == 3 else np.full(count, 1 / count)
        # h x w, in floats
        mean = self.values @ weights
        return Picture(as_type(mean, self.values.dtype), self.mask)

    def as_said(self, path: str | Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Picture:
        """Return this picture if it is the one that the header of its file says."""
        if self.values.shape != shape or self.values.dtype != dtype:
            raise FormatError(
                f"{path} holds another picture than its header says; replace it, or skip bad "
                "pictures"
            )
        return self


@dataclass(frozen=True)
class Source:
    """Pictures that can be read one at a time, in order.

    :func:`rankfold.io.open_pictures` makes them.

    Parameters
    ----------
    path : str
        Where the pictures lie, as the caller wrote it.
    format : str
        The row of FORMATS that reads them.
    names : n strings
    shapes : n tuples (h, w) or (h, w, c)
    dtypes : n types
    iterate : function
        Starts reading at the first picture. A picture that cannot be read is given as its error.
    rate : float, optional
        Pictures a second, of a video.
    left_out : strings
        Names of what lies there and is not among the pictures.
    choose : function of ascending indices, optional
        Reads those pictures alone. Without it, all are read and the others passed over.
    opened_with : mapping
        How the pictures were opened, in plain values: :func:`rankfold.io.reopen` takes them.
    files : n paths
        The file of each picture, where each has one of its own; else empty.
    describe : function of a path
        Reads what such a file says besides its pixels.
    """

    path: str
    format: str
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]
    iterate: Callable[[], Iterator[Picture | FormatError]]
    rate: float | None = None
    left_out: tuple[str, ...] = ()
    choose: Callable[[Sequence[int]], Iterator[Picture | FormatError]] | None = None
    opened_with: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    describe: Callable[[Path], Metadata] = read_metadata

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that holds the values of all pictures."""
        return np.result_type(*set(self.dtypes))

    @property
    def channels(self) -> int:
        """Values a pixel; 1 for grey."""
        return self.shapes[0][2] if len(self.shapes[0]) == 3 else 1

    def metadata(self, index: int) -> Metadata:
        """Read what the file of a picture says besides its pixels; nothing without such a file."""
        return self.describe(self.files[index]) if self.files else NOTHING_KNOWN

    def pictures(self) -> Iterator[Picture]:
        """Read every picture in turn; the first that cannot be read raises its FormatError."""
        for item in self.iterate():
            if isinstance(item, FormatError):
                raise item
            yield item

    def some(self, indices: Sequence[int]) -> Source:
        """Return a source of some of the pictures, which reads no others where the format can.

        Parameters
        ----------
        indices : sequence of int
            Which pictures, in ascending order. A video is decoded up to the last of them.

        Returns
        -------
        Source
        """
        several = isinstance(indices, Iterable) and not isinstance(indices, str)
        chosen = [whole("indices", k) for k in indices] if several else []
        ascending = all(a < b for a, b in pairwise(chosen))
        if not chosen or not ascending or chosen[0] < 0 or chosen[-1] >= len(self):
            raise InputError(
                f"{self.path} has {len(self)} pictures; give one or more of them by number, "
                f"from 0 to {len(self) - 1}, in ascending order"
            )
        return replace(
            self,
            names=tuple(self.names[k] for k in chosen),
            shapes=tuple(self.shapes[k] for k in chosen),
            dtypes=tuple(self.dtypes[k] for k in chosen),
            files=tuple(self.files[k] for k in chosen) if self.files else (),
            iterate=lambda: self._read(chosen),
            choose=lambda inner: self._read([chosen[k] for k in inner]),
        )

    def _read(self, chosen: Sequence[int]) -> Iterator[Picture | FormatError]:
        """Read pictures ``chosen``, in ascending order."""
        if self.choose is not None:
            return self.choose(chosen)
        wanted = set(chosen)
        return (item for k, item in enumerate(self.iterate()) if k in wanted)

    def changed(self, change: Callable[[Picture | FormatError], Picture | FormatError]) -> Source:
        """Return the same source with every picture, or its error, changed as it is read."""
        choose = self.choose
        return replace(
            self,
            iterate=lambda: (change(item) for item in self.iterate()),
            choose=None if choose is None else lambda some: (change(item) for item in choose(some)),
        )

    def without_bad(self, watch: Callable[[], object] = nothing) -> Source:
        """Return the same source without the pictures that cannot be read.

        This reads every picture once to find out; ``watch`` is called after each.
        """
        return self._without(is_bad, watch)

    def alignable(self, watch: Callable[[], object] = nothing) -> Source:
        """Return the same source without pictures that nothing can align.

        They are the same everywhere, as black ones, or have infinite values. This reads every
        picture once to find out; ``watch`` is called after each.
        """
        return self._without(is_useless, watch)

    def for_alignment(
        self, skip_bad: bool = False, watch: Callable[[], object] = nothing
    ) -> Source:
        """Return the same source without what would keep the others from being aligned.

        Of one file of several pictures, those that are the same everywhere or have infinite values
        are left out, because nobody can take a frame out by hand. Of files of one picture each,
        nothing is.

        Parameters
        ----------
        skip_bad : bool
            Leave out such pictures of every kind of source, and what cannot be read.
        watch : function
            Is called after every picture that was looked at.

        Returns
        -------
        Source
        """
        if not skip_bad:
            return self if self.files else self.alignable(watch)
        return self._without(lambda item: is_bad(item) or is_useless(item), watch)

    def _without(
        self, unwanted: Callable[[Picture | FormatError], bool], watch: Callable[[], object]
    ) -> Source:
        """Return the same source without some of the pictures."""
        wanted = []
        for item in self.iterate():
            wanted.append(not unwanted(item))
            watch()
        if all(wanted):
            return self
        if not any(wanted):
            raise FormatError(
                f"none of the {len(self)} pictures in {self.path} can be used; check the files"
            )
        kept = self.some([k for k, is_wanted in enumerate(wanted) if is_wanted])
        others = [name for name, is_wanted in zip(self.names, wanted, strict=True) if not is_wanted]
        return replace(kept, left_out=(*self.left_out, *others))

    def named(self, names: Iterable[str]) -> Source:
        """Return the pictures of these names, if all are here and others too; else the source."""
        wanted = set(names)
        if len(wanted) >= len(self) or not wanted <= set(self.names):
            return self
        return self.some([k for k, name in enumerate(self.names) if name in wanted])

    def in_grey(self) -> Source:
        """Return the same source with every picture turned grey as it is read."""

        def grey(item: Picture | FormatError) -> Picture | FormatError:
            return item if isinstance(item, FormatError) else item.grey

        shapes = tuple(shape[:2] for shape in self.shapes)
        opened_with = {**self.opened_with, "grey": True}
        return replace(self.changed(grey), shapes=shapes, opened_with=opened_with)

    def check_one_kind(self) -> None:
        """Refuse a mixture of grey and colour, naming one picture of each."""
        # The last name of each kind: () for grey, (c,) for colour.
        kinds = {shape[2:]: name for name, shape in zip(self.names, self.shapes, strict=True)}
        if len(kinds) > 1:
            first, second = list(kinds.values())[:2]
            raise InputError(
                f"{first} and {second} differ in their number of colours; "
                "convert them, or read all of them in grey"
            )

    def stack(
        self,
        reduction: int = 1,
        dtype: npt.DTypeLike = np.float64,
        watch: Callable[[], object] = nothing,
        views: bool = True,
    ) -> Stack:
        """Read everything into memory.

        Parameters
        ----------
        reduction : int
            Each picture is made this many times coarser before the next one is read.
        dtype : float64 or float32
            Type of the values that are kept.
        watch : function
            Is called after every picture.
        views : bool
            Whether to keep small grey copies of pictures that are made coarser, for matching.

        Returns
        -------
        Stack
        """
        parts = []
        for one in self.singles(reduction, dtype, views):
            parts.append(one)
            watch()
        return replace(Stack.joined(parts), origin=Origin(self.path, self.opened_with))

    def singles(
        self, reduction: int = 1, dtype: npt.DTypeLike = np.float64, views: bool = False
    ) -> Iterator[Stack]:
        """Read one picture after the other, each as a stack of one; arguments as in stack."""
        self.check_one_kind()
        for name, picture in zip(self.names, self.pictures(), strict=True):
            masks = None if picture.mask is None else [picture.mask]
            # Reduced at once, so that only one picture is in memory at full size.
            yield Stack.of([picture.values], masks, [name], dtype).reduced(reduction, views)


def is_bad(item: Picture | FormatError) -> bool:
    """Whether a picture could not be read."""
    return isinstance(item, FormatError)


def is_useless(item: Picture | FormatError) -> bool:
    """Whether a picture that could be read cannot be aligned.

    It is the same everywhere, shows nothing at all, or has infinite values, which are no light.
    """
    if isinstance(item, FormatError):
        return False
    # A pixel is missing when any of its channels is.
    shown = np.isfinite(item.values).reshape(*item.values.shape[:2], -1).all(axis=2)
    varied = varies(item.values[shown if item.mask is None else shown & item.mask])
    return not varied or bool(np.isinf(item.values).any())


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts frame2 before frame10."""
    # Digits and what lies between them: frame10.png is frame, 10, .png.
    parts = re.split(r"([0-9]+)", name.lower())
    # Numbers come before words; within each kind the value decides.
    key = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
    # The name itself decides between img1 and img01, which are equal up to here.
    return [*key, (2, 0, name)]


def unit_of(dtype: npt.DTypeLike) -> float:
    """Return what white is in a type: the largest integer, or one for floats."""
    kind = np.dtype(dtype)
    return float(np.iinfo(kind).max) if np.issubdtype(kind, np.integer) else 1.0


def as_type(values: Array, dtype: npt.DTypeLike) -> Array:
    """Convert values of any shape to the type of a file.

    For integers they are rounded and clipped to the range of the type, and NaN becomes zero.
    """
    kind = np.dtype(dtype)
    if values.dtype == kind:
        return values
    if kind.kind == "b":
        return np.asarray(np.nan_to_num(values) >= 0.5)
    if not np.issubdtype(kind, np.integer):
        return values.astype(kind, copy=False)
    limits = np.iinfo(kind)
    high = float(limits.max)
    if high > limits.max:
        # The largest 64-bit integers are no floats: clip to the next float below.
        high = np.nextafter(high, 0)
    clipped = np.clip(np.nan_to_num(values), limits.min, high)
    return np.asarray(np.rint(clipped).astype(kind))


def as_portable(values: Array, dtype: npt.DTypeLike) -> Array:
    """Convert a picture (h, w[, c]) to a type, or to the nearest one that every program can read.

    Floats of more than 64 bits are not the same on every machine.
    """
    kind = np.dtype(dtype)
    if kind.kind == "f" and kind.itemsize > 8:
        return values.astype(np.float64)
    return as_type(values, kind)


def refuse_options(what: str, options: dict[str, object]) -> None:
    """Refuse options that would have no effect; ``what`` says where."""
    for name in options:
        raise InputError(f"{name} has no meaning for {what}; leave it out")
