"""Arrays whose pictures are computed when they are asked for, and how they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError
from rankfold.lazy.explained import Explained
from rankfold.lazy.originals import OnDisk
from rankfold.stack import Frame

Array = npt.NDArray[Any]

# What a stored result calls its parts.
PREFIX = "lazy."


class LazyPictures:
    """An array (n, h, w[, c]) whose pictures are computed when they are asked for.

    It has ``shape``, ``dtype``, ``ndim``, a length and slices, which is what ``numpy.asarray``,
    ``dask.array.from_array`` and zarr need. Iterating reads every original once, in order.

    Parameters
    ----------
    explained : Explained
        From what they are made.
    part : {"aligned", "low_rank", "sparse", "valid"}

    Examples
    --------
    >>> import rankfold as rf
    >>> result = rf.load("run")  # doctest: +SKIP
    >>> result.aligned[120:140].mean(axis=0)  # doctest: +SKIP
    """

    def __init__(self, explained: Explained, part: str) -> None:
        self.explained = explained
        self.part = part
        self._pictures: Callable[[Sequence[int]], Iterator[Array]] = getattr(explained, part)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, h, w) or (n, h, w, c)."""
        picture = self.explained.picture_shape
        return (len(self), *(picture[:2] if self.part == "valid" else picture))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(bool if self.part == "valid" else self.explained.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes that all of them would take."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.explained)

    def __repr__(self) -> str:
        """A line for a person."""
        shape = " x ".join(str(size) for size in self.shape)
        return f"<LazyPictures {self.part}, {shape}, {self.dtype}>"

    def __iter__(self) -> Iterator[Array]:
        """Give one picture after the other."""
        return self._pictures(range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Compute the pictures that a number, a slice, numbers or truth values choose."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis:
            return np.asarray(self)[key]
        if first is None:
            raise InputError("a lazy array takes no new axes; use numpy.asarray(array) first")
        chosen = np.arange(len(self))[first]
        if chosen.ndim == 0:
            (picture,) = self._pictures([int(chosen)])
            return picture[tuple(rest)] if rest else picture
        found = self._stacked(chosen)
        return found[(slice(None), *rest)] if rest else found

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Compute all pictures."""
        if copy is False:
            raise ValueError("a lazy array is computed, so that it is always a copy")
        return self._stacked(np.arange(len(self))).astype(dtype or self.dtype, copy=False)

    def _stacked(self, chosen: npt.NDArray[np.int_]) -> Array:
        """Compute the pictures at ``chosen`` (k,), which may be in any order."""
        once, places = np.unique(chosen, return_inverse=True)
        found = np.empty((len(once), *self.shape[1:]), self.dtype)
        if len(once):
            for row, picture in zip(found, self._pictures(once.tolist()), strict=True):
                row[...] = picture
        # In the usual ascending order nothing is copied.
        return found if np.array_equal(once, chosen) else found[places]

    def columns(self) -> dict[str, Array]:
        """Give the arrays that are stored for all parts together."""
        made_of = self.explained
        return {
            f"{PREFIX}coefficients": made_of.coefficients,
            f"{PREFIX}basis": made_of.basis,
            f"{PREFIX}seen": made_of.seen,
        }

    def facts(self) -> dict[str, Any]:
        """Give the plain values that are stored for all parts together."""
        made_of = self.explained
        originals = made_of.originals
        if not isinstance(originals, OnDisk):
            raise InputError(
                "the originals are not on disk, so a lazy result cannot be saved; save one with "
                "arrays, as in dataclasses.replace(result, aligned=numpy.asarray(result.aligned))"
            )
        return {
            "frame": list(made_of.frame.shape),
            "colour": made_of.colour,
            "dtype": made_of.dtype,
            **originals.facts(),
        }


PARTS = ("aligned", "low_rank", "sparse", "valid")


def lazy_parts(explained: Explained) -> dict[str, Any]:
    """Give the four arrays of an Alignment by their names."""
    return {part: LazyPictures(explained, part) for part in PARTS}


def restored(
    facts: Mapping[str, Any], arrays: Mapping[str, Array], path: str | Path
) -> dict[str, Any]:
    """Make the four arrays of a result that was stored without them.

    Parameters
    ----------
    facts : mapping
        Those of the result, with those of its lazy arrays as ``lazy``.
    arrays : mapping
        Those of the result and of its lazy arrays.
    path : str or Path
        Where it is stored, for messages.
    """
    try:
        return lazy_parts(_explained(facts, arrays))
    except (KeyError, TypeError) as error:
        raise FormatError(
            f"{path} lacks a part of its result ({error}); compute it again"
        ) from error


def _explained(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Explained:
    """From what the pictures of a stored result are made."""
    about = facts["lazy"]
    base = arrays.get("base", arrays["start"])
    originals = OnDisk(
        path=about["path"],
        opened_with=about["opened_with"],
        names=tuple(facts["names"]),
        shapes=arrays["source_shapes"],
        reduction=about["reduction"],
        span=about["span"],
        unit=about["unit"],
        dtype=about["read_as"],
    )
    return Explained(
        coefficients=arrays[f"{PREFIX}coefficients"],
        basis=arrays[f"{PREFIX}basis"],
        seen=arrays[f"{PREFIX}seen"],
        frame=Frame(*about["frame"]),
        colour=about["colour"],
        transforms=arrays["transforms"],
        base=base,
        dtype=about["dtype"],
        originals=originals,
    )
