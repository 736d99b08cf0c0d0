"""The METHODS table, and how the keywords of the public functions become what the stages and the solver take."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.admm import Clone
from rankfold.errors import InputError
from rankfold.families import Floats, get_family
from rankfold.manifold import Projector, get_projector
from rankfold.stack import Frame, Points, Stack
from rankfold.warp.linearisation import warp_normalised
from rankfold.warp.sampling import Sampler

MIN_COVER = 0.5  # share of the frame that at least one source must cover at the start


@dataclass(frozen=True)
class Method:
    """A configuration of the one solver and its stages; a row of METHODS. Every choice can be overridden."""

    name: str
    summary: str
    moves: bool = True  # whether it estimates transforms
    projector: str | None = None  # a row of PROJECTORS: the manifold constraint
    rank_surrogate: str = "nuclear"
    features: str | None = None
    rescue: bool = False
    coarse: str | bool = False


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rpca", "robust PCA: low rank + sparse at fixed transforms", moves=False),
        Method("rasl", "RASL: low rank + sparse + one transform an image"),
        Method(
            "meadmm",
            "MeADMM: RASL with the low-rank images on a learned manifold, after stages that find the place",
            projector="regression",
            rank_surrogate="reweighted",
            features="contrast",
            rescue=True,
            coarse="auto",
        ),
    )
}


def get_method(name: str) -> Method:
    """Look a method up by name."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def clone_for(projector: str | Projector | None, n_neighbors: int) -> Clone | None:
    """The manifold constraint, or none."""
    if n_neighbors < 1:
        raise InputError(f"n_neighbors={n_neighbors} must be at least 1")
    return None if projector is None else Clone(get_projector(projector, n_neighbors))


def check_variant(variant: str, projector: str | Projector | None) -> None:
    """Algorithm 2 as printed is nothing without Definition 1."""
    if variant == "literal" and projector is None:
        raise InputError(
            "variant='literal' is Algorithm 2 of the paper, which needs a projector; set one"
        )


def coarse_for(coarse: str | bool, method: Method, init: object) -> str | bool:
    """Whether to start with blurred pictures."""
    if isinstance(coarse, str) and coarse != "auto":
        raise InputError(f"unknown coarse={coarse!r}; use True, False or 'auto'")
    if coarse == "auto":
        return method.coarse if isinstance(init, str) else False
    return bool(coarse)


def check_dtype(dtype: npt.DTypeLike) -> npt.DTypeLike:
    """Refuse a type other than the two."""
    try:
        known = np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.float32))
    except TypeError:
        known = False
    if not known:
        raise InputError(f"dtype {dtype!r} is not supported; use float64 or float32")
    return dtype


def uses_all_channels(channels: str) -> bool:
    """Whether transforms come from all channels."""
    if channels not in ("luminance", "joint"):
        raise InputError(f"unknown channels={channels!r}; use 'luminance' or 'joint'")
    return channels == "joint"


def frame_for(frame: tuple[int, int] | Frame | None, stack: Stack) -> Frame:
    """The canonical grid: the caller's, or one of the median size."""
    if frame is None:
        return stack.default_frame()
    if isinstance(frame, Frame):
        return frame
    try:
        height, width = (operator.index(size) for size in frame)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"frame={frame!r} is not a size; give (height, width) in whole pixels"
        ) from error
    return Frame(height, width)


def start_transforms(
    init: str | npt.ArrayLike | Points, stack: Stack, frame: Frame, family: str
) -> Floats:
    """Transforms (n, 3, 3) to start from."""
    n = len(stack)
    if isinstance(init, str):
        if init not in ("centred", "identity"):
            raise InputError(
                f"unknown init {init!r}; use 'centred', 'identity', an (n, 3, 3) array or Points"
            )
        return stack.centred(frame) if init == "centred" else np.tile(np.eye(3), (n, 1, 1))
    transforms = (
        init.transforms(get_family(family))
        if isinstance(init, Points)
        else np.asarray(init, np.float64)
    )
    return check_start(stack.from_original(transforms), stack.names)


def check_start(transforms: Floats, names: Sequence[str]) -> Floats:
    """Refuse transforms (n, 3, 3) that cannot be started from; return them with T[2, 2] = 1."""
    n = len(names)
    if transforms.shape != (n, 3, 3):
        raise InputError(f"init has shape {transforms.shape}; {n} images need ({n}, 3, 3)")
    for T, name in zip(transforms, names, strict=True):
        if not np.isfinite(T).all() or abs(np.linalg.det(T)) < 1e-12 or T[2, 2] == 0:
            raise InputError(
                f"the start transform of {name} is not finite or not invertible; correct it in init"
            )
    return transforms / transforms[:, 2:, 2:]


def check_cover(sampler: Sampler, start: Floats) -> None:
    """Refuse a frame most of which no picture covers."""
    _, _, valid = warp_normalised(sampler, start)
    cover = float(valid.any(axis=0).mean())
    if cover < MIN_COVER:
        h, w = sampler.frame.shape
        raise InputError(
            f"only {cover:.0%} of the {h}x{w} frame lies inside any of the pictures at the start; "
            "use a smaller frame, or an init that spreads it over more of them"
        )
