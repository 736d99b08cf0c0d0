"""What the caller gave as pictures, masks and names, refused where it is something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import array_of, is_real, shown, with_nan
from rankfold.errors import InputError
from rankfold.stack.frame import SMALLEST_SIDE

Bools = npt.NDArray[np.bool_]

# A picture is constant when its range is at most this share of its largest magnitude.
CONSTANT = 1e-9


def listed(images: npt.NDArray[Any] | Sequence[npt.ArrayLike]) -> list[npt.NDArray[Any]]:
    """Return what the caller gave as a list of arrays, at least one; masked ones stay so."""
    try:
        pictures = iter(images)
    except TypeError as error:
        raise InputError(
            f"images is a {type(images).__name__}; pass a list of arrays, or one array"
        ) from error
    # Iterating splits one array (n, h, w[, c]) into its n pictures. What an iterator of the caller
    # raises is the caller's.
    given = list(pictures)
    if not given:
        raise InputError("no images were given; pass at least two pictures of the same thing")
    return [array_of(image, f"image {k}") for k, image in enumerate(given)]


def arrays_of(images: npt.NDArray[Any] | Sequence[npt.ArrayLike]) -> list[npt.NDArray[Any]]:
    """Return what the caller gave as a list of plain arrays; a masked value becomes NaN."""
    return [with_nan(array) for array in listed(images)]


def labels_of(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return one name a picture: the caller's, or ``image 0``, ``image 1`` and so on."""
    if names is None:
        return tuple(f"image {k}" for k in range(count))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names={shown(names)} is a {type(names).__name__}; give a list of texts")
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
    if masks is not None:
        check_count(masks, len(arrays))


def check_count(masks: Sequence[npt.ArrayLike] | npt.NDArray[Any], count: int) -> None:
    """Refuse masks that are not as many as there are pictures."""
    check_masks_kind(masks)
    if len(masks) != count:
        raise InputError(f"{len(masks)} masks for {count} images; give one mask an image")


def check_masks_kind(masks: object) -> None:
    """Refuse masks that are neither a list of masks nor an array of them."""
    is_array = isinstance(masks, np.ndarray) and masks.ndim > 0
    is_list = isinstance(masks, Sequence) and not isinstance(masks, str | bytes)
    if not (is_array or is_list):
        raise InputError(
            f"masks is a {type(masks).__name__}; pass a list of arrays (height, width), or one "
            "array (n, height, width)"
        )


def check_picture(array: npt.NDArray[Any], name: str) -> None:
    """Refuse an array that is no picture (h, w) or (h, w, c) of real numbers."""
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"{name} has shape {array.shape}; a picture is (height, width) or "
            "(height, width, channels), and a batch is a list of them or one array "
            "(n, height, width[, channels])"
        )
    if not is_real(array.dtype):
        raise InputError(f"{name} has type {array.dtype}; pass integers or floats")
    height, width = array.shape[:2]
    if min(height, width) < SMALLEST_SIDE:
        raise InputError(f"{name} is {height}x{width}; pictures need at least 4x4 pixels")


def checked_mask(mask: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Bools:
    """Return the caller's mask as booleans of ``shape`` (h, w), or refuse it."""
    given = array_of(mask, f"the mask of {name}")
    if given.shape != shape:
        raise InputError(
            f"the mask of {name} has shape {given.shape} but the picture is {shape}; "
            "give one value a pixel, True where the pixel may be used"
        )
    if not is_real(given.dtype):
        raise InputError(
            f"the mask of {name} has type {given.dtype}; give True where the pixel may be used, "
            "and False elsewhere"
        )
    # What a masked array hides of a mask is not said to be usable.
    return np.asarray(np.ma.filled(given.astype(bool), False), dtype=bool)


def unmasked(
    arrays: list[npt.NDArray[Any]],
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None,
    labels: tuple[str, ...],
) -> tuple[list[npt.NDArray[Any]], Sequence[npt.ArrayLike] | npt.NDArray[Any] | None]:
    """Return n checked pictures as plain arrays, with masks that hide what masked arrays hide.

    Floats get NaN. Integers, whose type says what their unit is, get a mask of their own.
    """
    hide = [np.ma.isMaskedArray(array) and array.dtype.kind != "f" for array in arrays]
    if any(hide):
        given = [None] * len(arrays) if masks is None else masks
        masks = [
            seen_in(array, mask, label)
            for array, mask, label in zip(arrays, given, labels, strict=True)
        ]
    plain = [
        np.ma.getdata(array) if hidden else with_nan(array)
        for array, hidden in zip(arrays, hide, strict=True)
    ]
    return plain, masks


def seen_in(array: npt.NDArray[Any], mask: npt.ArrayLike | None, name: str) -> Bools:
    """Pixels (h, w) of a masked picture that neither it nor the caller's mask hides."""
    hidden = np.ma.getmaskarray(array)
    # A pixel is missing when any of its channels is.
    seen = np.asarray(~hidden if hidden.ndim == 2 else ~hidden.any(axis=2))
    return seen if mask is None else seen & checked_mask(mask, seen.shape, name)


def given_pictures(
    images: npt.NDArray[Any] | Sequence[npt.ArrayLike],
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
) -> tuple[
    list[npt.NDArray[Any]],
    Sequence[npt.ArrayLike] | npt.NDArray[Any] | None,
    tuple[str, ...],
]:
    """Return what the caller gave as n checked pictures, their masks or None, and n names."""
    arrays = listed(images)
    labels = labels_of(names, len(arrays))
    check_batch(arrays, labels, masks)
    plain, all_masks = unmasked(arrays, masks, labels)
    return plain, all_masks, labels


def varies(pixels: npt.NDArray[Any]) -> bool:
    """Whether the values (k,) or (k, c) of some pixels differ; not where there are none."""
    if len(pixels) == 0:
        return False
    # Channels are looked at one by one: a picture in one flat colour does not vary either.
    low = pixels.min(axis=0).astype(np.float64)
    high = pixels.max(axis=0).astype(np.float64)
    largest = max(-low.min(), high.max())
    # Halves, because the difference of the largest floats is none.
    return bool((high / 2 - low / 2).max() > CONSTANT * largest / 2)


def check_varies(pixels: npt.NDArray[Any], name: str) -> None:
    """Refuse the valid pixels (k,) or (k, c) of a picture where all of them are the same."""
    if not varies(pixels):
        raise InputError(
            f"{name} is constant where it is valid, so nothing can align it; leave it out"
        )
