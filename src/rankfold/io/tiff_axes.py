"""Axes of a TIFF, each a letter with a length: which count pictures, which lie in a picture."""

from __future__ import annotations

import numpy as np

from rankfold.errors import InputError
from rankfold.io.source import Array

# Rows, columns, samples, channels. Every other axis counts pictures.
PICTURE_AXES = "YXSC"
# Axes along which the values of one pixel lie.
COLOUR_AXES = "SC"
# Letters for axes that a file does not name; none of them is one of a picture's axes.
SPARE_LETTERS = "QRPOUVWBDEFGHIJKLMN"


def distinct(axes: str) -> str:
    """Give axes letters of their own: a file that does not name its axes has several Q."""
    spare = iter(letter for letter in SPARE_LETTERS if letter not in axes)
    seen = ""
    for letter in axes:
        seen += letter if letter not in seen else next(spare)
    return seen


def selected(select: tuple[str, ...], lengths: dict[str, int], path: str) -> dict[str, int]:
    """Return the places along axes that the caller fixes with texts like ``Z=3``."""
    fixed = {}
    choices = {axis: length for axis, length in lengths.items() if axis not in "YX"}
    for text in select:
        axis, _, number = text.partition("=")
        # Python reads no number of thousands of digits.
        is_number = number.isdecimal() and len(number) < 20
        if axis not in choices or not is_number or int(number) >= choices[axis]:
            known = ", ".join(f"{name}=0..{length - 1}" for name, length in choices.items())
            raise InputError(
                f"select {text} does not fit {path}; it has {known or 'one picture only'}"
            )
        fixed[axis] = int(number)
    return fixed


def counting_axis(lengths: dict[str, int], fixed: dict[str, int], path: str) -> str | None:
    """Find the one axis that counts pictures; None for a single picture."""
    further = [axis for axis in lengths if axis not in PICTURE_AXES and axis not in fixed]
    free = [axis for axis in further if lengths[axis] > 1]
    if len(free) > 1:
        several = ", ".join(f"{axis} ({lengths[axis]})" for axis in free)
        raise InputError(
            f"{path} has more than one axis of pictures: {several}; "
            "fix all but one, as in select Z=0"
        )
    return free[0] if free else None


def colours_last(page: Array, axes: str, fixed: dict[str, int]) -> Array:
    """Bring a page with ``axes`` into the form (Y, X) or (Y, X, colours)."""
    # From the last axis to the first, so that the numbers of those still to come stay valid.
    for k in reversed(range(len(axes))):
        axis = axes[k]
        if axis in fixed or axis not in PICTURE_AXES:
            page = np.take(page, fixed.get(axis, 0), axis=k)
            axes = axes[:k] + axes[k + 1 :]
    colours = [k for k, axis in enumerate(axes) if axis in COLOUR_AXES]
    page = page.transpose([axes.index("Y"), axes.index("X"), *colours])
    # A file with channels of several samples has two axes of colours; they become one.
    return page.reshape(*page.shape[:2], -1) if page.ndim > 3 else page
