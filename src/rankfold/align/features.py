"""Pictures in which light matters less: contrast against the surroundings, divided by how much it varies there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor
from rankfold.families import Floats
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.sampling import Sampler, source_pixels_per_pixel
from rankfold.warp.smoothing import reach_of, smooth
from rankfold.warp.sources import Coefficients, PreparedSource, prepare_source

Array = npt.NDArray[Any]

SMOOTH = 0.7  # canonical px: a small blur first, without which noise is all that the features see
SURROUND = 1.7  # canonical px: what counts as surroundings
FLOOR = 0.002  # of the pixel range: about the noise that is left after the blur

FEATURES = ("contrast",)


def contrast_sampler(
    stack: Stack, frame: Frame, transforms: Floats, dtype: npt.DTypeLike, executor: Executor
) -> Sampler:
    """F = (I_b - G_s * I_b) / (local sd + eps) + 1 of every (grey) picture, ready to be sampled near ``transforms``.

    Lengths follow a picture's zoom. One picture's features at a time become coefficients.
    """
    floor = FLOOR * stack.value_range

    def one(i: int) -> PreparedSource:
        zoom = source_pixels_per_pixel(transforms[i], frame)
        margin = reach_of(SMOOTH * zoom) + 2 * reach_of(SURROUND * zoom)

        def ready(picture: Array, mask: Bools) -> Coefficients:
            features = contrast(picture.astype(dtype, copy=False), mask, zoom, floor)
            return prepare_source(features, mask, blur=0.0)

        return PreparedSource(stack.sources[i], stack.masks[i], margin, ready, frame, transforms[i])

    sources = tuple(executor.run(one, range(len(stack))))
    return Sampler(
        frame, sources, 1, stack.names, dtype, value_range=1.0
    )  # for projectors, which see pixels only


def contrast(source: Array, mask: Bools, zoom: float, floor: float) -> Array:
    """Contrast features (h, w) of one picture, in its precision, about one on average; zero where it is masked."""
    detail = smooth(source, mask, SMOOTH * zoom)
    detail -= smooth(detail, mask, SURROUND * zoom)
    spread = smooth(detail**2, mask, SURROUND * zoom)
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
