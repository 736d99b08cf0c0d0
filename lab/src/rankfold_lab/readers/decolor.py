"""Reader for the clips that were published with DECOLOR: a moving camera, masks of some frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io import in_memory
from rankfold_lab.readers.clip import Clip, Labels
from rankfold_lab.readers.matlab import load_matlab

FOLDER = "decolor"
VARIABLES = ("ImData", "Mask", "ID")


def decolor_files(root: str | Path) -> list[Path]:
    """Return the files of all clips in ``root``/decolor, in the order of their names."""
    return sorted((Path(root) / FOLDER).glob("*.mat"))


def read_decolor(path: str | Path) -> Clip:
    """Read one clip.

    Parameters
    ----------
    path : path
        A MATLAB file with the frames ``ImData`` (h, w, n), the masks ``Mask`` (h, w, k), and the
        numbers ``ID`` (k values, from 1) of the frames that the masks belong to.

    Returns
    -------
    Clip
    """
    path = Path(path)
    content = load_matlab(path)
    missing = [name for name in VARIABLES if name not in content]
    if missing:
        raise FormatError(f"{path} lacks {missing[0]}; a clip has {', '.join(VARIABLES)}")
    frames = np.asarray(content["ImData"])
    # MATLAB drops the last axis of a single mask.
    masks = np.atleast_3d(content["Mask"])
    # MATLAB counts from 1.
    labelled = np.asarray(content["ID"]).ravel().astype(int) - 1
    _check(path, frames, masks, labelled)
    # The edges of the masks are smoothed: a pixel moves if at least half of it does.
    moving = masks > masks.max() / 2  # h x w x k
    everything = np.ones(masks.shape[:2], bool)
    place = {int(frame): k for k, frame in enumerate(labelled)}
    return Clip(
        name=path.stem,
        frames=in_memory(np.ascontiguousarray(np.moveaxis(frames, 2, 0))),
        labelled=tuple(place),
        labels=lambda frame: Labels(moving[..., place[frame]], everything),
    )


def _check(
    path: Path, frames: npt.NDArray[Any], masks: npt.NDArray[Any], labelled: npt.NDArray[np.int_]
) -> None:
    """Refuse what does not fit together."""
    if frames.ndim != 3 or masks.ndim != 3 or frames.shape[:2] != masks.shape[:2]:
        raise FormatError(
            f"{path} has ImData of shape {frames.shape} and Mask of shape {masks.shape}; they are "
            "(h, w, n) and (h, w, k)"
        )
    numbers_fit = len(labelled) == masks.shape[2]
    if not numbers_fit or labelled.min() < 0 or labelled.max() >= frames.shape[2]:
        raise FormatError(
            f"{path} has {masks.shape[2]} masks of the frames {(labelled + 1).tolist()}, but "
            f"{frames.shape[2]} frames; ID gives for each mask its frame, from 1"
        )
