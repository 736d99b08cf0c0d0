"""The live line of a run (a line a stage without a terminal); what Ctrl-C and SIGTERM do to it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
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

from rankfold.align import STAGES
from rankfold.align.basis import robust_spread
from rankfold.cli.app import errors
from rankfold.interruptions import SIGNALS
from rankfold.status import InnerRecord, OuterRecord, Record

# Seconds between updates of the line.
EVERY = 0.08
# A stage that takes longer than usual stays at this share of itself.
NEARLY = 0.95
# A picture whose residual is so many robust standard deviations above the median stands apart.
APART = 5.0


class Remaining(ProgressColumn):
    """Seconds left, from the share that is done; a guess, and called so."""

    def render(self, task: Task) -> Text:
        """Draw it."""
        if task.total is None or task.completed < 1 or task.elapsed is None:
            return Text("")
        left = task.elapsed * (task.total - task.completed) / task.completed
        text = f"about {left:.0f} s left" if left < 120 else f"about {left / 60:.0f} min left"
        return Text(text, style="cyan")


class Watcher:
    """Shows a run while it goes on; an observer of the solver.

    The first Ctrl-C asks the run to end and to keep what there is, the second one ends it at once.
    SIGTERM does so the first time, by :data:`rankfold.interruptions.SIGNALS`.

    Parameters
    ----------
    silent : bool
        Show nothing.
    """

    def __init__(self, silent: bool) -> None:
        self._drawing = errors.is_terminal and not silent
        self._speaking = not errors.is_terminal and not silent
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(12),
            TimeElapsedColumn(),
            Remaining(),
        )
        self.progress = Progress(
            *columns, console=errors, disable=not self._drawing, transient=True
        )
        self.task = self.progress.add_task("reading", total=None)
        self.stop = False
        # The stages of this run, in order; a decomposition alone has but one and does not say so.
        self._stages: tuple[str, ...] = ("decomposition",)
        self._stage = "decomposition"
        self._outer = 0  # iterations of this stage so far
        self._done = 0.0
        self._objective = ""
        self._apart = 0
        self._drawn = 0.0
        self._listening = ExitStack()

    def __enter__(self) -> Watcher:
        """Start drawing and listening."""
        self._listening.enter_context(SIGNALS.listening())
        before = signal.getsignal(signal.SIGINT)
        in_main = threading.current_thread() is threading.main_thread()
        # Where it is ignored, as after nohup, it stays so.
        if in_main and before is not signal.SIG_IGN:
            self._listening.callback(signal.signal, signal.SIGINT, before)
            signal.signal(signal.SIGINT, self._interrupted)
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal and the signals as they were."""
        self.progress.stop()
        self._listening.close()

    def _interrupted(self, number: int, frame: FrameType | None = None) -> None:
        """Ctrl-C."""
        if self.stop or SIGNALS.received is not None:
            SIGNALS.interrupt(number, frame)
            return
        self.stop = True
        errors.print(
            "Stopping after this iteration and keeping what there is; Ctrl-C again to give it up."
        )

    def remark(self, text: str) -> None:
        """Something is to be said that is not a step."""
        if self._drawing or self._speaking:
            errors.say(text)

    def going_on(self, folder: Path, done: int) -> None:
        """An interrupted run goes on."""
        self.remark(f"going on from {folder} ({done} outer iterations done)")

    def say(self, text: str, total: float | None = None) -> None:
        """A step that has no iterations."""
        self._speak(text)
        self.progress.update(self.task, description=text, total=total, completed=0)

    def advance(self) -> None:
        """One more of something counted."""
        self.progress.advance(self.task)

    def __call__(self, record: Record) -> bool:
        """Observe an iteration."""
        if isinstance(record, OuterRecord):
            self._outer += 1
            self._objective = f"objective {record.objective:.2f}"
            self._apart = standing_apart(record.residual)
            self._draw(0)
        elif time.monotonic() - self._drawn > EVERY:
            self._draw(record.iteration + 1, record)
        return self.stop

    def begin_stage(self, name: str, stages: tuple[str, ...]) -> None:
        """Observe the beginning of a stage."""
        # Another run begins, as in the demo: its bar starts at zero.
        if name == stages[0]:
            self._done = 0.0
        self._stages = stages
        self._stage = name
        self._outer = 0
        self._objective = ""
        number = stages.index(name) + 1
        self._speak(f"stage {number} of {len(stages)}, {name}: {STAGES[name].sentence}")
        self._draw(0)

    def count(self, what: str, done: int, total: int) -> None:
        """Observe work inside a stage that has no iterations: matching."""
        if time.monotonic() - self._drawn < EVERY:
            return
        self.progress.update(
            self.task, description=f"{self._stage} · matching, {what} {done} of {total}"
        )
        self._drawn = time.monotonic()

    def _speak(self, text: str) -> None:
        """A line of its own, where nothing can be drawn over."""
        if self._speaking:
            errors.say(text)

    def _draw(self, inner: int, record: InnerRecord | None = None) -> None:
        """Update the line."""
        if record is not None and self._stage == "decomposition":
            self._objective = f"objective {record.objective:.2f}"
        # A stage that is shorter than usual makes a jump; nothing makes the bar run backwards.
        self._done = max(self._done, self._completed(inner))
        number = f" {self._outer + (inner > 0)}" if STAGES[self._stage].moves else ""
        parts = [f"{self._stage}{number}"]
        if inner:
            parts.append(f"inner {inner:3d}")
        if self._objective:
            parts.append(self._objective)
        if self._apart:
            parts.append(f"{self._apart} apart")
        self.progress.update(
            self.task,
            description=" · ".join(parts),
            completed=self._done,
            total=sum(STAGES[name].cost for name in self._stages),
        )
        self._drawn = time.monotonic()

    def _completed(self, inner: int) -> float:
        """How much of the run is done, in inner iterations that it usually takes."""
        place = self._stages.index(self._stage)
        before = sum(STAGES[name].cost for name in self._stages[:place])
        stage = STAGES[self._stage]
        share = self._outer / stage.outer if stage.moves else inner / stage.inner
        return before + stage.cost * min(share, NEARLY)


@contextmanager
def counting(text: str, total: int, silent: bool) -> Iterator[Callable[[], None]]:
    """Show a bar for work before a run; gives what is to be called after each of its parts."""
    columns = (TextColumn("{task.description}"), BarColumn(12), TimeElapsedColumn(), Remaining())
    hidden = silent or not errors.is_terminal
    with Progress(*columns, console=errors, disable=hidden, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda: progress.advance(task)


def standing_apart(residual: Any) -> int:
    """How many pictures have a residual (n,) far above the others'."""
    limit = np.median(residual) + APART * robust_spread(residual)
    return int((residual > limit).sum())
