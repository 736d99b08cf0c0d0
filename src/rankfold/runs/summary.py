"""How a run went, in a few values for the one who started it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    seconds: float
    remarks: tuple[str, ...]

    @property
    def place(self) -> Path:
        """What to open: the report if there is one, else the folder."""
        report = self.folder / REPORT
        return report if report.exists() else self.folder

    @property
    def sentence(self) -> str:
        """Say in one sentence how it went."""
        return f"{self.images} pictures, rank {self.rank}; {self.status.value}."

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            "run": str(self.folder),
            "status": self.status.name,
            "sentence": self.status.value,
            "images": self.images,
            "rank": self.rank,
            "objective": self.objective,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class AlignmentSummary(Summary):
    """The outcome of an alignment.

    Attributes
    ----------
    stop_rule : str
        What ended the last stage.
    failed, rescued : tuple of str
        Pictures that did not find their place, and those that were given a new one on the way.
    frame : (height, width)
        Of the result, after cropping.
    left_out : tuple of str
        Files that were not read.
    """

    stop_rule: str
    failed: tuple[str, ...]
    rescued: tuple[str, ...]
    frame: tuple[int, int]
    left_out: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say how many pictures found their place, and name those that did not."""
        found = self.images - len(self.failed)
        places = f"{found} of {self.images} pictures found their place, rank {self.rank}"
        lost = f"\nfailed: {', '.join(self.failed)}" if self.failed else ""
        return f"{places}; {self.status.value} ({self.stop_rule}).{lost}"

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            **super().as_dict(),
            "stop_rule": self.stop_rule,
            "failed": list(self.failed),
            "rescued": list(self.rescued),
            "frame": list(self.frame),
            "left_out": list(self.left_out),
        }
