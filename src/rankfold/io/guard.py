"""The one guard around every decoder: what it raises becomes a sentence that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from rankfold.errors import FormatError, RankfoldError
from rankfold.libraries import quiet_loggers

# Characters of what a decoder says.
LONGEST = 300

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def reading(path: str | Path, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever a decoder raises into one sentence that names the file and the remedy.

    Decoders raise anything on bad bytes: a header that asks for too much memory, or is nested too
    deeply, is an error of that file alone. Our own errors pass through.

    Parameters
    ----------
    path : str or Path
        What is read, for the message.
    what : str
        What cannot be done, as in "read as a video".
    remedy : str
        What the caller can do about it.
    """
    try:
        with quiet_loggers():
            yield
    except RankfoldError:
        raise
    except FileNotFoundError as error:
        if Path(path).exists():
            # A folder that is one file, as of zarr.
            raise FormatError(
                f"{path} cannot be {what} (something in it is missing); {remedy}"
            ) from error
        raise FormatError(f"{path} does not exist; check the name") from error
    except MemoryError as error:
        raise FormatError(
            f"{path} cannot be {what} (it asks for more memory than there is); {remedy}"
        ) from error
    except Exception as error:
        said = shortened(" ".join(str(error).split())) or type(error).__name__
        raise FormatError(f"{path} cannot be {what} ({said}); {remedy}") from error


def shortened(text: str) -> str:
    """Return a text without what goes beyond a sentence, as when a decoder quotes its input."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def or_error(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | FormatError:
    """Return a picture, or the error that says why there is none: the next may still be good."""
    try:
        return read(*args, **kwargs)
    except FormatError as error:
        return error
