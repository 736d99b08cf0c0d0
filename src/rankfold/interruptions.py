"""What Ctrl-C and SIGTERM do to a command: either ends it in the same way.

While a process starts, it has written nothing, and either ends it at once. Then either raises an
exception in the main thread (KeyboardInterrupt or Terminated), so that whatever is under way
cleans up on its way out. What comes after that is ignored, because it would interrupt the cleaning.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from types import FrameType
from typing import Any, NamedTuple

# Exit codes of a process that was interrupted: 128 and the number of the signal.
STOPPED = 130
TERMINATED = 143

# Seconds until an interruption that came where nobody can catch it is raised once more.
AGAIN = 0.05
# Seconds after which work that still goes on must have swallowed its interruption. Cleaning up
# takes less, so that the next signal interrupts the work and not the cleaning.
SWALLOWED = 10.0


class Terminated(BaseException):
    """SIGTERM was sent to this process."""


class Interruption(NamedTuple):
    """What becomes of a process that gets a signal.

    Parameters
    ----------
    exception : type
        What is raised in the main thread.
    code : int
        The exit code.
    words : str
        How a sentence about it begins.
    """

    exception: type[BaseException]
    code: int
    words: str


INTERRUPTIONS: dict[int, Interruption] = {
    signal.SIGINT: Interruption(KeyboardInterrupt, STOPPED, "Stopped"),
    signal.SIGTERM: Interruption(Terminated, TERMINATED, "Ended by SIGTERM"),
}
"""The signals that end a command, by number."""


class Stage(Enum):
    """How far a process is."""

    STARTING = auto()
    WORKING = auto()
    LEAVING = auto()


class Signals:
    """What becomes of the signals of this process; there is one, as signals belong to a process."""

    def __init__(self) -> None:
        self.stage = Stage.LEAVING
        # The signal that ends the work, if one came, and when it did.
        self.received: int | None = None
        self._since = 0.0
        # One that was raised where nobody can catch it, and comes again.
        self._lost: int | None = None
        # Files and folders that were put in their places since the work began.
        self.written: list[str] = []
        # Whether the signals are ours until the process ends.
        self._owned = False
        self._old_hook: Any = None

    def take_over(self) -> None:
        """Take the signals of a process that has just started, until it ends."""
        self.stage = Stage.STARTING
        self._owned = bool(self._listen())

    def ignore(self) -> None:
        """Ignore what still comes: everything is said and done.

        By the system itself, because Python gives its own handlers back before it ends.
        """
        self.stage = Stage.LEAVING
        if self._owned:
            for number in INTERRUPTIONS:
                signal.signal(number, signal.SIG_IGN)

    def cause_of(self, error: BaseException) -> Interruption:
        """The interruption that an exception comes from.

        That may be another exception than the one that was raised here, where the signal has
        interrupted a library that makes an error of its own of it.
        """
        if self.received is not None:
            return INTERRUPTIONS[self.received]
        return next(one for one in INTERRUPTIONS.values() if isinstance(error, one.exception))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Raise an exception on the first Ctrl-C or SIGTERM in the block, and ignore the others."""
        in_main = threading.current_thread() is threading.main_thread()
        if self.stage is Stage.WORKING or not in_main:
            # Python tells the main thread alone, and somebody listens there already.
            yield
            return
        before = {} if self._owned else self._listen()
        self.stage = Stage.WORKING
        self.received = None
        self.written.clear()
        self._old_hook = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        try:
            yield
        finally:
            self.stage = Stage.LEAVING
            sys.unraisablehook = self._old_hook
            for number, handler in before.items():
                signal.signal(number, handler)

    def interrupt(self, number: int, frame: FrameType | None = None) -> None:
        """What a signal does, depending on how far the process is."""
        if self.stage is Stage.STARTING:
            _leave_at_once(number)
        if self.stage is Stage.WORKING and not self._is_cleaning():
            if _is_inside(frame, Signals._raise_again):
                # Nobody can catch it there either.
                self._lost = number
                return
            self._lost = None
            self.received = number
            self._since = time.monotonic()
            raise INTERRUPTIONS[number].exception

    def _is_cleaning(self) -> bool:
        """Whether what is still done is done because of an earlier signal."""
        return self.received is not None and time.monotonic() - self._since < SWALLOWED

    def _listen(self) -> dict[int, Any]:
        """Take the signals; returns who had them. One that is ignored stays so, as after nohup."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in INTERRUPTIONS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, self.interrupt)
        return before

    def _raise_again(self, lost: Any) -> None:
        """Raise an interruption once more that came where nobody can catch it.

        As in a destructor: Python prints such an exception and goes on.
        """
        if self.received is None or lost.exc_type is not INTERRUPTIONS[self.received].exception:
            self._old_hook(lost)
        else:
            self._lost = self.received
            self.received = None
        if self._lost is not None:
            # More than one of these does no harm: all end when it was raised.
            threading.Thread(target=self._insist, args=(self._lost,), daemon=True).start()

    def _insist(self, number: int) -> None:
        """Send a signal until its exception is raised where somebody can catch it."""
        time.sleep(AGAIN)
        while self._lost is not None:
            if self.stage is not Stage.WORKING:
                # The work has ended, and the signal is for whoever has the signals now.
                self._lost = None
            _send(number)
            time.sleep(AGAIN)


SIGNALS = Signals()
"""The signals of this process."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        # Python tells the main thread alone.
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    is_over = False

    def put_off(number: int, _: FrameType | None) -> None:
        if not is_over:
            came.append(number)
            return
        # The block was left by the exception of another signal, before this one was given back.
        signal.signal(number, before[number])
        signal.raise_signal(number)

    try:
        for number in INTERRUPTIONS:
            handler = signal.getsignal(number)
            if handler is not None:
                before[number] = handler
                signal.signal(number, put_off)
        yield
    finally:
        is_over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in came:
            signal.raise_signal(one)


def _is_inside(frame: FrameType | None, function: Callable[..., Any]) -> bool:
    """Whether a function is under way where a process was interrupted."""
    code = getattr(function, "__code__", None)
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _send(number: int) -> None:
    """Send a signal to the main thread, which may be waiting in a call of the system."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _leave_at_once(number: int) -> None:
    """End this process, which has written nothing yet."""
    kind = INTERRUPTIONS[number]
    with suppress(OSError):
        os.write(2, f"{kind.words}; nothing was written.\n".encode())
    os._exit(kind.code)
