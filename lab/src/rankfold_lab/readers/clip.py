"""A video of which it is known what moves in some of its frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankfold.io import Source
from rankfold.stack import Bools


@dataclass(frozen=True)
class Labels:
    """The truth of one frame.

    Attributes
    ----------
    moving : (h, w) array of bool
        What is foreground.
    counted : (h, w) array of bool
        Elsewhere nobody knows, or nobody wants to know.
    """

    moving: Bools
    counted: Bools


@dataclass(frozen=True)
class Clip:
    """A video and the truth of some of its frames.

    Attributes
    ----------
    name : str
    frames : Source
        All frames, in the order of time.
    labelled : tuple of int
        The frames that have labels, counted from 0.
    labels : function of int
        Reads the labels of one of these frames.
    """

    name: str
    frames: Source
    labelled: tuple[int, ...]
    labels: Callable[[int], Labels]
