"""What the files of pictures are called: names that stay in their folder and do not meet there."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from rankfold.errors import InputError

# Unit: bytes. A longer name of a file or folder is refused by most systems.
LONGEST = 255


def flat(name: str) -> str:
    """Return a path as one file name: ``a/b.png`` becomes ``a_b.png``."""
    return "_".join(_parts(name))


def inside(name: str) -> str:
    """Return a path that stays in its folder, whatever a picture is called."""
    return str(Path(*_parts(name)))


def distinct(names: Sequence[str], endings: Iterable[str], ending: Sequence[str]) -> list[str]:
    """Return a file name for each picture, all of them different on every system.

    Without folders where that is enough; with their folders as a part of the name, or else in
    folders like theirs.

    Parameters
    ----------
    names : n strings
    endings : strings
        A name keeps one of these.
    ending : n strings
        What is put at the end of a name that has none of them.
    """
    known = tuple(endings)

    def ended(short: str, one: str) -> str:
        return short if short.lower().endswith(known) else f"{short}.{one}"

    for shorten in (_last, flat, inside):
        found = [ended(shorten(name), one) for name, one in zip(names, ending, strict=True)]
        if are_distinct(found) and _fit(found):
            return found
    if not _fit(found):
        raise InputError("a picture would be written to a file with too long a name; shorten it")
    one, other = _that_meet(found) or (found[0], found[-1])
    raise InputError(
        f"the files {one} and {other} cannot be in one folder on every system; rename one of the "
        "pictures"
    )


def unused(place: Path) -> Path:
    """Return where pictures will be written, unless something is there: it may be what is read."""
    if os.path.lexists(place):
        raise InputError(f"{place} exists already; choose another name, or move it away")
    return place


def are_distinct(names: Sequence[str]) -> bool:
    """Whether files of these names can be in one folder, on every system.

    Neither case nor the way in which an accent is written counts everywhere; and what is a file
    cannot be the folder of another one.
    """
    return _that_meet(names) is None


def _fit(names: Sequence[str]) -> bool:
    """Whether no name, nor any folder in it, is longer than systems allow."""
    parts = (part for name in names for part in Path(name).parts)
    return all(len(os.fsencode(part)) <= LONGEST for part in parts)


def _that_meet(names: Sequence[str]) -> tuple[str, str] | None:
    """The first two names that cannot be in one folder, if there are any."""
    by_key: dict[str, str] = {}
    for name in names:
        key = unicodedata.normalize("NFC", name).casefold()
        if key in by_key:
            return by_key[key], name
        by_key[key] = name
    for key, name in by_key.items():
        for folder in Path(key).parents:
            if str(folder) in by_key:
                return by_key[str(folder)], name
    return None


def _last(name: str) -> str:
    """The name without folders."""
    return _parts(name)[-1]


def _parts(name: str) -> list[str]:
    """The folders and the name, none of which leads out."""
    # A name from Python may hold anything; no file name has a zero in it.
    path = Path(name.replace("\0", ""))
    inner = path.relative_to(path.anchor).parts
    return [part for part in inner if part not in ("..", ".")] or ["picture"]
