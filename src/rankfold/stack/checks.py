"""What the caller gave as pictures, masks and names, refused where it is something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.stack.frame import SMALLEST_SIDE

Bools = npt.NDArray[np.bool_]

# A picture is constant when its range is at most this share of its largest magnitude.
CONSTANT = 1e-9


def arrays_of(images: npt.NDArray[Any] | Sequence[npt.ArrayLike]) -> list[npt.NDArray[Any]]:
    """Return what the caller gave as a list of arrays, at least one."""
    try:
        # Iterating splits one array (n, h, w[, c]) into its n pictures.
        arrays = [np.asarray(image) for image in images]
    except TypeError as error:
        raise InputError(
            f"images is a {type(images).__name__}; pass a list of arrays, or one array"
        ) from error
    if not arrays:
        raise InputError("no images were given; pass at least two pictures of the same thing")
    return arrays


def labels_of(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return one name a picture: the caller's, or ``image 0``, ``image 1`` and so on."""
    if names is None:
        return tuple(f"image {k}" for k in range(count))
    labels = tuple(str(name) for name in names)
    if len(labels) != count:
        raise InputError(f"{len(labels)} names for {count} images; give one name an image")
    return labels


def check_batch(
    arrays: list[npt.NDArray[Any]],
    labels: tuple[str, ...],
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None,
) -> None:
    """Refuse n arrays that are no pictures, or not of one kind, or not as many as the masks."""
    for array, label in zip(arrays, labels, strict=True):
        check_picture(array, label)
    # shape[2:] is () for grey and (c,) for colour.
    if len({array.shape[2:] for array in arrays}) > 1:
        raise InputError("grey and colour images are mixed; convert all of them to one kind")
    if masks is not None and len(masks) != len(arrays):
        raise InputError(f"{len(masks)} masks for {len(arrays)} images; give one mask an image")


def check_picture(array: npt.NDArray[Any], name: str) -> None:
    """Refuse an array that is no picture (h, w) or (h, w, c) of real numbers."""
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"{name} has shape {array.shape}; a picture is (height, width) or "
            "(height, width, channels), and a batch is a list of them or one array "
            "(n, height, width[, channels])"
        )
    is_number = np.issubdtype(array.dtype, np.number) or array.dtype == bool
    if not is_number or np.iscomplexobj(array):
        raise InputError(f"{name} has type {array.dtype}; pass integers or floats")
    height, width = array.shape[:2]
    if min(height, width) < SMALLEST_SIDE:
        raise InputError(f"{name} is {height}x{width}; pictures need at least 4x4 pixels")


def checked_mask(mask: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Bools:
    """Return the caller's mask as booleans of ``shape`` (h, w), or refuse it."""
    given = np.asarray(mask)
    if given.shape != shape:
        raise InputError(
            f"the mask of {name} has shape {given.shape} but the picture is {shape}; "
            "give one value a pixel, True where the pixel may be used"
        )
    return given.astype(bool)


def check_varies(pixels: npt.NDArray[Any], name: str) -> None:
    """Refuse the valid pixels (k,) or (k, c) of a picture where all of them are the same."""
    # Channels are looked at one by one: a picture in one flat colour is constant too.
    low = pixels.min(axis=0)
    high = pixels.max(axis=0)
    largest = max(-low.min(), high.max())
    if (high - low).max() <= CONSTANT * largest:
        raise InputError(
            f"{name} is constant where it is valid, so nothing can align it; leave it out"
        )
