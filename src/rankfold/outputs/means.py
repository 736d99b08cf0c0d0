"""With what an output is made: its numbers, threads and memory, and who is told how far it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from rankfold.arguments import callable_one, instance, path_of
from rankfold.io.source import nothing
from rankfold.outputs.settings import OutputSettings
from rankfold.scale import Executor, Needs, executor_for, store_for
from rankfold.scale.executors import number_of_threads
from rankfold.scale.limits import bytes_of
from rankfold.stack import Frame

# Is told how many steps are done, and of how many.
Progress = Callable[[int, int], object]

# Bytes that a tile and a picture at hand take, besides the arrays of the whole grid; an estimate.
BESIDE = 350e6


@dataclass(frozen=True)
class Means:
    """With what an output is made.

    Attributes
    ----------
    numbers : OutputSettings
    n_jobs : int, optional
        Threads; -1 for all cores.
    memory_limit : int or str, optional
        Bytes, or "2G"; 60 % of what is free by default.
    scratch : str or Path, optional
        The folder for what does not fit.
    progress : callable, optional
    """

    numbers: OutputSettings = field(default_factory=OutputSettings)
    n_jobs: int | None = None
    memory_limit: int | str | None = None
    scratch: str | Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing, before any picture is read."""
        instance("settings", self.numbers, OutputSettings, "pass OutputSettings(), or leave it out")
        number_of_threads(self.n_jobs)
        if self.memory_limit is not None:
            bytes_of(self.memory_limit)
        if self.scratch is not None:
            path_of("scratch", self.scratch)
        if self.progress is not None:
            callable_one("progress", self.progress, "pass a function of two numbers")

    def executor(self, grid: Frame, donors: int, channels: int) -> AbstractContextManager[Executor]:
        """Give threads, and a store for so many pictures on a grid, for the duration of a block."""
        store = store_for(needs_of(grid, donors, channels), self.memory_limit, self.scratch)
        return executor_for(None, self.n_jobs, store)

    def counting(self, total: int) -> Callable[[], object]:
        """Return a function that says so each time one step more is done."""
        progress = self.progress
        if progress is None:
            return nothing
        done = 0

        def one_more() -> None:
            nonlocal done
            done += 1
            progress(done, total)

        return one_more


def needs_of(grid: Frame, donors: int, channels: int) -> Needs:
    """Estimate what it takes to find a scene, in bytes."""
    pixels = grid.height * grid.width
    # Four bytes a value and one of trust, of every donor.
    spool = donors * pixels * (4 * channels + 1)
    # The clean picture, its support, and the plate in its type.
    results = pixels * (4 * channels + 8 + 8 * channels)
    return Needs(memory=BESIDE + spool + results, least=BESIDE + results, disk=spool + results)
