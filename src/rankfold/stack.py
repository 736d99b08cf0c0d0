"""The pictures (Stack), the canonical grid they are brought to (Frame), and where to start (Points)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.families import FAMILIES, Family, Floats, shift

Bools = npt.NDArray[np.bool_]

# Rec. 601 weights, as every rgb-to-grey conversion that people compare with.
LUMINANCE = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Frame:
    """The canonical grid: ``height`` x ``width`` pixels, centres at integers from zero."""

    height: int
    width: int

    def __post_init__(self) -> None:
        """Refuse a grid without room for a derivative."""
        if min(self.height, self.width) < 4:
            raise InputError(
                f"frame {self.height}x{self.width} is too small; use at least 4x4 pixels"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
        return self.height, self.width

    @property
    def grid(self) -> Floats:
        """Pixel centres (m, 2) as (x, y), row by row."""
        y, x = np.mgrid[: self.height, : self.width]
        return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)

    @property
    def centre(self) -> Floats:
        """(x, y) of the middle."""
        return np.array([self.width - 1, self.height - 1]) / 2

    @property
    def corners(self) -> Floats:
        """The four corner pixels (4, 2)."""
        w, h = self.width - 1.0, self.height - 1.0
        return np.array([[0, 0], [w, 0], [w, h], [0, h]])


@dataclass(frozen=True)
class Points:
    """Corresponding points: ``canonical`` (k, 2) in the frame, ``sources`` (n, k, 2) in each picture; 0-based."""

    canonical: Floats
    sources: Floats

    def __post_init__(self) -> None:
        """Check shapes and values."""
        c, s = (
            np.asarray(self.canonical, dtype=np.float64),
            np.asarray(self.sources, dtype=np.float64),
        )
        if c.ndim != 2 or c.shape[1] != 2 or s.ndim != 3 or s.shape[1:] != c.shape:
            raise InputError(
                f"points have shapes {c.shape} in the frame and {s.shape} in the pictures; "
                "give (k, 2) and (n, k, 2), each point as (x, y)"
            )
        if not (np.isfinite(c).all() and np.isfinite(s).all()):
            raise InputError(
                "points contain NaN or infinity; every point needs two finite coordinates"
            )
        if len(c) >= 2 and min(np.ptp(p, axis=0).max() for p in (c, *s)) == 0:
            raise InputError(
                "all points of a set are the same point; they fix neither a rotation nor a scale"
            )
        if len(c) < 2:
            raise InputError(
                "one point does not fix a rotation and a scale; give at least two a picture"
            )
        object.__setattr__(self, "canonical", c)
        object.__setattr__(self, "sources", s)

    def transforms(self, family: Family) -> Floats:
        """Transforms (n, 3, 3) through the points, no richer than ``family`` (or a similarity, where that is richer).

        Two points give a similarity, three an affine map, four a homography; more are fitted by least squares.
        """
        ladder = [FAMILIES[name] for name in ("similarity", "affine", "homography")]
        allowed = ladder[: ladder.index(family) + 1] if family in ladder else ladder[:1]
        chosen = [f for f in allowed if f.min_points <= len(self.canonical)][-1]
        return np.stack([chosen.fit(self.canonical, source) for source in self.sources])


@dataclass(frozen=True)
class Stack:
    """Pictures of one thing, each of its own size, scaled to [0, 1] where they came as integers.

    Build one with :meth:`of`, which checks everything.
    """

    sources: tuple[npt.NDArray[Any], ...]  # each (h, w) or (h, w, c)
    masks: tuple[Bools, ...]  # each (h, w), True where the pixel may be used
    names: tuple[str, ...]
    units: Floats  # (n,) what 1.0 was in the caller's units
    reduction: int = 1  # a pixel of a source is the mean of so many by so many of the original's
    originals: tuple[
        tuple[int, int], ...
    ] = ()  # (height, width) of the originals; empty where nothing was reduced

    @classmethod
    def of(
        cls,
        images: Stack | npt.NDArray[Any] | Sequence[npt.ArrayLike],
        masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
        names: Sequence[str] | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> Stack:
        """Check pictures and masks and bring them into one form.

        Parameters
        ----------
        images : sequence of (h, w) or (h, w, c) arrays, one (n, h, w[, c]) array, or a Stack
            NaN marks a missing pixel. Integers are scaled by the largest value of their type.
        masks : sequence of (h, w) arrays, optional
            True (or non-zero) where a pixel may be used.
        names : sequence of str, optional
            What to call the pictures in messages and files.
        dtype : float64 or float32
        """
        if isinstance(images, Stack):
            names = images.names if names is None else names
            stack = cls.of(images.sources, masks, names, dtype)
            both = tuple(m & own for m, own in zip(stack.masks, images.masks, strict=True))
            return cls(
                stack.sources,
                both,
                stack.names,
                images.units * stack.units,
                images.reduction,
                images.originals,
            )
        try:
            arrays = [np.asarray(image) for image in images]
        except TypeError as error:
            raise InputError(
                f"images is a {type(images).__name__}; pass a list of arrays, or one array"
            ) from error
        if not arrays:
            raise InputError("no images were given; pass at least two pictures of the same thing")
        labels = (
            tuple(str(name) for name in names)
            if names is not None
            else tuple(f"image {i}" for i in range(len(arrays)))
        )
        if len(labels) != len(arrays):
            raise InputError(
                f"{len(labels)} names for {len(arrays)} images; give one name an image"
            )
        for array, label in zip(arrays, labels, strict=True):
            _check_picture(array, label)
        if len({array.shape[2:] for array in arrays}) > 1:
            raise InputError("grey and colour images are mixed; convert all of them to one kind")
        if masks is not None and len(masks) != len(arrays):
            raise InputError(f"{len(masks)} masks for {len(arrays)} images; give one mask an image")
        given = [None] * len(arrays) if masks is None else list(masks)
        units = _units(arrays)
        pairs = [_scaled(*one, dtype) for one in zip(arrays, units, given, labels, strict=True)]
        return cls(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), labels, units)

    @classmethod
    def joined(cls, parts: Sequence[Stack]) -> Stack:
        """Several stacks, reduced alike, as one."""
        if len({part.reduction for part in parts}) > 1:
            raise InputError("stacks that were reduced by different factors cannot be joined")
        sources = [s for part in parts for s in part.sources]
        units = np.concatenate([part.units for part in parts])
        # floats have a power of two each; all of them get the largest, as they would in one call of Stack.of
        floats = np.log2(units) % 1 == 0
        common = units[floats].max(initial=0.0)
        for k in np.flatnonzero(floats & (units != common)):
            sources[k], units[k] = sources[k] * sources[k].dtype.type(units[k] / common), common
        return cls(
            tuple(sources),
            tuple(m for part in parts for m in part.masks),
            tuple(name for part in parts for name in part.names),
            units,
            parts[0].reduction,
            tuple(shape for part in parts for shape in part.originals),
        )

    def reduced(self, factor: int) -> Stack:
        """The same pictures, ``factor`` times coarser: means over the usable pixels of squares, missing where few are.

        Transforms still refer to the originals: :func:`rankfold.align` takes and returns them in their coordinates.
        """
        if factor < 1:
            raise InputError(f"a reduction of {factor} is not possible; it must be at least 1")
        if factor == 1:
            return self
        for source, name in zip(self.sources, self.names, strict=True):
            if min(source.shape[:2]) < 4 * factor:
                raise InputError(
                    f"{name} is {source.shape[0]}x{source.shape[1]}, too small to be reduced by {factor}"
                )
        parts = [_coarser(s, m, factor) for s, m in zip(self.sources, self.masks, strict=True)]
        sources, masks = tuple(p[0] for p in parts), tuple(p[1] for p in parts)
        for mask, name in zip(masks, self.names, strict=True):
            if not mask.any():
                raise InputError(
                    f"nothing is left of {name} when it is reduced by {factor}: too much of it is masked"
                )
        return Stack(
            sources,
            masks,
            self.names,
            self.units,
            self.reduction * factor,
            tuple(self.original_shapes),
        )

    @property
    def original_shapes(self) -> list[tuple[int, int]]:
        """(height, width) of every original."""
        return list(self.originals) or [(s.shape[0], s.shape[1]) for s in self.sources]

    def to_original(self, transforms: Floats) -> Floats:
        """Transforms (..., 3, 3) into the sources as transforms into the originals."""
        return (
            transforms
            if self.reduction == 1
            else rescaling(np.full(2, float(self.reduction))) @ transforms
        )

    def from_original(self, transforms: Floats) -> Floats:
        """And back."""
        return (
            transforms
            if self.reduction == 1
            else rescaling(np.full(2, 1 / self.reduction)) @ transforms
        )

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.sources)

    @property
    def channels(self) -> int:
        """Values a pixel: 1 for grey."""
        return 1 if self.sources[0].ndim == 2 else self.sources[0].shape[2]

    @property
    def is_colour(self) -> bool:
        """Whether the pictures have a channel axis (of any length)."""
        return self.sources[0].ndim == 3

    @property
    def value_range(self) -> float:
        """Darkest to brightest usable value over all pictures; at least 1 for pictures that came as integers."""
        if (self.units > 1).any():
            return 1.0
        seen = [_usable(s, m) for s, m in zip(self.sources, self.masks, strict=True)]
        low, high = (
            min(float(values.min()) for values in seen),
            max(float(values.max()) for values in seen),
        )
        return max(high - low, float(np.finfo(np.float64).tiny))

    def luminance(self) -> Stack:
        """The same pictures in grey: Rec. 601 for three channels, the mean for any other number."""
        if not self.is_colour:
            return self
        c = self.channels
        weights = LUMINANCE if c == 3 else np.full(c, 1 / c)
        grey = tuple((s @ weights.astype(s.dtype)) for s in self.sources)
        return Stack(grey, self.masks, self.names, self.units, self.reduction, self.originals)

    def check_alignable(self) -> None:
        """Refuse what cannot be aligned: a single picture, a constant one."""
        if len(self) < 2:
            raise InputError(
                f"only one image was given ({self.names[0]}); alignment needs at least two"
            )
        for source, mask, name in zip(self.sources, self.masks, self.names, strict=True):
            seen = _usable(source, mask)
            low, high = seen.min(axis=0), seen.max(axis=0)
            if (high - low).max() <= 1e-9 * max(-low.min(), high.max()):
                raise InputError(
                    f"{name} is constant where it is valid, so nothing can align it; leave it out"
                )

    def default_frame(self) -> Frame:
        """A frame of the median size of the sources."""
        height, width = np.median([s.shape[:2] for s in self.sources], axis=0)
        return Frame(round(height), round(width))

    def centred(self, frame: Frame, zoom: float = 1.0) -> Floats:
        """Transforms (n, 3, 3) that lay the frame over the middle of each source.

        ``zoom`` is the number of source pixels that one pixel of the frame spans.
        """
        scale = np.diag([zoom, zoom, 1.0])
        centres = [np.array([s.shape[1] - 1, s.shape[0] - 1]) / 2 for s in self.sources]
        return np.stack([shift(centre) @ scale @ shift(-frame.centre) for centre in centres])


def rescaling(factor: Floats) -> Floats:
    """Matrix (3, 3) between the pixel centres of one field of view at two resolutions; factor as (x, y)."""
    half = np.full(2, 0.5)
    return shift(-half) @ np.diag([*factor, 1.0]) @ shift(half)


def _usable(source: npt.NDArray[Any], mask: Bools) -> npt.NDArray[Any]:
    """The pixels (k,) or (k, c) that may be used."""
    return source.reshape(mask.size, *source.shape[2:]) if mask.all() else source[mask]


def _coarser(source: npt.NDArray[Any], mask: Bools, factor: int) -> tuple[npt.NDArray[Any], Bools]:
    """Means over the usable pixels of squares, and the squares of which at least half can be used."""
    if mask.all():
        values = _squares(source, factor).mean(axis=(1, 3), dtype=source.dtype)
        return values, np.ones(values.shape[:2], dtype=bool)
    count = _squares(mask, factor).sum(axis=(1, 3))
    seen = np.where(mask if source.ndim == 2 else mask[..., None], source, 0)
    total = _squares(seen, factor).sum(axis=(1, 3), dtype=source.dtype)
    values = total / np.maximum(count if source.ndim == 2 else count[..., None], 1).astype(
        source.dtype
    )
    return values, np.asarray(2 * count >= factor * factor)


def _squares(array: npt.NDArray[Any], factor: int) -> npt.NDArray[Any]:
    """(h, w, ...) as (h // factor, factor, w // factor, factor, ...); what is over at the edges is cut off."""
    h, w = (size // factor for size in array.shape[:2])
    return array[: h * factor, : w * factor].reshape(h, factor, w, factor, *array.shape[2:])


def _units(arrays: list[npt.NDArray[Any]]) -> Floats:
    """What 1.0 is in the caller's units (n,): the largest value of an integer type; one for ordinary floats."""
    floats = [a for a in arrays if np.issubdtype(a.dtype, np.floating)]
    common = max((power_of_two(a) for a in floats), default=1.0)
    return np.array(
        [
            float(np.iinfo(a.dtype).max) if np.issubdtype(a.dtype, np.integer) else common
            for a in arrays
        ]
    )


def power_of_two(array: npt.NDArray[Any]) -> float:
    """1 for values of an ordinary size, else the power of two that brings the largest to about one, exactly.

    Squares of values like 1e-200 or 1e30 (in single precision) would vanish or overflow.
    """
    largest = float(max(-array.min(initial=0.0), array.max(initial=0.0)))
    if not np.isfinite(largest):
        largest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    if largest == 0 or 2.0**-20 <= largest <= 2.0**20:
        return 1.0
    return float(2.0 ** np.round(np.log2(largest)))


def _check_picture(array: npt.NDArray[Any], name: str) -> None:
    """Refuse what is no picture."""
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"{name} has shape {array.shape}; a picture is (height, width) or (height, width, channels), "
            "and a batch is a list of them or one array (n, height, width[, channels])"
        )
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise InputError(f"{name} has type {array.dtype}; pass integers or floats")
    if min(array.shape[:2]) < 4:
        raise InputError(
            f"{name} is {array.shape[0]}x{array.shape[1]}; pictures need at least 4x4 pixels"
        )


def _scaled(
    array: npt.NDArray[Any],
    unit: float,
    mask: npt.ArrayLike | None,
    name: str,
    dtype: npt.DTypeLike,
) -> tuple[npt.NDArray[Any], Bools]:
    """Values in [0, 1] where the picture came as integers, and the pixels that may be used."""
    values = (array / unit).astype(dtype, copy=False)
    if np.isinf(values).any():
        raise InputError(f"{name} contains infinity; write NaN where a pixel is missing")
    usable = ~np.isnan(values) if values.ndim == 2 else ~np.isnan(values).any(axis=2)
    if not usable.any():
        raise InputError(f"{name} is NaN everywhere, so there is nothing to align; leave it out")
    if mask is not None:
        given = np.asarray(mask)
        if given.shape != array.shape[:2]:
            raise InputError(
                f"the mask of {name} has shape {given.shape} but the picture is {array.shape[:2]}; "
                "give one value a pixel, True where the pixel may be used"
            )
        usable &= given.astype(bool)
        if not usable.any():
            raise InputError(
                f"the mask of {name} hides all of it; leave the picture out or unmask some of it"
            )
    return values, usable
