"""Coarser pictures: the mean over squares of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import UnseenError
from rankfold.stack.checks import Bools
from rankfold.stack.frame import SMALLEST_SIDE


def all_coarser(
    sources: tuple[npt.NDArray[Any], ...],
    masks: tuple[Bools, ...],
    names: tuple[str, ...],
    factor: int,
) -> tuple[tuple[npt.NDArray[Any], ...], tuple[Bools, ...]]:
    """Make every picture ``factor`` times coarser; refuse one of which too little would be left."""
    reduced_sources = []
    reduced_masks = []
    for source, name in zip(sources, names, strict=True):
        height, width = source.shape[:2]
        # What is left must still be a picture.
        if min(height, width) < SMALLEST_SIDE * factor:
            raise UnseenError(f"{name} is {height}x{width}, too small to be reduced by {factor}")
    for source, mask, name in zip(sources, masks, names, strict=True):
        values, valid = coarser(source, mask, factor)
        if not valid.any():
            raise UnseenError(
                f"nothing is left of {name} when it is reduced by {factor}: "
                "too much of it is masked"
            )
        reduced_sources.append(values)
        reduced_masks.append(valid)
    return tuple(reduced_sources), tuple(reduced_masks)


def coarser(source: npt.NDArray[Any], mask: Bools, factor: int) -> tuple[npt.NDArray[Any], Bools]:
    """Average a picture (h, w[, c]) over squares of ``factor`` x ``factor`` valid pixels.

    Returns
    -------
    values : (h // factor, w // factor[, c]) array
    valid : (h // factor, w // factor) array
        True for squares of which at least half the pixels are valid.
    """
    # Nearly always; saves counting.
    if mask.all():
        values = _squares(source, factor).mean(axis=(1, 3), dtype=source.dtype)
        return values, np.ones(values.shape[:2], dtype=bool)
    # Valid pixels of each square, (h // factor) x (w // factor).
    count = _squares(mask, factor).sum(axis=(1, 3))
    # NaN at a missing pixel would spoil the sum of its square.
    seen = np.where(_like(mask, source), source, 0)
    total = _squares(seen, factor).sum(axis=(1, 3), dtype=source.dtype)
    # A square without valid pixels has the total 0; dividing it by 1 keeps it finite.
    divisor = np.maximum(_like(count, source), 1)
    values = total / divisor.astype(source.dtype)
    return values, np.asarray(2 * count >= factor * factor)


def _like(plane: npt.NDArray[Any], source: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give a plane (h, w) a channel axis of length 1 where the picture has one."""
    return plane if source.ndim == 2 else plane[..., None]


def _squares(array: npt.NDArray[Any], factor: int) -> npt.NDArray[Any]:
    """View (h, w, ...) as (h // factor, factor, w // factor, factor, ...), cut at the far edges."""
    height, width = array.shape[:2]
    rows = height // factor
    columns = width // factor
    whole = array[: rows * factor, : columns * factor]
    return whole.reshape(rows, factor, columns, factor, *array.shape[2:])
