"""Everything that is on the report's page, as plain values and small pictures."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.families import Floats
from rankfold.report.made import Panel
from rankfold.report.pictures import Bytes
from rankfold.runs.starts import Start
from rankfold.status import Trace


@dataclass(frozen=True)
class Card:
    """One picture in the grid.

    Parameters
    ----------
    index : int
        Its place in the order of the pictures.
    name : str
    verdict : "placed", "doubtful", "failed" or None
        None without transforms, when there is no place to judge.
    lost : float or None
        Probability that it is lost; None like the verdict.
    rescued : bool
    moved : float or None
        How far the frame's corner moved that moved most, in px of the frame; None like the verdict.
    share : float
        Share of its pixels that did not belong.
    outline : list of four [x, y]
        Corners of the frame on the picture, as shares of its width and height; empty like above.
    size : [height, width]
        Of the original, in px.
    """

    index: int
    name: str
    verdict: str | None
    lost: float | None
    rescued: bool
    moved: float | None
    share: float
    outline: list[list[float]]
    size: list[int]


@dataclass(frozen=True)
class ReportData:
    """Everything on the page.

    Parameters
    ----------
    title : str
        What was aligned.
    sentences : list of str
        How it went, where it began, and what may help.
    tone : "good", "warning" or "bad"
        How worrying that is.
    starts : tuple of Start
        The starts that were tried.
    facts : list of (label, value)
    cards : list of Card
        One for each picture.
    kinds : list of (key, caption)
        The rows of small pictures, in the order in which they are shown.
    tiles : dict of lists of (h, w, 3) arrays
        For each key, one small picture a card.
    averages : list of (caption, (h, w, 3) array)
    occluders : list of (sentence, (h, w, 3) array)
        What several pictures had in front of them, outlined on the average.
    panels : list of Panel
        A look at what can be made of the run.
    trace : Trace
    spectra : dict of (n,) arrays
        Singular values by caption.
    outlines : (n, 4, 2) array or None
        Where each frame went from its start, in coordinates of the frame.
    command : str
        What repeats the run; empty if unknown.
    """

    title: str
    sentences: list[str]
    tone: str
    starts: tuple[Start, ...]
    facts: list[tuple[str, str]]
    cards: list[Card]
    kinds: list[tuple[str, str]]
    tiles: dict[str, list[Bytes]]
    averages: list[tuple[str, Bytes]]
    occluders: list[tuple[str, Bytes]]
    panels: list[Panel]
    trace: Trace
    spectra: dict[str, Floats]
    outlines: Floats | None
    command: str
