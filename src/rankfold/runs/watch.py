"""How a run is watched: what a progress bar must have, and one that shows nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rankfold.status import Record


class Watch(Protocol):
    """Whoever follows a run: told of its steps, and asked after each iteration whether to stop."""

    def say(self, text: str, total: float | None = None) -> None:
        """A step begins, which has ``total`` parts if they can be counted."""

    def advance(self) -> None:
        """One part of the step is done."""

    def begin_stage(self, name: str, stages: tuple[str, ...]) -> None:
        """A stage of the alignment begins; ``stages`` are all that run."""

    def remark(self, text: str) -> None:
        """Something is to be said that is not a step."""

    def going_on(self, folder: Path, done: int) -> None:
        """An interrupted run goes on from a folder, in which so many outer iterations are done."""

    def __call__(self, record: Record) -> bool:
        """Look at an iteration; return True to stop the run and keep what there is."""


class Unwatched:
    """Watches nothing and never stops a run."""

    def say(self, text: str, total: float | None = None) -> None:
        """Take no notice of a step."""

    def advance(self) -> None:
        """Take no notice of a part."""

    def begin_stage(self, name: str, stages: tuple[str, ...]) -> None:
        """Take no notice of a stage."""

    def remark(self, text: str) -> None:
        """Take no notice of a remark."""

    def going_on(self, folder: Path, done: int) -> None:
        """Take no notice of what is done."""

    def __call__(self, record: Record) -> bool:  # noqa: ARG002 (every watch takes a record)
        """Let the run go on."""
        return False
