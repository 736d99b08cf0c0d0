"""Functions that tests have processes run; a process imports them from here by name."""

import os
import signal
import threading
from pathlib import Path

# Unit: seconds. A signal that comes just before a wait does not end it, so no wait is longer.
NAP = 0.5


def doubled(job):
    return 2 * job


def killed_at_odd(job):
    """Double even numbers; be killed at odd ones."""
    if job % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


def killed_once(place):
    """Be killed the first time, and return the process that does it the second time."""
    mark = Path(place)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def raising(job):
    raise RuntimeError(f"a mistake in {job}")


def process_of(job):
    return os.getpid()


def deaf(place):
    """Say that the work has begun, and never end, not even when asked to leave."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(place).write_text(str(os.getpid()))
    wait_forever()


def busy_forever(place):
    """Say that the work has begun, and never end; remove the mark when asked to leave."""
    mark = Path(place)
    try:
        # The mark is there before it is written, and who sees it may ask at once.
        mark.write_text(str(os.getpid()))
        wait_forever()
    finally:
        mark.unlink()


def wait_forever():
    """Do nothing until an exception ends it."""
    while True:
        threading.Event().wait(NAP)
