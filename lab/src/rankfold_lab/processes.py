"""Calls in processes of their own, which end when whoever wants the results is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from rankfold.errors import RankfoldError
from rankfold.libraries import quiet_libraries
from rankfold.many.workers import Died, run_jobs

# Unit: seconds. What is under way when it is interrupted is done again by the next run, so that
# nothing has to be cleaned up.
PATIENCE = 1.0


def call_all(
    function: Callable[..., Any], work: Sequence[tuple[Any, ...]], jobs: int
) -> Generator[tuple[int, Any], None, None]:
    """Call a function for all work; yields the number of each call and its result, as they end.

    Close it where it is not used to its end: that ends the processes.

    Parameters
    ----------
    function : function
        One of a module, which the processes import.
    work : sequence of tuples
        The arguments of each call.
    jobs : int
        How many calls run at a time.
    """
    ended = run_jobs(work, partial(_outcome, function), jobs, lambda _: None, PATIENCE)
    with closing(ended):
        for k, outcome in ended:
            if isinstance(outcome, Died):
                raise RankfoldError(
                    f"a process has died (exit code {outcome.code}) at {work[k]}; it may want more "
                    "memory: use fewer --jobs"
                )
            if isinstance(outcome, Exception):
                raise outcome
            yield k, outcome


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function in a process of its own; an error is returned, and raised by the other."""
    try:
        with quiet_libraries():
            return function(*arguments)
    except Exception as error:
        return error
