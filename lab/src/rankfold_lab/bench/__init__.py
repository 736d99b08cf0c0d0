"""How fast it is: cases declared in ``cases.toml``, run against peers and the machine's floor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rankfold.errors import InputError
from rankfold_lab.bench import (
    alignment,
    defaults,
    growth,
    iteration,
    profiling,
    robust_pca,
    starting,
    store,
)
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.page import write_page
from rankfold_lab.bench.rounds import merged
from rankfold_lab.bench.setting import Setting, Task
from rankfold_lab.bench.tables import tables_of

CASES: dict[str, Callable[[Setting], list[Task]]] = {
    "rpca": robust_pca.tasks,
    "rasl": alignment.tasks,
    "defaults": defaults.tasks,
    "iteration": iteration.tasks,
    "growth": growth.tasks,
    "start": starting.tasks,
    "profile": profiling.tasks,
}
NEED_DATA = ("rpca", "rasl", "defaults", "iteration", "profile")


def cases(names: list[str] | None = None) -> list[str]:
    """Return the declared cases, all or some, in their order."""
    unknown = [name for name in names or () if name not in CASES]
    if unknown:
        raise InputError(f"unknown case {unknown[0]!r}; choose from {', '.join(CASES)}")
    return [name for name in CASES if not names or name in names]


def setting_for(
    data: Path | None,
    repeats: int | None,
    quick: bool,
    peers: Path | None,
    octave_rasl: Path | None,
    earlier: Path | None = None,
) -> Setting:
    """Return the setting that a command was given; a quick one has no data and one round."""
    given = ((data, "--data"), (octave_rasl, "--octave-rasl"), (earlier, "--earlier"))
    for folder, option in given:
        if folder is not None and not folder.is_dir() and not quick:
            raise InputError(f"{folder} is not a folder; give {option} one that is there")
    return Setting(
        data=None if quick else data,
        repeats=repeats or (1 if quick else declared()["repeats"]),
        quick=quick,
        peers=peers or Path(sys.executable),
        octave_rasl=octave_rasl,
        earlier=earlier,
    )


def run(chosen: list[str], setting: Setting, out: Path) -> Iterator[tuple[str, int, int]]:
    """Measure cases one after the other; yields what is next, how much is done, and of how much.

    The figures of a case are written when it is complete.
    """
    needy = [name for name in chosen if name in NEED_DATA]
    if setting.data is None and needy and not setting.quick:
        free = ", ".join(name for name in CASES if name not in NEED_DATA)
        raise InputError(
            f"{', '.join(needy)} need data: give --data, the folder with video/demo.avi and rasl/, "
            f"or set RANKFOLD_DATA; without data there are {free}, and --quick"
        )
    store.check_same_kind(out, setting.quick)
    work = {name: CASES[name](setting) for name in chosen}
    total = sum(len(tasks) for tasks in work.values())
    done = 0
    for name, tasks in work.items():
        rows = []
        for label, task in tasks:
            yield label, done, total
            rows += task()
            done += 1
        store.add(out, name, merged(rows), setting)
    yield "done", total, total


__all__ = [
    "CASES",
    "Setting",
    "cases",
    "run",
    "setting_for",
    "store",
    "tables_of",
    "write_page",
]
