"""What the fields of a stored result must be: shapes, types and words, checked in one place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Letters of NumPy for the types of an array.
FLOATS = "f"
FLAGS = "b"
COUNTS = "iu"
WORDS = "U"
NUMBERS = FLOATS + COUNTS

# Stands for further axes at the end of a shape, the same ones in all columns that have it.
REST = "..."


@dataclass(frozen=True)
class Column:
    """An array of a result.

    Attributes
    ----------
    kinds : str
        NumPy's letters for the types that it may have.
    shape : str
        Its axes: a number, or a letter that means the same length in all columns.
    """

    kinds: str
    shape: str


@dataclass(frozen=True)
class Fact:
    """Anything else of a result.

    Attributes
    ----------
    types : tuple of types
    choices : collection, optional
        What it may be.
    """

    types: tuple[type, ...]
    choices: frozenset[str] | None = None


Schema = Mapping[str, Column | Fact]
"""What each field must be; a field that is not there is not looked at."""

TEXT = Fact((str,))
NUMBER = Fact((int, float))
NUMBER_OR_NONE = Fact((int, float, type(None)))
TABLE = Fact((dict,))
LIST = Fact((list,))
FLAG = Fact((bool,))


def one_of(words: Any) -> Fact:
    """A text that is one of some."""
    return Fact((str,), frozenset(words))


def check(values: Mapping[str, Any], schema: Schema) -> None:
    """Raise a ValueError that names the first field that is not what it must be."""
    # The length of each axis that has been seen; of further axes, all their lengths.
    lengths: dict[str, Any] = {}
    for name, value in values.items():
        declared = schema.get(name)
        if isinstance(declared, Column) and value is not None:
            _check_column(name, value, declared, lengths)
        elif isinstance(declared, Fact):
            _check_fact(name, value, declared)


def check_rows(part: str, columns: Mapping[str, Any], needed: Iterable[str] = ()) -> None:
    """Raise a ValueError if a table lacks columns, or if they have not as many rows each."""
    counts = {len(np.atleast_1d(column)) for column in columns.values()}
    if len(counts) > 1:
        raise ValueError(f"the columns of {part} have different lengths")
    missing = sorted(set(needed) - set(columns))
    if columns and missing:
        raise ValueError(f"{part} lacks {', '.join(missing)}")


def words(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return a list of texts as an array; raise a ValueError if it is none."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not of the right type")
    return np.array(values, str)


def _check_column(name: str, array: Any, declared: Column, lengths: dict[str, Any]) -> None:
    """Compare one array with its type, and its shape with those of the others."""
    shape = getattr(array, "shape", None)
    if shape is None or array.dtype.kind not in declared.kinds:
        raise ValueError(f"{name} is not of the right type")
    axes = declared.shape.split()
    if axes and axes[-1] == REST:
        named = len(axes) - 1
        shape = (*shape[:named], shape[named:])
    expected = [int(axis) if axis.isdecimal() else lengths.get(axis) for axis in axes]
    agree = len(shape) == len(axes) and all(
        wanted in (None, size) for wanted, size in zip(expected, shape, strict=True)
    )
    if not agree:
        raise ValueError(f"{name} has the shape {array.shape}, which does not fit the others")
    lengths.update(zip(axes, shape, strict=True))


def _check_fact(name: str, value: Any, declared: Fact) -> None:
    """Compare one fact with its types and choices."""
    # True is an integer to Python, and no number to us.
    is_flag = isinstance(value, bool) and bool not in declared.types
    if not isinstance(value, declared.types) or is_flag:
        raise ValueError(f"{name} is not of the right type")
    # An integer of Python may be larger than any number that is computed with.
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError(f"{name} is too large")
    if declared.choices is not None and value not in declared.choices:
        choices = ", ".join(sorted(declared.choices))
        raise ValueError(f"{name} is {value!r}, and not one of {choices}")
