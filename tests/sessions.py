"""Which processes are left of a session, as of a command that was started in one of its own."""

import time
from pathlib import Path

# Unit: seconds. Python's own tracker of resources learns of the end by a pipe, and takes a moment.
FAREWELL = 20.0


def left_in(session):
    """Wait until no process of a session is there; those that stay, by their numbers.

    Parameters
    ----------
    session : int
        The number of the process that began it.
    """
    until = time.monotonic() + FAREWELL
    while (left := _running_in(session)) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def _running_in(session):
    """The processes of a session that are not only waiting for their parent to take note."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(status.parent.name)
    return found
