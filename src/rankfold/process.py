"""A command line as a process of its own: its signals, its streams and its end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rankfold.interruptions import SIGNALS


def run_command_line(load: Callable[[], Callable[..., Any]], name: str) -> None:
    """Run a command line, and end the process with its exit code.

    Parameters
    ----------
    load : callable
        Imports the application and returns it. That takes a second, in which Ctrl-C is heeded too.
    name : str
        What the program is called in its help.
    """
    SIGNALS.take_over()
    fill_streams()
    try:
        application = load()
        application(prog_name=name)
    except (OSError, ImportError, MemoryError) as error:
        # Outside of a command, help and remarks on wrong usage are printed; and where memory is
        # short, nothing can be imported, nor much be said of it.
        sys.exit(_said(error))
    finally:
        SIGNALS.ignore()
        settle_streams()


def _said(error: BaseException) -> int:
    """Say what went wrong, if that is possible; returns the exit code."""
    said = " ".join(str(error).split()) or type(error).__name__
    with suppress(OSError, ValueError):
        print(f"Error: {said}", file=sys.stderr)  # noqa: T201 (nothing else is there yet)
    return 1


def fill_streams() -> None:
    """Make the standard streams such that nothing can go wrong in them.

    A stream that was closed would leave its number to the next file that is opened, and what a
    library prints would end up there. A character that a terminal does not have is written as an
    escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def settle_streams() -> None:
    """Write out what is left in the standard streams; what nobody takes is dropped.

    Otherwise Python would try once more at its end, and print that it failed.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            drop_output(stream)


def drop_output(stream: Any) -> None:
    """Let what is still written to a stream go nowhere."""
    try:
        number = stream.fileno()
    except (OSError, ValueError, AttributeError):
        # It is no file, as in a test.
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
