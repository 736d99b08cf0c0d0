"""How fast it is: cases declared in ``cases.toml``, run against peers and the machine's floor; one json, one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rankfold.errors import InputError
from rankfold.experiments.bench import (
    alignment,
    growth,
    iteration,
    profiling,
    robust_pca,
    starting,
    store,
)
from rankfold.experiments.bench.page import write_page
from rankfold.experiments.bench.rounds import merged
from rankfold.experiments.bench.setting import Setting, Task

CASES: dict[str, Callable[[Setting], list[Task]]] = {
    "rpca": robust_pca.tasks,
    "rasl": alignment.tasks,
    "iteration": iteration.tasks,
    "growth": growth.tasks,
    "start": starting.tasks,
    "profile": profiling.tasks,
}
NEED_DATA = ("rpca", "rasl", "iteration", "profile")


def cases(names: list[str] | None = None) -> list[str]:
    """The declared cases, all or some, in their order."""
    unknown = [name for name in names or () if name not in CASES]
    if unknown:
        raise InputError(f"unknown case {unknown[0]!r}; choose from {', '.join(CASES)}")
    return [name for name in CASES if not names or name in names]


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
    total, done = sum(len(tasks) for tasks in work.values()), 0
    for name, tasks in work.items():
        rows = []
        for label, task in tasks:
            yield label, done, total
            rows += task()
            done += 1
        store.add(out, name, merged(rows), setting)
    yield "done", total, total


__all__ = ["CASES", "Setting", "cases", "run", "store", "write_page"]
