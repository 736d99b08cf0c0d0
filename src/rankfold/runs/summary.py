"""How a run went, in a few values for the one who started it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankfold.runs.starts import Start, start_sentence
from rankfold.status import Status

REPORT = "report.html"


@dataclass(frozen=True)
class Summary:
    """The outcome of a run.

    Attributes
    ----------
    folder : Path
        The run folder.
    status : Status
        How the solver ended.
    images, rank : int
    objective : float
    gap : float or None
        How far it is above the optimum at most, relative to itself; None: not known.
    occluders : tuple of dict
        What several pictures had in front of them and was taken out, see
        :meth:`rankfold.occluders.Occluder.as_dict`.
    seconds : float
        For everything, from reading to the last file.
    remarks : tuple of str
        Sentences about what could not be done although the result is there.
    """

    folder: Path
    status: Status
    images: int
    rank: int
    objective: float
    gap: float | None
    occluders: tuple[dict[str, Any], ...]
    seconds: float
    remarks: tuple[str, ...]

    @property
    def place(self) -> Path:
        """What to open: the report if there is one, else the folder."""
        report = self.folder / REPORT
        return report if report.exists() else self.folder

    @property
    def sentence(self) -> str:
        """Say how it went, and what was taken out."""
        lines = [f"{self.images} pictures, rank {self.rank}; {self.status.value}."]
        return "\n".join([*lines, *self.found])

    @property
    def found(self) -> list[str]:
        """A sentence for everything that several pictures had in front of them."""
        return [one["sentence"] for one in self.occluders]

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            "run": str(self.folder),
            "status": self.status.name,
            "sentence": self.status.value,
            "images": self.images,
            "rank": self.rank,
            "objective": self.objective,
            "gap": self.gap,
            "occluders": list(self.occluders),
            "seconds": self.seconds,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class AlignmentSummary(Summary):
    """The outcome of an alignment.

    Attributes
    ----------
    stop_rule : str
        What ended the last stage.
    verdict : str
        On the batch: "good", "partial", "only roughly" or "failed".
    outcome : str
        How the pictures were placed, in a sentence that names those to look at.
    failed, doubtful : tuple of str
        Pictures that did not find their place, and those that should be looked at.
    rescued : tuple of str
        Pictures that were given a new place on the way.
    lost : dict
        For every picture by its name the probability that it is lost.
    starts : tuple of Start
        The starts that were tried.
    advice : str
        What may help; empty where nothing is amiss.
    frame : (height, width)
        Of the result, after cropping.
    left_out : tuple of str
        Files that were not read.
    """

    stop_rule: str
    verdict: str
    outcome: str
    failed: tuple[str, ...]
    doubtful: tuple[str, ...]
    rescued: tuple[str, ...]
    lost: dict[str, float]
    starts: tuple[Start, ...]
    advice: str
    frame: tuple[int, int]
    left_out: tuple[str, ...]

    @property
    def start(self) -> str:
        """Say which start was kept and what else was tried; empty where none was looked for."""
        return start_sentence(self.starts)

    @property
    def sentence(self) -> str:
        """Say how it went, how it ended, what was taken out, where it began, and what may help."""
        lines = [f"{self.outcome} Rank {self.rank}; {self.status.value} ({self.stop_rule})."]
        lines += self.found
        if self.start:
            lines.append(self.start)
        if self.advice:
            lines.append(advice_sentence(self.advice))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            **super().as_dict(),
            "stop_rule": self.stop_rule,
            "verdict": self.verdict,
            "outcome": self.outcome,
            "failed": list(self.failed),
            "doubtful": list(self.doubtful),
            "rescued": list(self.rescued),
            "lost": dict(self.lost),
            "routes": [start.as_dict() for start in self.starts],
            "advice": self.advice,
            "frame": list(self.frame),
            "left_out": list(self.left_out),
        }


def advice_sentence(advice: str) -> str:
    """Introduce advice, which is empty where nothing is amiss.

    Parameters
    ----------
    advice : str

    Returns
    -------
    str
    """
    return f"What may help: {advice}." if advice else ""
