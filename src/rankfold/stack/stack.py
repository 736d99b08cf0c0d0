"""The pictures of one thing, each of its own size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import precision
from rankfold.errors import InputError
from rankfold.families import Floats, shift
from rankfold.stack.checks import Bools, check_varies, given_pictures
from rankfold.stack.frame import Frame, rescaling
from rankfold.stack.reduction import all_coarser
from rankfold.stack.scaling import (
    are_integers,
    check_unit,
    in_one_unit,
    scaled,
    units_of,
    valid_pixels,
)
from rankfold.stack.views import VIEW_SIDE, View, view_of

# Weights of red, green and blue in Rec. 601, as in most conversions from RGB to grey.
LUMINANCE = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Origin:
    """Where pictures lie on disk.

    Parameters
    ----------
    path : str
        As the caller wrote it.
    opened_with : mapping
        How it was opened, in plain values.
    """

    path: str
    opened_with: Mapping[str, Any]


@dataclass(frozen=True)
class Stack:
    """Pictures of one thing, each of its own size, scaled to [0, 1] where they came as integers.

    Build one with :meth:`of`, which checks everything.

    Parameters
    ----------
    sources : n arrays (h, w) or (h, w, c)
        The values of each picture, divided by its unit.
    masks : n arrays (h, w)
        True where a pixel is valid.
    names : n strings
        What the pictures are called in messages and files.
    units : (n,) array
        What 1.0 was in the caller's units.
    came_as_integers : (n,) array of bool
        True for pictures of an integer type. Each of these has the unit of its type; all
        others share one unit.
    reduction : int
        A pixel of a source is the mean of ``reduction`` x ``reduction`` pixels of the original.
    originals : n pairs (height, width)
        Sizes of the originals; empty where nothing was reduced.
    views : n View
        Small grey copies of the originals, in which keypoints are looked for; empty where nothing
        was reduced, because then they can be made from the sources.
    span : float, optional
        The range of values of the batch that these pictures are part of; their own if left out.
    origin : Origin, optional
        Where the pictures lie on disk, if they are as they were read.
    """

    sources: tuple[npt.NDArray[Any], ...]
    masks: tuple[Bools, ...]
    names: tuple[str, ...]
    units: Floats
    came_as_integers: Bools
    reduction: int = 1
    originals: tuple[tuple[int, int], ...] = ()
    views: tuple[View, ...] = ()
    span: float | None = None
    origin: Origin | None = None

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
            NaN marks a missing pixel, as does a masked value of a NumPy masked array. Integers of
            8 and 16 bits are scaled by the largest value of their type.
        masks : sequence of (h, w) arrays, optional
            True (or non-zero) where a pixel may be used.
        names : sequence of str, optional
            What to call the pictures in messages and files.
        dtype : float64 or float32
            Type of the values that are kept.

        Returns
        -------
        Stack

        Raises
        ------
        InputError
            Something is no picture, or masks and names do not fit the pictures.
        """
        precision("dtype", dtype)
        if isinstance(images, Stack):
            return images._checked_again(masks, names, dtype)
        arrays, masks, labels = given_pictures(images, masks, names)
        # From here on every picture has an entry, None where it has no mask.
        given_masks = [None] * len(arrays) if masks is None else list(masks)
        units = units_of(arrays)
        # Integers lie in the middle of the range.
        check_unit(float(units.max()), dtype, "the pictures")
        check_unit(float(units.min()), dtype, "the pictures")
        pairs = [
            scaled(*picture, dtype)
            for picture in zip(arrays, units, given_masks, labels, strict=True)
        ]
        sources = tuple(values for values, _ in pairs)
        valid = tuple(mask for _, mask in pairs)
        return cls(sources, valid, labels, units, are_integers(arrays))

    def _checked_again(
        self,
        masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None,
        names: Sequence[str] | None,
        dtype: npt.DTypeLike,
    ) -> Stack:
        """Return this stack with further masks, other names or another type."""
        # The sources are floats by now, so what they came as is taken from this stack.
        names = self.names if names is None else names
        again = Stack.of(self.sources, masks, names, dtype)
        both = zip(again.masks, self.masks, strict=True)
        return replace(
            self,
            sources=again.sources,
            masks=tuple(new & own for new, own in both),
            names=again.names,
            # Scaled twice: the units multiply.
            units=self.units * again.units,
            # Views that were kept do not know of further masks.
            views=self.views if masks is None else (),
            origin=None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Stack]) -> Stack:
        """Put several stacks that were reduced alike into one.

        Parameters
        ----------
        parts : sequence of Stack
            Their pictures follow each other in this order.

        Returns
        -------
        Stack
            What one call of :meth:`of` would have made of all the pictures.
        """
        if len({part.reduction for part in parts}) > 1:
            raise InputError("stacks that were reduced by different factors cannot be joined")
        came_as_integers = np.concatenate([part.came_as_integers for part in parts])
        sources, units = in_one_unit(
            [source for part in parts for source in part.sources],
            np.concatenate([part.units for part in parts]),
            ~came_as_integers,
        )
        return cls(
            sources=tuple(sources),
            masks=tuple(mask for part in parts for mask in part.masks),
            names=tuple(name for part in parts for name in part.names),
            units=units,
            came_as_integers=came_as_integers,
            reduction=parts[0].reduction,
            originals=tuple(shape for part in parts for shape in part.originals),
            views=tuple(view for part in parts for view in part.views),
        )

    def only(self, index: int) -> Stack:
        """Return the picture at ``index`` as a stack of one."""
        return self.some([index])

    def some(self, indices: Sequence[int]) -> Stack:
        """Return the pictures at ``indices`` as a stack, in that order."""
        chosen = [int(k) for k in indices]
        return replace(
            self,
            sources=tuple(self.sources[k] for k in chosen),
            masks=tuple(self.masks[k] for k in chosen),
            names=tuple(self.names[k] for k in chosen),
            units=self.units[chosen],
            came_as_integers=self.came_as_integers[chosen],
            originals=tuple(self.originals[k] for k in chosen) if self.originals else (),
            views=tuple(self.views[k] for k in chosen) if self.views else (),
        )

    def as_part_of(self, span: float, unit: float) -> Stack:
        """Return these pictures as part of a batch.

        Parameters
        ----------
        span : float
            The range of values of the batch, see :attr:`value_range`.
        unit : float
            What 1.0 is in its pictures that did not come as integers.
        """
        # Pictures of an integer type have the unit of that type in every batch.
        factors = np.where(self.came_as_integers, 1.0, self.units / unit)
        sources = tuple(
            source if factor == 1 else source * source.dtype.type(factor)
            for source, factor in zip(self.sources, factors, strict=True)
        )
        units = np.where(self.came_as_integers, self.units, unit)
        return replace(self, sources=sources, units=units, span=span, origin=None)

    def reduced(self, factor: int, views: bool = True) -> Stack:
        """Make the pictures coarser, each pixel the mean over a square of valid pixels.

        A pixel is missing where less than half of its square is valid. Transforms still refer
        to the originals: :func:`rankfold.align` takes and returns them in their coordinates.

        Parameters
        ----------
        factor : int
            Pixels along the side of a square; 1 returns the stack as it is.
        views : bool
            Whether to keep small grey copies of the originals, which matching needs: it sees more
            in them than in pictures that are much coarser.

        Returns
        -------
        Stack
        """
        if factor < 1:
            raise InputError(f"a reduction of {factor} is not possible; it must be at least 1")
        if factor == 1:
            return self
        sources, masks = all_coarser(self.sources, self.masks, self.names, factor)
        return replace(
            self,
            sources=sources,
            masks=masks,
            reduction=self.reduction * factor,
            originals=tuple(self.original_shapes),
            views=self.views_to_match() if views else (),
            # To make pictures coarser twice is not to make them coarser once, to the last bit.
            origin=self.origin if self.reduction == 1 else None,
        )

    def views_to_match(self, side: int = VIEW_SIDE) -> tuple[View, ...]:
        """Return the small grey copies that were kept, or make them from the sources.

        Parameters
        ----------
        side : int
            Their long side at most, px. Copies that were kept have at most ``VIEW_SIDE``.
        """
        if self.views:
            return tuple(view.within(side) for view in self.views)
        pictures = zip(self.sources, self.masks, strict=True)
        return tuple(view_of(source, mask, self.reduction, side) for source, mask in pictures)

    @property
    def original_shapes(self) -> list[tuple[int, int]]:
        """(height, width) of every original."""
        return list(self.originals) or [(s.shape[0], s.shape[1]) for s in self.sources]

    def to_original(self, transforms: Floats) -> Floats:
        """Turn transforms (..., 3, 3) into the sources into transforms into the originals."""
        if self.reduction == 1:
            return transforms
        return rescaling(np.full(2, float(self.reduction))) @ transforms

    def from_original(self, transforms: Floats) -> Floats:
        """Turn transforms (..., 3, 3) into the originals into transforms into the sources."""
        if self.reduction == 1:
            return transforms
        return rescaling(np.full(2, 1 / self.reduction)) @ transforms

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.sources)

    @property
    def channels(self) -> int:
        """Values a pixel: 1 for grey."""
        return self.sources[0].shape[2] if self.is_colour else 1

    @property
    def is_colour(self) -> bool:
        """Whether the pictures have a channel axis (of any length)."""
        return self.sources[0].ndim == 3

    @property
    def value_range(self) -> float:
        """Range of the values: 1 where a picture came as integers, else from darkest to brightest.

        The range of floats is taken over the valid pixels of all pictures.
        """
        if self.span is not None:
            return self.span
        # Integers were divided by the top of their type, whether they reach it or not.
        if self.came_as_integers.any():
            return 1.0
        pictures = zip(self.sources, self.masks, strict=True)
        seen = [valid_pixels(source, mask) for source, mask in pictures]
        low = min(float(values.min()) for values in seen)
        high = max(float(values.max()) for values in seen)
        # A batch of one single value has a tiny range rather than none.
        return max(high - low, float(np.finfo(np.float64).tiny))

    def luminance(self) -> Stack:
        """Return the same pictures in grey: Rec. 601 for three channels, else their mean."""
        if not self.is_colour:
            return self
        count = self.channels
        weights = LUMINANCE if count == 3 else np.full(count, 1 / count)
        grey = tuple(source @ weights.astype(source.dtype) for source in self.sources)
        return replace(self, sources=grey, origin=None)

    def check_alignable(self) -> None:
        """Refuse what cannot be aligned: a single picture, or one that is constant."""
        if len(self) < 2:
            raise InputError(
                f"only one image was given ({self.names[0]}); alignment needs at least two"
            )
        for source, mask, name in zip(self.sources, self.masks, self.names, strict=True):
            check_varies(valid_pixels(source, mask), name)

    def default_frame(self) -> Frame:
        """Return a frame of the median size of the sources."""
        height, width = np.median([source.shape[:2] for source in self.sources], axis=0)
        return Frame(round(height), round(width))

    def centred(self, frame: Frame, zoom: float = 1.0) -> Floats:
        """Lay the frame over the middle of each source.

        Parameters
        ----------
        frame : Frame
            The canonical grid.
        zoom : float
            How many pixels of a source one pixel of the frame spans.

        Returns
        -------
        (n, 3, 3) array
            Transforms from the frame to each source.
        """
        # Read from the right: the frame's centre to the origin, zoom, on to the source's centre.
        scale = np.diag([zoom, zoom, 1.0])
        centres = [np.array([s.shape[1] - 1, s.shape[0] - 1]) / 2 for s in self.sources]
        return np.stack([shift(centre) @ scale @ shift(-frame.centre) for centre in centres])
