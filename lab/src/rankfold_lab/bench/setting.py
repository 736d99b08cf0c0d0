"""How a measurement is run: on which data, how often, with how many threads and which peers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
Task = tuple[str, Callable[[], Rows]]  # what is shown while it runs, and what runs


@dataclass(frozen=True)
class Setting:
    """What the command was given.

    Attributes
    ----------
    data : path or None
        The folder of the data; None for generated matrices only.
    repeats : int
        Rounds in which all take turns.
    quick : bool
        Small generated sizes and no peers.
    peers : path
        The interpreter that has them.
    octave_rasl : path or None
        A copy of the published toolbox.
    earlier : path or None
        A checkout of an earlier version, to compare with.
    """

    data: Path | None
    repeats: int
    quick: bool
    peers: Path = field(default_factory=lambda: Path(sys.executable))
    octave_rasl: Path | None = None
    earlier: Path | None = None

    @property
    def threads(self) -> list[int]:
        """One thread, and all there are where these are more; a trial has one."""
        return [1] if self.quick else sorted({1, os.cpu_count() or 1})

    def pick(self, table: dict[str, Any], key: str) -> Any:
        """A declared value, or its small one where it has one and that is asked for."""
        return table.get(f"quick_{key}", table[key]) if self.quick else table[key]


def jobs_of(threads: int) -> int:
    """``n_jobs`` for a number of threads."""
    return 1 if threads == 1 else -1
