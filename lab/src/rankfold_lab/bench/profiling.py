"""Where the time of an inner iteration goes: clocks around the functions of the solver."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

from rankfold.scale import executor_for
from rankfold_lab import inner
from rankfold_lab.bench.declared import declared, matrix
from rankfold_lab.bench.inputs import read_matrix
from rankfold_lab.bench.setting import Rows, Setting, Task

PARTS = ("product", "elementwise", "Gram", "eigenproblem", "rest")


class Clocks:
    """Own time of every part: what a function called from another one takes is not the caller's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        # Time of the functions called so far: one entry for every function that is running.
        self._inside = [0.0]

    def around(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """The function with a clock."""

        def timed(*words: Any, **options: Any) -> Any:
            self._inside.append(0.0)
            began = time.perf_counter()
            try:
                return function(*words, **options)
            finally:
                took = time.perf_counter() - began
                self.seconds[part] += took - self._inside.pop()
                self._inside[-1] += took

        return timed


def tasks(setting: Setting) -> list[Task]:
    """One for every declared problem."""
    return [
        (f"profile, {name}", partial(_measure, setting, name, kind))
        for name, kind in _cases().items()
    ]


@contextmanager
def clocks() -> Iterator[Clocks]:
    """Put clocks around the declared functions. For one thread only."""
    clock = Clocks()
    with ExitStack() as stack:
        for path, part in declared()["profile"]["parts"].items():
            room, _, name = path.rpartition(".")
            function = getattr(import_module(room), name, None)
            # A test makes sure that all of them are there.
            if function is not None:
                stack.enter_context(patch(path, clock.around(function, part)))
        yield clock


def _cases() -> dict[str, str]:
    """Titles and kinds of problems."""
    cases: dict[str, str] = declared()["profile"]["cases"]
    return cases


def _measure(setting: Setting, name: str, kind: str) -> Rows:
    """Return the shares of one run, after one that compiles."""
    table = matrix("faces")
    iterations = table["iterations"]
    if kind == "moving":
        n, m = setting.pick(table, "size")
        problem = inner.moving_problem((n, 20, m // 20))
    else:
        problem = inner.robust_pca(read_matrix(table, setting))
    with executor_for(None, 1) as executor:
        inner.iterate(problem, iterations, executor)
        with clocks() as clock:
            began = time.perf_counter()
            inner.iterate(problem, iterations, executor)
            whole = time.perf_counter() - began
    shares = {part: clock.seconds[part] / whole for part in PARTS[:-1]}
    shares["rest"] = 1 - sum(shares.values())
    row = {
        "problem": name,
        "shape": list(problem.data.shape),
        "milliseconds": 1e3 * whole / iterations,
        "shares": shares,
    }
    return [row]
