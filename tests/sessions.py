"""Waiting for a command that was started in a session of its own, and what is left of that."""

import time
from pathlib import Path

# Unit: seconds. Python's own tracker of resources learns of the end by a pipe, and takes a moment.
FAREWELL = 20.0
# Unit: seconds. Only ends the wait for something that never comes; a command may compile first.
LIMIT = 600.0


def wait_until(process, happened):
    """Wait until something has happened; a command that ends without it has failed.

    Parameters
    ----------
    process : subprocess.Popen
    happened : function
        Says whether it has.
    """
    until = time.monotonic() + LIMIT
    while True:
        # Asked first: what happened before the end is there afterwards.
        has_ended = process.poll() is not None
        if happened():
            return
        assert not has_ended, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


def lines_in(file):
    """Count the whole lines of a log, which need not be there yet."""
    return file.read_text().count("\n") if file.is_file() else 0


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
