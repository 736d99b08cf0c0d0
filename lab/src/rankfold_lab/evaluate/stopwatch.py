"""How long something takes that gives one thing after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Stopwatch:
    """The seconds that are spent in an iterator, and not in what is done with what it gives."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = 0.0
        self._clock = clock

    def over(self, steps: Iterator[T]) -> Iterator[T]:
        """Give what the iterator gives."""
        done = object()
        while True:
            began = self._clock()
            item: Any = next(steps, done)
            self.seconds += self._clock() - began
            if item is done:
                return
            yield item
