"""Reader for the clips of changedetection.net: frames, and a code for every pixel of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from rankfold.errors import FormatError
from rankfold.io import open_pictures, read_picture
from rankfold_lab.readers.clip import Clip, Labels

# How the folder of a clip begins; the name of the clip follows.
PREFIX = "cdnet_"
# The codes of the truth. Shadows are background, what is unknown or outside is not counted.
BACKGROUND = 0
SHADOW = 50
OUTSIDE = 85
UNKNOWN = 170
MOVING = 255
CODES = (BACKGROUND, SHADOW, OUTSIDE, UNKNOWN, MOVING)

# The number of a frame ends its name: in000470.jpg and gt000470.png belong together.
NUMBER = re.compile(r"(\d+)$")


def cdnet_folders(root: str | Path) -> list[Path]:
    """Return the folders of all clips below ``root``, in the order of their names."""
    return sorted(path for path in Path(root).glob(f"{PREFIX}*") if path.is_dir())


def read_cdnet(folder: str | Path) -> Clip:
    """Open one clip. Frames and labels are read when they are asked for.

    Parameters
    ----------
    folder : path
        It has the frames in ``input`` and the codes in ``groundtruth``.

    Returns
    -------
    Clip
    """
    folder = Path(folder)
    for part in ("input", "groundtruth"):
        if not (folder / part).is_dir():
            raise FormatError(f"{folder} lacks the folder {part}; unpack the clip there")
    frames = open_pictures(str(folder / "input"))
    files = {_number(file): file for file in (folder / "groundtruth").glob("*.png")}
    numbers = [_number(file) for file in frames.files]
    truth = {k: files[number] for k, number in enumerate(numbers) if number in files}
    if not truth:
        raise FormatError(
            f"no picture in {folder}/groundtruth has the number of one in input; the truth of "
            "in000001.jpg is gt000001.png"
        )
    return Clip(
        name=folder.name.removeprefix(PREFIX),
        frames=frames,
        labelled=tuple(truth),
        labels=lambda k: _labels(truth[k], frames.shapes[k]),
    )


def _number(file: Path) -> int:
    """Return the number that ends the name of a file."""
    match = NUMBER.search(file.stem)
    if match is None:
        raise FormatError(f"{file} has no number at the end of its name; take it out")
    return int(match[1])


def _labels(file: Path, shape: tuple[int, ...]) -> Labels:
    """Read the codes of one frame, which may be stored as a grey picture in colour."""
    codes = read_picture(file)
    if codes.ndim == 3:
        codes = codes[..., 0]
    if codes.shape != shape[:2]:
        raise FormatError(f"{file} is {codes.shape}, but its frame is {shape[:2]}")
    strange = np.setdiff1d(codes, CODES)
    if len(strange):
        known = ", ".join(map(str, CODES))
        raise FormatError(f"{file} has the code {strange[0]}; there are {known}")
    counted = (codes != OUTSIDE) & (codes != UNKNOWN)
    return Labels(np.asarray(codes == MOVING), np.asarray(counted))
