"""What is written never takes the place of what it is made from."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.runs.folder import pictures_of


def check_apart(target: str | Path, source: Source, *others: str | Path | None) -> None:
    """Refuse to write where something is that is read, or above it.

    An older folder of that name would be replaced, and what lies in it would be gone. Links are
    followed, so that another name of the same place is no way around this.

    Parameters
    ----------
    target : str or Path
        The file or folder that will be written.
    source : Source
        The pictures.
    *others : str, Path or None
        What else is read: a run, masks.
    """
    written = _real(target)
    for read in _all_read(source, others):
        place = _real(read)
        if written == place or written in place.parents:
            raise InputError(
                f"{target} is, or holds, {read}, from which it would be made; choose another place"
            )


def check_no_original(
    target: str | Path, run: str | Path, config: Mapping[str, Any] | None
) -> None:
    """Refuse to write over a picture of a run, or over the file that all of them are in.

    Parameters
    ----------
    target : str or Path
        The file that will be written.
    run : str or Path
        The run folder, for the sentence.
    config : mapping, optional
        That of the run; without one nobody knows where its pictures are.
    """
    place = None if config is None else pictures_of(config)
    if config is None or place is None:
        return
    # A file, a pattern, or a folder of files.
    files = [Path(name) for name in glob.glob(str(place))]  # noqa: PTH207
    named = (place / name for name in config["input"]["names"])
    # No file has a zero in its name.
    read = [one for one in (place, *files, *named) if "\0" not in str(one)]
    if _real(target) in map(_real, read):
        raise InputError(f"{target} is a picture of the run {run}; choose another place")


def _real(path: str | Path) -> Path:
    """Where a path leads; a link that leads to itself leads nowhere, which is no error here."""
    return Path(os.path.realpath(path))


def _all_read(source: Source, others: Iterable[str | Path | None]) -> Iterable[Path]:
    """Whatever is read: the path itself may also be a pattern, of which only the files exist."""
    yield Path(source.path)
    yield from source.files
    yield from (Path(one) for one in others if one is not None)
