"""What a single argument may be: a number, a word, a switch. Anything else gets a sentence."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError

# Characters of a value in a message; an array or a long list would bury the sentence.
LONGEST = 60

# With which values are computed.
PRECISIONS = (np.dtype(np.float64), np.dtype(np.float32))

# What compiled code can count to.
MOST = 2**63 - 1


def shown(value: object) -> str:
    """Write a value for a message: short, and whatever the value is."""
    try:
        text = repr(value)
    except Exception:
        # A number of thousands of digits has no repr, nor has every object of a caller.
        return f"a {type(value).__name__}"
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 3]}..."


def whole(name: str, value: Any, least: int | None = None) -> int:
    """Return a whole number of at least ``least``, of Python or NumPy; True is none."""
    try:
        if isinstance(value, bool | np.bool_ | np.ndarray):
            raise TypeError
        found = operator.index(value)
    except TypeError as error:
        raise InputError(
            f"{name}={shown(value)} is not a whole number; give one, as {max(least or 1, 1)}"
        ) from error
    if least is not None and found < least:
        raise InputError(f"{name}={shown(value)} must be at least {least}")
    if abs(found) > MOST:
        raise InputError(f"{name}={shown(value)} is too large; give a number below 2**63")
    return found


def number(name: str, value: Any, remedy: str) -> float:
    """Return a real number of Python or NumPy; the ``remedy`` says which one is wanted."""
    # True is a number for Python. A Decimal is none: it does not go together with floats.
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number:
        raise InputError(f"{name}={shown(value)} is not a number; {remedy}")
    try:
        return float(value)
    except OverflowError:
        # A whole number that no float can hold.
        return np.inf if value > 0 else -np.inf


def at_least_zero(name: str, value: Any) -> float:
    """Return a number that is finite and not below zero."""
    found = number(name, value, "give zero or a positive number")
    if not 0 <= found < np.inf:
        raise InputError(f"{name}={shown(value)} must be zero or a positive number")
    return found


def word(name: str, value: object, choices: Iterable[str]) -> str:
    """Return one of some words."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {name} {shown(value)}; choose one of {', '.join(known)}")
    return value


def switch(name: str, value: object) -> bool:
    """Return True or False, of Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}={shown(value)} is neither True nor False; use one of them")
    return bool(value)


def path_of(name: str, value: object) -> str:
    """Return a path as text."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or not _is_encodable(text):
        raise InputError(f"{name}={shown(value)} is no path; give one as text, or a Path")
    return text


def _is_encodable(text: str) -> bool:
    """Whether the system can have a file of this name."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def callable_one(name: str, value: object, remedy: str) -> Callable[..., Any]:
    """Return what can be called."""
    if isinstance(value, type) or not callable(value):
        raise InputError(f"{name}={shown(value)} cannot be called; {remedy}")
    return value


def instance(name: str, value: object, kind: type, remedy: str) -> None:
    """Refuse what is not of a type."""
    if not isinstance(value, kind):
        raise InputError(f"{name}={shown(value)} is a {type(value).__name__}; {remedy}")


def array_of(value: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return what the caller gave as an array; a masked array, or a list of some, is a masked one.

    A list of masked arrays would lose its masks in :func:`numpy.asarray`.
    """
    try:
        if isinstance(value, list | tuple) and any(np.ma.isMaskedArray(row) for row in value):
            return np.ma.stack([np.ma.asarray(row) for row in value])
        return np.ma.asarray(value) if np.ma.isMaskedArray(value) else np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} is no array of numbers: its rows differ in length, or hold something else; "
            "give every row as many numbers, with NaN where one is missing"
        ) from error


def with_nan(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a plain array: of a masked one, masked values are NaN, so that integers are floats."""
    if not np.ma.isMaskedArray(array):
        return array
    if not np.ma.getmaskarray(array).any() or array.dtype.kind not in "biuf":
        return np.ma.getdata(array)
    floats = array if array.dtype.kind == "f" else array.astype(np.float64)
    filled: npt.NDArray[Any] = np.ma.filled(floats, np.nan)
    return filled


def is_real(dtype: npt.DTypeLike) -> bool:
    """Whether a type holds real numbers or truth values; dates and durations are neither."""
    return np.dtype(dtype).kind in "biuf"


def precision(name: str, value: Any) -> None:
    """Refuse what is neither of the two types that are computed with."""
    try:
        # None would be the default of NumPy.
        known = value is not None and np.dtype(value) in PRECISIONS
    except Exception:
        # NumPy has several errors for what describes no type, and asks the value for its text.
        known = False
    if not known:
        raise InputError(f"{name} {shown(value)} is not supported; use float64 or float32")


def numbers(name: str, value: npt.ArrayLike, axes: str) -> npt.NDArray[np.float64]:
    """Return finite numbers as an array of floats.

    Parameters
    ----------
    name : str
    value : array_like
    axes : str
        What its shape must be, as "n 3 3"; a letter stands for any length but zero.
    """
    given = with_nan(array_of(value, name))
    wanted = axes.split()
    fits = len(wanted) == given.ndim and given.size > 0
    fits = fits and all(
        not axis.isdigit() or int(axis) == size
        for axis, size in zip(wanted, given.shape, strict=True)
    )
    if not fits or not is_real(given.dtype):
        raise InputError(
            f"{name} have shape {given.shape} and type {given.dtype}; give numbers, as "
            f"({', '.join(wanted)})"
        )
    with np.errstate(over="ignore"):
        # A type that is wider than double precision may hold more than that does.
        floats = given.astype(np.float64, copy=False)
    if not np.isfinite(floats).all():
        raise InputError(f"{name} contain NaN or infinity; every one must be finite")
    return floats
