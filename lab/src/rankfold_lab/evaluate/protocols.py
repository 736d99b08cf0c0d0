"""The LOGGED table: protocols that have a log and a page of their own, besides those on faces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankfold_lab.evaluate import (
    inpainting,
    inpainting_tables,
    mask_tables,
    masks,
    place_tables,
    places,
)
from rankfold_lab.evaluate.logs import Record, Steps
from rankfold_lab.evaluate.scenes import SETS

# Trials of a subject, where the caller does not say.
SEEDS = 2


@dataclass(frozen=True)
class Asked:
    """What the caller asked of a protocol.

    Attributes
    ----------
    data : Path
        The folder of the data sets.
    subjects : list of int
    seeds : int, optional
        Trials of a subject; as many as the protocol has by default.
    jobs : int
        How many run at a time.
    """

    data: Path
    subjects: list[int]
    seeds: int | None
    jobs: int


@dataclass(frozen=True)
class Logged:
    """A row of LOGGED.

    Attributes
    ----------
    name : str
        Also of the log and of the page.
    unit : str
        What is finished step by step.
    run : function
        Runs what is not in a log yet; yields (done, of) after every step.
    page : function
        Turns the records of the log into markdown.
    """

    name: str
    unit: str
    run: Callable[[Asked, Path], Steps]
    page: Callable[[Sequence[Record]], str]


def _run_places(asked: Asked, log: Path) -> Steps:
    """Align every set in good and poor ways."""
    seeds = SEEDS if asked.seeds is None else asked.seeds
    return places.run(asked.data, log, list(SETS), seeds, asked.jobs)


def _run_masks(asked: Asked, log: Path) -> Steps:
    """Make masks of every clip."""
    return masks.run(asked.data, log, asked.jobs)


def _run_inpainting(asked: Asked, log: Path) -> Steps:
    """Fill in what is hidden."""
    seeds = inpainting.SEEDS if asked.seeds is None else asked.seeds
    return inpainting.run(asked.data, log, asked.subjects, seeds, asked.jobs)


_ROWS = (
    Logged(places.NAME, "sets", _run_places, place_tables.page),
    Logged(masks.NAME, "clips", _run_masks, mask_tables.page),
    Logged(inpainting.NAME, "trials", _run_inpainting, inpainting_tables.page),
)
LOGGED: dict[str, Logged] = {row.name: row for row in _ROWS}
