"""Write several series of pictures in one pass: each has a writer in a thread of its own.

A writer takes its pictures from an iterator, because a video or a TIFF is one file. A pass over a
large batch has the aligned, the low-rank and the error picture of one original at a time. So each
of the three writers has a short queue from which it is fed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Full, Queue
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError

Array = npt.NDArray[Any]
Writer = Callable[[Iterator[Array]], object]

# Pictures that wait for a writer at most.
WAITING = 8
# Seconds after which it is asked whether a writer whose queue is full is still there.
PATIENCE = 0.2


class _GivenUp(Exception):
    """The pass has ended early: there will be no further pictures."""


class Feed:
    """One writer and the pictures that wait for it."""

    def __init__(self, write: Writer, pool: ThreadPoolExecutor) -> None:
        self._queue: Queue[Array | _GivenUp | None] = Queue(WAITING)
        self._future: Future[object] = pool.submit(write, self._pictures())

    def put(self, picture: Array) -> None:
        """Let a picture be written; raise what the writer raised, if it has ended."""
        self._put(picture)

    def finish(self) -> None:
        """Wait until everything is written; raise what the writer raised."""
        self._put(None)
        self._future.result()

    def give_up(self) -> None:
        """Let the writer end without its further pictures."""
        while not self._future.done():
            try:
                self._queue.put(_GivenUp(), timeout=PATIENCE)
            except Full:
                continue
            break

    def _put(self, item: Array | None) -> None:
        while True:
            if self._future.done():
                # A writer that has all its pictures may end before it is told that there are no
                # more.
                self._future.result()
                return
            try:
                self._queue.put(item, timeout=PATIENCE)
            except Full:
                continue
            return

    def _pictures(self) -> Iterator[Array]:
        """What the writer reads."""
        while True:
            item = self._queue.get()
            if item is None:
                return
            if isinstance(item, _GivenUp):
                raise item
            yield item


class Feeds:
    """Several writers; one that cannot write is left out, and the reason kept."""

    def __init__(self, writers: Sequence[Writer], pool: ThreadPoolExecutor) -> None:
        self._feeds: list[Feed | None] = [Feed(write, pool) for write in writers]
        self.reasons: list[str] = []

    def put(self, pictures: Sequence[Array]) -> None:
        """Give every writer its picture."""
        for k, picture in enumerate(pictures):
            self._try(k, Feed.put, picture)

    def finish(self) -> None:
        """Wait for all writers."""
        for k in range(len(self._feeds)):
            self._try(k, Feed.finish)

    def give_up(self) -> None:
        """Let all writers end."""
        for feed in self._feeds:
            if feed is not None:
                feed.give_up()

    def _try(self, k: int, action: Callable[..., None], *given: Array) -> None:
        """Do something with a writer unless it has failed; note where it fails now."""
        feed = self._feeds[k]
        if feed is None:
            return
        try:
            action(feed, *given)
        except InputError as error:
            self._feeds[k] = None
            self.reasons.append(str(error))


@contextmanager
def feeding(writers: Sequence[Writer]) -> Iterator[Feeds]:
    """Give the feeds of some writers, all of which have ended after the block.

    Parameters
    ----------
    writers : sequence of callables
        Each is called with an iterator of pictures, and takes all of them.
    """
    with ThreadPoolExecutor(max(len(writers), 1), thread_name_prefix="rankfold-write") as pool:
        feeds = Feeds(writers, pool)
        try:
            yield feeds
            feeds.finish()
        except BaseException:
            feeds.give_up()
            raise


def magnitude_if_unsigned(error: Array, dtype: npt.DTypeLike) -> Array:
    """Return an error as it is where the type has negative values, else its magnitude."""
    return error if np.dtype(dtype).kind in "fi" else np.abs(error)
