"""Features on which light matters less: contrast with the surroundings over its local spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.settings import FeatureSettings
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.scale import Executor, store_of
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.sampling import Sampler, source_pixels_per_pixel
from rankfold.warp.smoothing import reach_of, smooth
from rankfold.warp.sources import Coefficients, PreparedSource, prepare_source, prepared_in

Array = npt.NDArray[Any]

FEATURES = ("contrast",)


def contrast_sampler(
    stack: Stack,
    frame: Frame,
    transforms: Floats,
    dtype: npt.DTypeLike,
    executor: Executor,
    numbers: FeatureSettings,
) -> Sampler:
    """F = (I_b - G_s * I_b) / (local sd + eps) + 1 of every (grey) picture, ready to be sampled.

    They are prepared for the frame near ``transforms`` (n, 3, 3). Lengths follow a picture's zoom,
    and one picture's features at a time become coefficients.
    """
    floor = numbers.floor * stack.value_range

    def one(i: int) -> PreparedSource:
        zoom = source_pixels_per_pixel(transforms[i], frame)
        margin = reach_of(numbers.smooth * zoom) + 2 * reach_of(numbers.surround * zoom)

        def ready(picture: Array, mask: Bools, complete: bool) -> Coefficients:
            values = picture.astype(dtype, copy=False)
            features = contrast(values, mask, zoom, floor, numbers, complete)
            return prepare_source(features, mask, blur=0.0)

        return PreparedSource(stack.sources[i], stack.masks[i], margin, ready, frame, transforms[i])

    sources = prepared_in(store_of(executor), executor, one, len(stack))
    return Sampler(
        frame, sources, 1, stack.names, dtype, value_range=1.0
    )  # for projectors, which see pixels only


def contrast(
    source: Array,
    mask: Bools,
    zoom: float,
    floor: float,
    numbers: FeatureSettings,
    complete: bool | None = None,
) -> Array:
    """Contrast features (h, w) of one picture, about one on average; zero where it is masked.

    ``zoom`` is the number of source pixels a pixel of the frame spans, ``floor`` what is added to
    the local standard deviation, ``complete`` whether no pixel of the whole picture is missing.
    """
    detail = smooth(source, mask, numbers.smooth * zoom, complete)
    detail -= smooth(detail, mask, numbers.surround * zoom, complete)
    spread = smooth(detail**2, mask, numbers.surround * zoom, complete)
    np.sqrt(spread, out=spread)
    spread += floor
    detail /= spread
    detail += 1
    detail[~mask] = 0
    return detail


def check_features(features: str | None) -> str | None:
    """Refuse an unknown name."""
    if features is not None and features not in FEATURES:
        raise InputError(f"unknown features {features!r}; use 'contrast', or None for raw pixels")
    return features
