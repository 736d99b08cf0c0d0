"""The live line of a run, and Ctrl-C that keeps what there is."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from rankfold.align.plan import LAST, TYPICAL
from rankfold.cli.app import errors
from rankfold.status import OuterRecord, Record

DECOMPOSITION = 4.0  # outer iterations that the last decomposition is worth
EVERY = 0.08  # seconds between updates


class Remaining(ProgressColumn):
    """Seconds left, from the share that is done; a guess, and called so."""

    def render(self, task: Task) -> Text:
        """Draw it."""
        if task.total is None or task.completed < 1 or task.elapsed is None:
            return Text("")
        left = task.elapsed * (task.total - task.completed) / task.completed
        return Text(
            f"about {left:.0f} s left" if left < 120 else f"about {left / 60:.0f} min left",
            style="cyan",
        )


class Watcher:
    """Shows a run while it goes on; an observer of the solver. The first Ctrl-C asks it to end, the second ends it."""

    def __init__(self, silent: bool, stages: tuple[str, ...] = tuple(TYPICAL)) -> None:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(12),
            TimeElapsedColumn(),
            Remaining(),
        )
        self.progress = Progress(
            *columns, console=errors, disable=silent or not errors.is_terminal, transient=True
        )
        self.task = self.progress.add_task("reading", total=None)
        self.stop = False
        self.stages = {stage: TYPICAL[stage] for stage in stages}
        self._stage, self._within, self._objective, self._apart = "", 0, "", 0
        self._drawn = 0.0
        self._old: Any = None

    def __enter__(self) -> Watcher:
        """Start drawing and listening."""
        self.progress.start()
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal and the signal as they were."""
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)
        self.progress.stop()

    def _interrupted(self, *_: int | FrameType | None) -> None:
        """Ctrl-C."""
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True
        errors.print(
            "Stopping after this iteration and keeping what there is; Ctrl-C again to give it up."
        )

    def say(self, text: str, total: float | None = None) -> None:
        """A step that has no iterations."""
        self.progress.update(self.task, description=text, total=total, completed=0)

    def advance(self) -> None:
        """One more of something counted."""
        self.progress.advance(self.task)

    def __call__(self, record: Record) -> bool:
        """Observe one iteration."""
        if isinstance(record, OuterRecord):
            self._within = self._within + 1 if record.stage == self._stage else 1
            self._stage, self._objective = record.stage, f"objective {record.objective:.2f}"
            spread = np.median(np.abs(record.residual - np.median(record.residual)))
            self._apart = int(
                (record.residual > np.median(record.residual) + 5 * 1.4826 * spread).sum()
            )
            self._draw(0)
        elif time.monotonic() - self._drawn > EVERY:
            last = record.outer < 0
            if last:
                self._stage, self._within, self._objective = (
                    "decomposition",
                    0,
                    f"objective {record.objective:.2f}",
                )
            self._draw(record.iteration + 1)
        return self.stop

    def _draw(self, inner: int) -> None:
        """Update the line."""
        total = sum(self.stages.values()) + DECOMPOSITION
        before = 0.0
        for stage, count in self.stages.items():
            if stage == self._stage:
                before += min(self._within, count - 0.5)
                break
            before += count if self._stage else 0
        if self._stage == "decomposition":
            before += DECOMPOSITION * min(inner / LAST, 0.95)
        outer = f" {self._within + (inner > 0)}" if self._stage in self.stages else ""
        parts = [
            f"{self._stage or 'first linearisation'}{outer}",
            f"inner {inner:3d}",
            self._objective,
        ]
        parts += [f"{self._apart} apart"] if self._apart else []
        self.progress.update(
            self.task, description=" · ".join(p for p in parts if p), completed=before, total=total
        )
        self._drawn = time.monotonic()
