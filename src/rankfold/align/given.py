"""What the caller gave: pictures, a frame and a start, each in one form and checked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.batches import FromSource
from rankfold.align.reduction import lossless_reduction, reduction_for_frame
from rankfold.arguments import array_of, is_real, shown
from rankfold.errors import InputError
from rankfold.families import Floats, get_family
from rankfold.io import Source, open_pictures
from rankfold.stack import Frame, Points, Stack

Given = Stack | npt.NDArray[Any] | Sequence[npt.ArrayLike]
Images = Given | str | Path | Source | FromSource
Init = str | npt.ArrayLike | Points
Masks = Sequence[npt.ArrayLike] | npt.NDArray[Any] | None

# Starts that have a name.
STARTS = ("centred", "identity")

# Unit: px. A transform with larger entries, or an inverse with larger ones, is a mistake: what is
# computed from it would be lost in rounding.
FARTHEST = 1e9

# Of a transform whose last entry is one. Below it, a million px of the frame are less than one of
# the picture.
LEAST_DETERMINANT = 1e-12


def opened(images: Images) -> Given | Source | FromSource:
    """Look at the pictures of a path without reading them; what is in memory stays as it is."""
    return open_pictures(str(images)) if isinstance(images, str | os.PathLike) else images


def without_empty(source: Source, masks: Masks, init: Init, *numbers: object) -> Source:
    """Leave out frames of a stack or a video that nothing can align, and warn of them.

    Not where masks, a start or some ``numbers`` speak of the pictures by their places in the file.
    """
    by_place = masks is not None or not isinstance(init, str)
    if by_place or any(isinstance(number, int | np.integer) for number in numbers):
        return source
    kept = source.for_alignment()
    left_out = [name for name in source.names if name not in set(kept.names)]
    if left_out:
        warnings.warn(
            f"{source.path}: {', '.join(left_out)} left out, because nothing can align what is "
            "the same everywhere or infinite; the result's names say what it holds",
            stacklevel=3,
        )
    return kept


def as_stack(
    images: Images, masks: Masks, dtype: npt.DTypeLike, reduction: int | None = None
) -> Stack:
    """Pictures in one form, read where a path is given, and coarser by a ``reduction``."""
    images = opened(images)
    if isinstance(images, FromSource):
        return images.together(range(len(images.names)))
    if isinstance(images, Source):
        source = images
        factor = 1 if reduction is None else reduction
        if masks is None:
            return source.stack(factor, dtype)
        # Masks are those of the pictures as they are on disk.
        return Stack.of(source.stack(1, dtype), masks, dtype=dtype).reduced(factor)
    # A Stack of the right type was checked when it was made.
    ready = isinstance(images, Stack) and all(s.dtype == dtype for s in images.sources)
    stack = images if ready and masks is None else Stack.of(images, masks, dtype=dtype)
    assert isinstance(stack, Stack)
    return stack if reduction is None else stack.reduced(max(reduction // stack.reduction, 1))


def default_reduction_of(
    images: Images, frame: Frame | None, init: Init, family: str
) -> int | None:
    """How much coarser a path is read: as the command would; None for pictures in memory."""
    source = opened(images)
    if not isinstance(source, Source):
        return None
    if isinstance(init, str):
        return reduction_for_frame(source.shapes, source.channels, frame)
    if frame is None:
        return 1
    start = check_transforms(matrices_of(init, family), source.names)
    return lossless_reduction(start, frame)


def start_transforms(init: Init, stack: Stack, frame: Frame, family: str) -> Floats:
    """Transforms (n, 3, 3) to start from."""
    n = len(stack)
    if isinstance(init, str):
        check_start(init)
        return stack.centred(frame) if init == "centred" else np.tile(np.eye(3), (n, 1, 1))
    # Callers speak of their own pictures, which may have been reduced while they were read.
    given = check_transforms(matrices_of(init, family), stack.names)
    return check_transforms(stack.from_original(given), stack.names)


def check_start(init: str) -> None:
    """Refuse a word that is no start."""
    if init not in STARTS:
        raise InputError(
            f"unknown init {shown(init)}; use 'centred', 'identity', an (n, 3, 3) array or Points"
        )


def matrices_of(init: npt.ArrayLike | Points, family: str) -> Floats:
    """The start that was given, by transforms or by points, as an array of floats."""
    if isinstance(init, Points):
        return init.transforms(get_family(family))
    return as_matrices(init)


def as_matrices(init: npt.ArrayLike) -> Floats:
    """Start transforms as an array of floats, of whatever shape; refuse what holds no numbers."""
    given = array_of(init, "init")
    if not is_real(given.dtype):
        raise InputError(
            f"init has type {given.dtype}; use 'centred', 'identity', an (n, 3, 3) array of "
            "numbers or Points"
        )
    with np.errstate(over="ignore"):
        # Infinity is refused with the name of its picture.
        return np.ma.filled(given.astype(np.float64, copy=False), np.nan)


def check_transforms(transforms: Floats, names: Sequence[str]) -> Floats:
    """Refuse start transforms that are not (n, 3, 3), finite and invertible; last entry one."""
    n = len(names)
    if transforms.shape != (n, 3, 3):
        raise InputError(f"init has shape {transforms.shape}; {n} images need ({n}, 3, 3)")
    for T, name in zip(transforms, names, strict=True):
        there = _normalised(T)
        back = None if there is None else _way_back(there)
        if there is None or back is None:
            raise InputError(
                f"the start transform of {name} is not finite or not invertible; correct it in init"
            )
        if max(np.abs(there).max(), np.abs(back).max()) > FARTHEST:
            raise InputError(
                f"the start transform of {name} leads further than {FARTHEST:g} px, there or back; "
                "correct it in init"
            )
    return transforms / transforms[:, 2:, 2:]


def _way_back(T: Floats) -> Floats | None:
    """The inverse of a matrix (3, 3) over its last entry; None where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        invertible = abs(np.linalg.det(T)) >= LEAST_DETERMINANT
    # Where the corner of a picture lies at infinity in the frame, the last entry is zero.
    return _normalised(np.linalg.inv(T).astype(np.float64)) if invertible else None


def _normalised(T: Floats) -> Floats | None:
    """A matrix (3, 3) over its last entry; None where that is not finite."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        scaled = np.asarray(T / T[2, 2])
    return scaled if np.isfinite(scaled).all() else None
