"""Values of about one: the unit of a picture, and the picture divided by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.stack.checks import Bools, checked_mask

# Floats whose largest value lies between 1 / ORDINARY and ORDINARY are taken as they are.
ORDINARY = 2.0**20

# Unit: bytes. Wider integers have no white.
WHITE_BYTES = 2

# Of the largest power of two.
LARGEST_EXPONENT = 1023.0

# Of the largest unit, and of one over the smallest. Above it there is room for the objective, which
# is in double precision a sum over all values times a sparsity weight of up to 1e12; below it for
# what is small beside the largest value.
EXPONENTS = {"float64": 900, "float32": 110}


def has_white(dtype: npt.DTypeLike) -> bool:
    """Whether the largest value of a type is white, as in integers of 8 and 16 bits.

    Wider integers hold counts, of which nobody knows the largest; they are taken as floats are.
    """
    kind = np.dtype(dtype)
    return kind.kind in "ui" and kind.itemsize <= WHITE_BYTES


def are_integers(arrays: list[npt.NDArray[Any]]) -> Bools:
    """Whether each array (n,) has an integer type that has a white."""
    return np.array([has_white(array.dtype) for array in arrays])


def units_of(arrays: list[npt.NDArray[Any]]) -> Floats:
    """What 1.0 will be in the caller's units (n,): the top of a short integer, one for floats.

    All floats get the same unit, so that a picture that is twice as bright stays so.
    """
    # Truth values are no floats here: their unit is 1 unless floats beside them have another.
    floats = [one for one in arrays if one.dtype.kind != "b" and not has_white(one.dtype)]
    common = max((power_of_two(array) for array in floats), default=1.0)
    is_integer = are_integers(arrays)
    units = [
        float(np.iinfo(array.dtype).max) if integer else common
        for array, integer in zip(arrays, is_integer, strict=True)
    ]
    return np.array(units)


def power_of_two(array: npt.NDArray[Any]) -> float:
    """Find the power of two that brings the largest value to about one; 1 for ordinary values.

    Squares of values like 1e-200, or 1e30 in single precision, would vanish or overflow. A
    power of two scales without rounding.

    Parameters
    ----------
    array : array of floats of any shape
        NaN and infinity are passed over.

    Returns
    -------
    float
        1.0 where the largest magnitude is zero or lies between 2**-20 and 2**20.
    """
    largest = largest_of(array)
    if largest == 0 or 1 / ORDINARY <= largest <= ORDINARY:
        return 1.0
    # The next power above the largest float is infinite.
    most = LARGEST_EXPONENT
    if array.dtype.kind == "f":
        most = min(most, float(np.finfo(array.dtype).maxexp - 1))
    exponent = float(np.round(np.log2(largest)))
    return float(2.0 ** min(exponent, most))


def largest_of(array: npt.NDArray[Any]) -> float:
    """The largest magnitude in an array of any shape; NaN and infinity are passed over."""
    # The two extremes need no copy of the array, as numpy.abs would. NaN makes them NaN.
    largest = float(max(-float(array.min(initial=0)), float(array.max(initial=0))))
    if np.isfinite(largest):
        return largest
    finite = array[np.isfinite(array)]
    return float(np.abs(finite).max(initial=0))


def check_unit(unit: float, dtype: npt.DTypeLike, what: str) -> None:
    """Refuse values so large or small that results, which are sums, leave the range of a type.

    Parameters
    ----------
    unit : float
        Their :func:`power_of_two`.
    dtype : float64 or float32
        Of the results.
    what : str
        What the values are called in the message, in the plural.
    """
    exponent = EXPONENTS[np.dtype(dtype).name]
    if 2.0**-exponent <= unit <= 2.0**exponent:
        return
    raise InputError(
        f"{what} have a largest value of about {unit:.0e}, which leaves no room for results in "
        f"{np.dtype(dtype).name}; divide them by {unit:.0e}"
        + (", or use dtype='float64'" if exponent < EXPONENTS["float64"] else "")
    )


def scaled(
    array: npt.NDArray[Any],
    unit: np.float64,
    mask: npt.ArrayLike | None,
    name: str,
    dtype: npt.DTypeLike,
) -> tuple[npt.NDArray[Any], Bools]:
    """Divide a picture (h, w[, c]) by its unit and find its valid pixels (h, w)."""
    # A float64 unit makes the quotient float64, whatever the type of the picture.
    with np.errstate(over="ignore"):
        # A type that is wider than double precision may hold more than that does.
        values = (array / unit).astype(dtype, copy=False)
    if np.isinf(values).any():
        raise InputError(f"{name} contains infinity; write NaN where a pixel is missing")
    missing = np.isnan(values)
    # A pixel is missing when any of its channels is.
    valid = ~missing if values.ndim == 2 else ~missing.any(axis=2)
    if not valid.any():
        raise InputError(f"{name} is NaN everywhere, so there is nothing to align; leave it out")
    if mask is not None:
        valid &= checked_mask(mask, array.shape[:2], name)
        if not valid.any():
            raise InputError(
                f"the mask of {name} hides all of it; leave the picture out or unmask some of it"
            )
    return values, valid


def in_one_unit(
    sources: list[npt.NDArray[Any]], units: Floats, chosen: Bools
) -> tuple[list[npt.NDArray[Any]], Floats]:
    """Bring the ``chosen`` (n,) of n scaled pictures to the largest of their units (n,)."""
    # The caller's list and units are not written to.
    sources = list(sources)
    units = units.copy()
    common = units[chosen].max(initial=0.0)
    for k in np.flatnonzero(chosen & (units != common)):
        # A quotient of powers of two: nothing is rounded.
        factor = units[k] / common
        sources[k] = sources[k] * sources[k].dtype.type(factor)
        units[k] = common
    return sources, units


def valid_pixels(source: npt.NDArray[Any], mask: Bools) -> npt.NDArray[Any]:
    """Return the valid pixels of a picture as (k,) or (k, c); a view where all are valid."""
    if mask.all():
        return source.reshape(mask.size, *source.shape[2:])
    return source[mask]
