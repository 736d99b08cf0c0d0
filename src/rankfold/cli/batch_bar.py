"""The live line of many batches; a line a batch where there is no terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from rankfold.cli.app import Voice, errors, say_error
from rankfold.cli.progress import Remaining
from rankfold.cli.wording import at_a_terminal
from rankfold.runs import BatchRow, BatchState
from rankfold.status import Record
from rankfold.verdicts import listed

# Names of batches under way that fit on the line.
SHOWN = 3


class BatchBar:
    """Shows many batches while they are run, and the stage of one that is run in this process.

    Parameters
    ----------
    voice : Voice
    flags : mapping, optional
        For every option of the command its name in Python and its flag, for errors.
    """

    def __init__(self, voice: Voice, flags: Mapping[str, str] | None = None) -> None:
        self._voice = voice
        self._flags = flags or {}
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(16),
            MofNCompleteColumn(),
            Elapsed(),
            Remaining(),
        )
        self._drawing = errors.is_terminal and not voice.silent
        self.progress = Progress(
            *columns, console=errors, disable=not self._drawing, transient=True
        )
        self.task = self.progress.add_task("looking for batches", total=None)
        self._under_way: list[str] = []
        self._stage = ""

    def __enter__(self) -> BatchBar:
        """Start drawing."""
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was."""
        self.progress.stop()

    def begin(self, names: Sequence[str]) -> None:
        """The batches are known."""
        self.remark(f"{len(names)} batches: {listed(names)}")
        self.progress.update(self.task, total=len(names))

    def batch_begins(self, name: str) -> None:
        """A batch is under way."""
        if name not in self._under_way:
            self._under_way.append(name)
        self._stage = ""
        self._draw()

    def batch_ends(self, row: BatchRow) -> None:
        """A batch has ended: say how."""
        if row.name in self._under_way:
            self._under_way.remove(row.name)
        self.progress.advance(self.task)
        self._stage = ""
        self._draw()
        if row.state is BatchState.ERROR:
            self._say_failed(row)
        else:
            kept = " (kept)" if row.state is BatchState.KEPT else ""
            self.remark(f"{row.name}{kept}: {row.outcome}")
        for remark in row.remarks:
            self.remark(f"{row.name}: {remark}")

    def inside(self, name: str) -> BatchBar:  # noqa: ARG002 (every watch takes a name)
        """Follow a batch in this process: its stages are said on the same line."""
        return self

    def say(self, text: str, total: float | None = None) -> None:  # noqa: ARG002
        """A step of the batch begins; the bar counts batches, so its parts are not shown."""
        self._stage = text
        self._draw()

    def advance(self) -> None:
        """Take no notice of a part of a step."""

    def begin_stage(self, name: str, stages: tuple[str, ...]) -> None:
        """A stage of the batch begins."""
        self._stage = f"{name}, stage {stages.index(name) + 1} of {len(stages)}"
        self._draw()

    def __call__(self, record: Record) -> bool:  # noqa: ARG002 (every watch takes a record)
        """Let the run go on; Ctrl-C ends all of it, and what is done stays."""
        return False

    def remark(self, text: str) -> None:
        """Say something that is not the result."""
        self._voice.remark(text)

    def going_on(self, folder: Path, done: int) -> None:
        """An interrupted batch goes on."""
        self.remark(f"going on from {folder} ({done} outer iterations done)")

    def _say_failed(self, row: BatchRow) -> None:
        """Say at once which batch has an error; --json has it in the result."""
        if not self._voice.json:
            say_error(f"{row.name}: {at_a_terminal(row.error, self._flags)}")

    def _draw(self) -> None:
        """Update the line."""
        said = listed(self._under_way, SHOWN) or "waiting"
        if self._stage:
            said += f" · {self._stage}"
        self.progress.update(self.task, description=said)
