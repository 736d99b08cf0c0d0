"""Where the time of an inner iteration goes: the functions of the solver with clocks around them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from rankfold.admm import Problem, Settings, solve
from rankfold.executors import executor_for
from rankfold.experiments.bench.declared import declared, matrix
from rankfold.experiments.bench.inputs import read_matrix
from rankfold.experiments.bench.setting import Rows, Setting, Task
from rankfold.experiments.speed import moving_problem

PARTS = ("product", "elementwise", "Gram", "eigenproblem", "rest")


class Clocks:
    """Own time of every part: that of a function called from another one is taken off the caller's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside = [
            0.0
        ]  # time of the functions called so far, one entry for every function that is running

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
            if function is not None:  # tests/unit/test_bench.py makes sure that they are all there
                stack.enter_context(patch(path, clock.around(function, part)))
        yield clock


def _cases() -> dict[str, str]:
    """Titles and kinds of problems."""
    cases: dict[str, str] = declared()["profile"]["cases"]
    return cases


def _measure(setting: Setting, name: str, kind: str) -> Rows:
    """Shares of one solve, after one that compiles."""
    table = matrix("faces")
    if kind == "moving":
        n, m = setting.pick(table, "size")
        problem = moving_problem((n, 20, m // 20))
    else:
        X = read_matrix(table, setting)
        problem = Problem(X, float(1 / np.sqrt(max(X.shape))))
    settings = Settings(tol=1e-15, max_iter=table["iterations"])
    with executor_for(None, 1) as executor:
        solve(problem, settings, executor)
        with clocks() as clock:
            began = time.perf_counter()
            solve(problem, settings, executor)
            whole = time.perf_counter() - began
    seconds = {part: clock.seconds[part] for part in PARTS[:-1]}
    shares = {part: value / whole for part, value in seconds.items()}
    shares["rest"] = 1 - sum(shares.values())
    shape = list(problem.data.shape)
    return [
        {
            "problem": name,
            "shape": shape,
            "milliseconds": 1e3 * whole / settings.max_iter,
            "shares": shares,
        }
    ]
