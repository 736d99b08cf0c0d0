"""Logs of finished work, a line of JSON each, so that a killed run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rankfold_lab.processes import call_all

Record = dict[str, Any]
# (done, of) after each call. It is closed by whoever does not go through all of them.
Steps = Generator[tuple[int, int], None, None]


def run_logged(
    path: Path,
    function: Callable[..., list[Record]],
    work: Sequence[tuple[Any, ...]],
    jobs: int = 1,
) -> Steps:
    """Call a function for all work, and log what it returns; yields (done, of) after each call.

    Parameters
    ----------
    path : Path
        The log, which is appended to.
    function : function
        Returns records; it is called in other processes.
    work : sequence of tuples
        The arguments of each call.
    jobs : int
        How many calls run at a time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("a", encoding="utf-8") as file,
        closing(call_all(function, work, jobs)) as ended,
    ):
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            # A kill cut the last line short: begin a new one.
            file.write("\n")
        for done, (_, found) in enumerate(ended, 1):
            # At once: a kill must not leave a part of what one call found.
            file.write("".join(json.dumps(record) + "\n" for record in found))
            file.flush()
            yield done, len(work)


def read_log(path: str | Path) -> list[Record]:
    """Return the records; a last line that a kill cut short is passed over."""
    records = []
    if Path(path).exists():
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return records
