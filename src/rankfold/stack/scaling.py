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


def are_integers(arrays: list[npt.NDArray[Any]]) -> Bools:
    """Whether each array (n,) has an integer type; bool has not, its values are 0 and 1."""
    return np.array([np.issubdtype(array.dtype, np.integer) for array in arrays])


def units_of(arrays: list[npt.NDArray[Any]]) -> Floats:
    """What 1.0 will be in the caller's units (n,): the top of an integer type, one for floats.

    All floats get the same unit, so that a picture that is twice as bright stays so.
    """
    # Truth values are no floats here: their unit is 1 unless floats beside them have another.
    floats = [array for array in arrays if np.issubdtype(array.dtype, np.floating)]
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
    # The two extremes need no copy of the array, as numpy.abs would. NaN makes them NaN.
    largest = float(max(-array.min(initial=0.0), array.max(initial=0.0)))
    if not np.isfinite(largest):
        finite = array[np.isfinite(array)]
        largest = float(np.abs(finite).max(initial=0.0))
    if largest == 0 or 1 / ORDINARY <= largest <= ORDINARY:
        return 1.0
    return float(2.0 ** np.round(np.log2(largest)))


def scaled(
    array: npt.NDArray[Any],
    unit: np.float64,
    mask: npt.ArrayLike | None,
    name: str,
    dtype: npt.DTypeLike,
) -> tuple[npt.NDArray[Any], Bools]:
    """Divide a picture (h, w[, c]) by its unit and find its valid pixels (h, w)."""
    # A float64 unit makes the quotient float64, whatever the type of the picture.
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
