"""What the caller gave: pictures, a frame and a start, each in one form and checked."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.batches import FromSource
from rankfold.align.reduction import lossless_reduction, reduction_for_frame
from rankfold.errors import InputError
from rankfold.families import Floats, get_family
from rankfold.io import Source, open_pictures
from rankfold.stack import Frame, Points, Stack

Given = Stack | npt.NDArray[Any] | Sequence[npt.ArrayLike]
Images = Given | str | Path | Source | FromSource
Init = str | npt.ArrayLike | Points
Masks = Sequence[npt.ArrayLike] | npt.NDArray[Any] | None


def opened(images: Images) -> Given | Source | FromSource:
    """Look at the pictures of a path without reading them; what is in memory stays as it is."""
    return open_pictures(str(images)) if isinstance(images, str | os.PathLike) else images


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
    given = init.transforms(get_family(family)) if isinstance(init, Points) else init
    start = check_transforms(np.asarray(given, np.float64), source.names)
    return lossless_reduction(start, frame)


def as_frame(frame: tuple[int, int] | Frame) -> Frame:
    """The canonical grid that the caller wants."""
    if isinstance(frame, Frame):
        return frame
    try:
        height, width = (operator.index(size) for size in frame)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"frame={frame!r} is not a size; give (height, width) in whole pixels"
        ) from error
    return Frame(height, width)


def start_transforms(init: Init, stack: Stack, frame: Frame, family: str) -> Floats:
    """Transforms (n, 3, 3) to start from."""
    n = len(stack)
    if isinstance(init, str):
        if init not in ("centred", "identity"):
            raise InputError(
                f"unknown init {init!r}; use 'centred', 'identity', an (n, 3, 3) array or Points"
            )
        return stack.centred(frame) if init == "centred" else np.tile(np.eye(3), (n, 1, 1))
    # Callers speak of their own pictures, which may have been reduced while they were read.
    given = init.transforms(get_family(family)) if isinstance(init, Points) else init
    return check_transforms(stack.from_original(np.asarray(given, np.float64)), stack.names)


def check_transforms(transforms: Floats, names: Sequence[str]) -> Floats:
    """Refuse start transforms that are not (n, 3, 3), finite and invertible; last entry one."""
    n = len(names)
    if transforms.shape != (n, 3, 3):
        raise InputError(f"init has shape {transforms.shape}; {n} images need ({n}, 3, 3)")
    for T, name in zip(transforms, names, strict=True):
        if not np.isfinite(T).all() or abs(np.linalg.det(T)) < 1e-12 or T[2, 2] == 0:
            raise InputError(
                f"the start transform of {name} is not finite or not invertible; correct it in init"
            )
    return transforms / transforms[:, 2:, 2:]
