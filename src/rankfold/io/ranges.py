"""Which pictures of a file are meant: a range as in "100:300", and every so many of them."""

from __future__ import annotations

from rankfold.errors import InputError
from rankfold.io.source import Source

# Stands for "to the end".
NO_END = 2**62


def range_of(text: str | None) -> tuple[int, int]:
    """Read "100:300" as (100, 300); either end may be left out."""
    if text is None:
        return 0, NO_END
    start, _, end = str(text).partition(":")
    try:
        first = int(start or 0)
        last = int(end or NO_END)
    except ValueError as error:
        raise InputError(f"frames {text} is not a range; write it as 100:300") from error
    # Also refuses a negative number, which int() takes.
    if not 0 <= first < last:
        raise InputError(f"frames {text} is not a range; the first must be below the last")
    return first, last


def chosen_of(path: str, total: int, frames: str | None, stride: int) -> range:
    """Number those of ``total`` pictures that are meant, at least one."""
    first, last = range_of(frames)
    chosen = range(first, min(total, last), stride)
    if not chosen:
        raise InputError(
            f"frames {frames} selects nothing of {path}, "
            f"which has {total} frames (0 to {total - 1})"
        )
    return chosen


def in_range(source: Source, frames: str | None, stride: int) -> Source:
    """Return those pictures of a source that are meant."""
    if frames is None and stride == 1:
        return source
    return source.some(chosen_of(source.path, len(source), frames, stride))
