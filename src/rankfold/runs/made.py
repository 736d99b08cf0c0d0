"""What the makers of plates, restored pictures and masks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankfold.errors import InputError
from rankfold.io import Source, reopen
from rankfold.io.file_names import are_distinct, flat, inside
from rankfold.result import Alignment
from rankfold.runs.folder import has_names, open_run, pictures_of
from rankfold.runs.watch import Watch

# Endings of what can be written as one picture.
WRITABLE = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".pgm", ".ppm", ".pnm")

# In a mask: what belongs, and what does not.
BLACK = 0
WHITE = 255


@dataclass(frozen=True)
class Made:
    """What was made.

    Attributes
    ----------
    place : Path
        The file or folder.
    sentence : str
        What to know of it.
    figures : dict
        The same as plain values.
    """

    place: Path
    sentence: str
    figures: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {"written": str(self.place), "sentence": self.sentence, **self.figures}


def plain_names(source: Source) -> tuple[str, ...]:
    """What masks and other pictures beside the originals are called, without an ending.

    Folders become part of the name, and only the ending of a picture is taken off. Where two would
    be called the same, all keep their endings, and if that is not enough their folders.
    """
    full = [flat(name) for name in source.names]
    short = [_without_ending(name) for name in full]
    if are_distinct(short):
        return tuple(short)
    if are_distinct(full):
        return tuple(full)
    return tuple(inside(name) for name in source.names)


def _without_ending(name: str) -> str:
    """Take off the ending of a picture."""
    place = Path(name)
    return place.stem if place.suffix.lower() in WRITABLE else name


def originals_of_run(run: str | Path) -> Source:
    """Open the pictures of a run where it read them.

    Parameters
    ----------
    run : str or Path
        A run folder.
    """
    known = open_run(run)
    place = pictures_of(known.config)
    if place is None:
        raise InputError(f"{run} does not say where its pictures are; name them")
    result = known.result
    names = result.names if isinstance(result, Alignment) else known.names
    try:
        source = reopen(str(place), known.config["input"].get("opened_with", {})).named(names)
    except InputError as error:
        raise InputError(
            f"the pictures of {run} are no longer at {place} ({error}); name them"
        ) from error
    if has_names(source, known):
        return source
    raise InputError(f"{place} no longer has the pictures of {run}; name them as they were given")


def stepping(watch: Watch, text: str) -> Callable[[int, int], None]:
    """Return what tells a watch how many steps are done."""

    def step(done: int, total: int) -> None:
        if done == 1:
            watch.say(text, total)
        watch.advance()

    return step
