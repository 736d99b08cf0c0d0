"""How many runs went: a row a batch, and a sentence about all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from rankfold.runs.summary import REPORT
from rankfold.status import Status
from rankfold.verdicts import BatchVerdict, listed


class BatchState(Enum):
    """How far a batch is."""

    WAITING = "waiting"
    DONE = "done"
    # Its run folder was there already and was taken as it is.
    KEPT = "kept"
    # There is no run folder of it; the error says why.
    ERROR = "error"


@dataclass(frozen=True)
class BatchRow:
    """How one of many batches went.

    Attributes
    ----------
    name : str
        What the batch is called, and its run folder.
    path : str
        Where its pictures lie.
    folder : Path
        The run folder.
    state : BatchState
        "waiting", "done", "kept" (it was there already) or "error".
    error : str
        Why there is no run folder, in a sentence; empty if there is one.
    pictures : int or None
        None, like all that follows, where there is no result.
    verdict : str or None
        On the batch: "good", "partial", "only roughly" or "failed".
    placed, doubtful, failed : int or None
        How many pictures have each verdict.
    rank : int or None
    status : Status or None
        How the solver ended.
    seconds : float or None
        For everything; of a folder that was kept, for reading and computing.
    outcome : str
        How the pictures were placed, in a sentence that names those to look at.
    remarks : tuple of str
        What could not be done although the result is there.
    strip : tuple of (caption, URI)
        Small pictures for the page, each as a data URI.
    """

    name: str
    path: str
    folder: Path
    state: BatchState = BatchState.WAITING
    error: str = ""
    pictures: int | None = None
    verdict: str | None = None
    placed: int | None = None
    doubtful: int | None = None
    failed: int | None = None
    rank: int | None = None
    status: Status | None = None
    seconds: float | None = None
    outcome: str = ""
    remarks: tuple[str, ...] = ()
    strip: tuple[tuple[str, str], ...] = ()

    @property
    def has_result(self) -> bool:
        """Whether there is a run folder."""
        return self.state in (BatchState.DONE, BatchState.KEPT)

    @property
    def is_useless(self) -> bool:
        """Whether it ended, and nothing can be done with what there is."""
        if self.state is BatchState.ERROR or self.status is Status.NON_FINITE:
            return True
        return self.verdict == BatchVerdict.FAILED.value

    @property
    def is_rough(self) -> bool:
        """Whether its pictures agree only roughly."""
        return self.verdict == BatchVerdict.ROUGH.value

    @property
    def is_partly_lost(self) -> bool:
        """Whether some pictures failed, or all agree only roughly."""
        return self.is_rough or bool(self.failed)

    @property
    def report(self) -> Path | None:
        """Its report; None where there is none."""
        place = self.folder / REPORT
        return place if self.has_result and place.exists() else None

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows; without the small pictures."""
        return {
            "name": self.name,
            "path": self.path,
            "folder": str(self.folder),
            "state": self.state.value,
            "pictures": self.pictures,
            "verdict": self.verdict,
            "placed": self.placed,
            "doubtful": self.doubtful,
            "failed": self.failed,
            "rank": self.rank,
            "status": None if self.status is None else self.status.name,
            "seconds": self.seconds,
            "outcome": self.outcome,
            "remarks": list(self.remarks),
            "error": self.error,
        }


@dataclass(frozen=True)
class ManySummary:
    """How many batches went.

    Attributes
    ----------
    folder : Path
        Where the run folders are.
    rows : tuple of BatchRow
        One a batch, in the order in which they were given.
    seconds : float
        Since the start, by the clock.
    stopped : bool
        Whether it ended before all batches were done.
    remarks : tuple of str
        What could not be done although the results are there.
    """

    folder: Path
    rows: tuple[BatchRow, ...]
    seconds: float = 0.0
    stopped: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[BatchRow, ...]:
        """The batches that have no run folder because of an error."""
        return tuple(row for row in self.rows if row.state is BatchState.ERROR)

    @property
    def waiting(self) -> tuple[BatchRow, ...]:
        """The batches that are not done."""
        return tuple(row for row in self.rows if row.state is BatchState.WAITING)

    @property
    def sentence(self) -> str:
        """Say how it went, and name the batches to look at."""
        done = sum(row.has_result for row in self.rows)
        said = f"{done} of {len(self.rows)} batches have a result"
        verdicts = Counter(row.verdict for row in self.rows if row.has_result)
        named = [one.value for one in BatchVerdict]
        shares = [f"{verdicts[name]} {name}" for name in named if verdicts[name]]
        if shares:
            said += f" ({', '.join(shares)})"
        groups = {
            "with an error": self.failures,
            "failed as a whole": [r for r in self.rows if r.has_result and r.is_useless],
            "that agree only roughly": [r for r in self.rows if r.is_rough],
            "with pictures that failed": [r for r in self.rows if r.failed and not r.is_useless],
            "not done": self.waiting,
        }
        for words, rows in groups.items():
            if rows:
                said += f"; {words}: {listed([row.name for row in rows])}"
        return f"{said}."

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            "folder": str(self.folder),
            "sentence": self.sentence,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "remarks": list(self.remarks),
            "batches": [row.as_dict() for row in self.rows],
        }
