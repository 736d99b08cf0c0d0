"""Pictures in which light matters less: contrast against the surroundings, divided by how much it varies there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.executors import Executor
from rankfold.families import Floats
from rankfold.stack import Bools, Frame, Stack
from rankfold.warp.sampling import source_pixels_per_pixel
from rankfold.warp.smoothing import smooth

Array = npt.NDArray[Any]

SMOOTH = 0.7  # canonical px: a small blur first, without which noise is all that the features see
SURROUND = 1.7  # canonical px: what counts as surroundings
FLOOR = 0.002  # of the pixel range: about the noise that is left after the blur

FEATURES = ("contrast",)


def contrast_stack(stack: Stack, frame: Frame, transforms: Floats, executor: Executor) -> Stack:
    """F = (I_b - G_s * I_b) / (local sd + eps) + 1 for every (grey) picture; lengths follow its zoom."""
    floor = FLOOR * stack.value_range

    def one(i: int) -> Array:
        zoom = source_pixels_per_pixel(transforms[i], frame)
        return contrast(stack.sources[i], stack.masks[i], zoom, floor)

    pictures = executor.run(one, range(len(stack)))
    return Stack(tuple(pictures), stack.masks, stack.names, np.ones(len(stack)))


def contrast(source: Array, mask: Bools, zoom: float, floor: float) -> Array:
    """Contrast features (h, w) of one picture, about one on average; zero where it is masked."""
    blurred = smooth(source, mask, SMOOTH * zoom)
    detail = blurred - smooth(blurred, mask, SURROUND * zoom)
    spread = np.sqrt(smooth(detail**2, mask, SURROUND * zoom))
    return np.where(mask, detail / (spread + floor) + 1, 0.0).astype(source.dtype)


def check_features(features: str | None) -> str | None:
    """Refuse an unknown name."""
    if features is not None and features not in FEATURES:
        raise InputError(f"unknown features {features!r}; use 'contrast', or None for raw pixels")
    return features
