"""What is decomposed: the caller's array as rows, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.batches import FromSource
from rankfold.align.origins import AsTheyLie, row_of
from rankfold.arguments import array_of, is_real, with_nan
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.lazy import OnDisk, absolute
from rankfold.scale import MEMORY, Store, chunks
from rankfold.stack import power_of_two
from rankfold.stack.scaling import check_unit

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Samples:
    """The caller's array as rows, and the way back."""

    data: Array  # (n, m), in units of ``unit``, zero where missing
    valid: Bools  # (n, m)
    unit: float  # a power of two
    shape: tuple[int, ...]  # of the caller's array
    # (n,): what 1.0 is in the units of the files, for pictures that were read; None for an array.
    units: Floats | None = None
    # Who reads the pictures again; None for an array.
    originals: OnDisk | None = None

    @classmethod
    def of(cls, given: Array, dtype: npt.DTypeLike, store: Store = MEMORY) -> Samples:
        """Bring a checked array into rows of a store; colour becomes (channels, height, width)."""
        n = len(given)
        m = int(np.prod(given.shape[1:]))
        data = store.zeros((n, m), dtype)
        valid = store.zeros((n, m), np.bool_)
        ends = []
        for rows in chunks(data):
            # Inside, a row is (channels, height, width), so that a channel is one picture.
            some = data[rows]
            with np.errstate(over="ignore"):
                # What is too large for the precision is told of below.
                some[...] = _channels_first(given[rows])
            if np.isinf(some).any():
                raise _infinite(given[rows], dtype)
            valid[rows] = ~np.isnan(some)
            some[~valid[rows]] = 0
            ends += [some.min(), some.max()]
            store.done(given[rows], some, valid[rows])
        if not any(valid[rows].any() for rows in chunks(valid)):
            raise InputError("the data are NaN everywhere, so there is nothing to decompose")
        # A power of two changes no digit, and keeps squares of tiny or huge values in range.
        unit = power_of_two(np.array(ends))
        vanished = not any(ends) and given.dtype.kind == "f"
        # Where all is zero in this precision, the values may have been too small for it.
        unit_given = power_of_two(np.asarray(given, np.float64)) if vanished else unit
        check_unit(unit_given, dtype, "the data")
        if unit != 1:
            for rows in chunks(data):
                data[rows] /= np.asarray(unit, data.dtype)
                store.done(data[rows])
        return cls(data, valid, unit, given.shape)

    @classmethod
    def read(cls, batch: FromSource, store: Store = MEMORY) -> Samples:
        """Read pictures of one size into rows of a store, one after the other."""
        n = len(batch.names)
        data = store.zeros((n, int(np.prod(batch.shape))), batch.dtype)
        valid = store.zeros(data.shape, np.bool_)
        units = np.ones(n)
        integers = np.zeros(n, dtype=bool)
        for k, one in enumerate(batch.singles()):
            data[k], valid[k] = row_of(one)
            units[k] = one.units[0]
            integers[k] = one.came_as_integers[0]
            store.done(data[k], valid[k])
        # Pictures of floats have one unit in common.
        common = units[~integers].max(initial=0.0)
        for k in np.flatnonzero(~integers & (units != common)).tolist():
            # A quotient of powers of two: nothing is rounded.
            data[k] *= data.dtype.type(units[k] / common)
            store.done(data[k])
            units[k] = common
        originals = OnDisk(
            path=absolute(batch.source.path),
            opened_with=batch.source.opened_with,
            names=batch.names,
            shapes=batch.shapes,
            reduction=batch.reduction,
            span=1.0,
            unit=float(common) or 1.0,
            dtype=data.dtype.str,
        )
        return cls(data, valid, 1.0, (n, *batch.shape), units, originals)

    @property
    def are_pictures(self) -> bool:
        """Whether the rows are pictures, with pixels side by side."""
        return len(self.shape) > 2

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        if len(self.shape) == 2:
            return 1, 1, self.shape[1]
        channels = self.shape[3] if len(self.shape) == 4 else 1
        return channels, self.shape[1], self.shape[2]

    def pictures(self, low_rank: Array, store: Store = MEMORY) -> tuple[Array, Array]:
        """Low-rank and sparse part in the caller's shape and units, from the former (n, m)."""
        clean = store.zeros(self.shape, self.data.dtype)
        rest = store.zeros(self.shape, self.data.dtype)
        # A row or a column that nobody saw stays unknown.
        seen = np.zeros(self.data.shape[1], dtype=bool)
        for rows in chunks(self.valid):
            seen |= self.valid[rows].any(axis=0)
            store.done(self.valid[rows])
        units = self.unit * (np.ones(len(self.data)) if self.units is None else self.units)
        for rows in chunks(self.data):
            unit = units[rows, None].astype(self.data.dtype)
            some = low_rank[rows]
            valid = self.valid[rows]
            known = seen & valid.any(axis=1, keepdims=True)
            clean[rows] = self._like_given(np.where(known, unit * some, np.nan))
            # A + E is X only to the tolerance: what is not in A belongs to the error.
            error = np.where(valid, unit * (self.data[rows] - some), 0)
            rest[rows] = self._like_given(error)
            store.done(some, valid, self.data[rows], clean[rows], rest[rows])
        return clean, rest

    @property
    def largest_unit(self) -> float:
        """What 1.0 is for all rows at once, as singular values are."""
        return self.unit * (1.0 if self.units is None else float(self.units.max()))

    @property
    def origin(self) -> AsTheyLie | None:
        """How another machine makes these rows itself; None where they are not on disk."""
        if self.originals is None:
            return None
        return AsTheyLie(self.originals, self.data.dtype.str)

    def _like_given(self, rows: Array) -> Array:
        """Rows (k, m) in the shape of the caller's samples."""
        if len(self.shape) < 4:
            return rows.reshape(len(rows), *self.shape[1:])
        _, height, width, channels = self.shape
        return np.moveaxis(rows.reshape(len(rows), channels, height, width), 1, -1)


def checked(X: npt.ArrayLike) -> Array:
    """The caller's array; masked values become NaN."""
    given = with_nan(array_of(X, "the data"))
    if not 2 <= given.ndim <= 4 or 0 in given.shape:
        raise InputError(
            f"the data have shape {given.shape}; give (n, m) or (n, height, width[, channels])"
        )
    if not is_real(given.dtype):
        raise InputError(f"the data have type {given.dtype}; pass integers or floats")
    return given


def _infinite(some: Array, dtype: npt.DTypeLike) -> InputError:
    """What to say of values that are infinite in a type."""
    if np.isinf(some).any():
        return InputError("the data contain infinity; write NaN where a value is missing")
    name = np.dtype(dtype).name
    return InputError(
        f"the data have values that {name} cannot hold; divide them by a power of ten"
        + (", or use dtype='float64'" if name != "float64" else "")
    )


def _channels_first(samples: Array) -> Array:
    """Samples (k, m), (k, h, w) or (k, h, w, c) as rows (k, m), (k, h w) or (k, c h w)."""
    if samples.ndim == 4:
        samples = np.moveaxis(samples, -1, 1)
    return samples.reshape(len(samples), -1)
