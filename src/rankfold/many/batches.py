"""Which batches there are: patterns become paths, and every path gets a name of its own."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rankfold.arguments import path_of, shown
from rankfold.errors import InputError
from rankfold.io import FORMATS
from rankfold.io.encoding import TIFF
from rankfold.io.pictures import ENDINGS
from rankfold.io.source import natural
from rankfold.report.overview import OVERVIEW
from rankfold.runs.leftovers import UNFINISHED
from rankfold.runs.many_tables import SUMMARY, TABLE
from rankfold.storage import FACTS

PATTERN_SIGNS = "*?["
# What lies in the folder of all runs besides the run folders.
TAKEN = (SUMMARY, TABLE, OVERVIEW)

Paths = str | Path | Iterable[str | Path]


@dataclass(frozen=True)
class Batch:
    """Pictures that are aligned with each other.

    Parameters
    ----------
    name : str
        What its run folder is called.
    path : str
        Whatever :func:`rankfold.io.open_pictures` reads, with an absolute path: a worker may
        have another working folder.
    """

    name: str
    path: str


@dataclass(frozen=True)
class Found:
    """What was found.

    Parameters
    ----------
    batches : tuple of Batch
    left_out : tuple of str
        A sentence for every path that is no batch.
    """

    batches: tuple[Batch, ...]
    left_out: tuple[str, ...] = ()


def find_batches(given: Paths | Mapping[str, str | Path], out: str | Path) -> Found:
    """Find the batches that the caller means.

    Parameters
    ----------
    given : path, several paths, or mapping of names to paths
        A path that has the signs of a pattern and does not exist is expanded, in natural order.
        Paths of a mapping are taken as they are: a pattern there names the pictures of one batch.
    out : str or Path
        Where the run folders will be; nothing in there is a batch.

    Returns
    -------
    Found
    """
    if isinstance(given, Mapping):
        batches = tuple(_named(str(name), path) for name, path in given.items())
        return Found(_checked(batches, out))
    if not isinstance(given, str | Path | Iterable):
        raise InputError(
            f"batches={shown(given)} is a {type(given).__name__}; give a path, several paths, or a "
            "dict of names and paths"
        )
    several = [given] if isinstance(given, str | Path) else list(given)
    paths = [path for one in several for path in _expanded(path_of("batches", one))]
    # The same folder twice, as in "a/* a/1", is one batch.
    different = list(dict.fromkeys(absolute(path) for path in paths))
    left_out = {path: why for path in different if (why := _why_not(path, out))}
    kept = [path for path in different if path not in left_out]
    if not kept:
        raise InputError(_nothing(several, left_out))
    names = _different_names(kept)
    batches = tuple(Batch(name, path) for name, path in zip(names, kept, strict=True))
    sentences = tuple(f"left out {path}: {why}" for path, why in left_out.items())
    return Found(_checked(batches, out), sentences)


def check_not_nested(path: str) -> None:
    """Refuse a folder that has no pictures but folders, and say how to align each of those.

    Parameters
    ----------
    path : str
    """
    folder = Path(path)
    if not folder.is_dir() or not FORMATS["pictures"].matches(folder):
        return
    if any(row.matches(folder) for name, row in FORMATS.items() if name != "pictures"):
        return
    inside = [one for one in folder.iterdir() if not one.name.startswith(".")]
    has_pictures = any(one.is_file() and one.suffix.lower() in ENDINGS for one in inside)
    if not has_pictures and any(one.is_dir() for one in inside):
        raise InputError(
            f"{path} has no pictures but folders; write {folder / '*'} to align each of them"
        )


def absolute(path: str | Path) -> str:
    """Give a path that holds in every working folder; a link keeps its name."""
    # Path.resolve would follow links, by which a batch would get the name of another folder.
    return os.path.abspath(path)  # noqa: PTH100


def _named(name: str, path: str | Path) -> Batch:
    """A batch that the caller has named; the name must do for a folder."""
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(
            f"{name!r} cannot be the name of a batch, because its run folder is called so; "
            "use a word without slashes and without a dot at its start"
        )
    return Batch(path_of("batches", name), absolute(path_of("batches", path)))


def _expanded(path: str) -> Iterator[str]:
    """Give the paths of a pattern; a path that is none, or is there as it is written, itself."""
    is_pattern = any(sign in path for sign in PATTERN_SIGNS)
    if not is_pattern or Path(path).exists():
        yield path
        return
    # Path.glob takes no absolute patterns.
    found = glob.glob(path, recursive=True)  # noqa: PTH207
    if not found:
        raise InputError(f"{path} names no batches; check the pattern and the folder")
    yield from sorted(found, key=natural)


def _why_not(path: str, out: str | Path) -> str:
    """Say why a path is no batch; empty if it is one."""
    place = Path(path)
    results = Path(absolute(out))
    if place == results or results in place.parents:
        return "the results are there"
    if place.name.endswith(UNFINISHED) or (place / FACTS).is_file():
        return "it is the folder of a run"
    # What does not exist stays a batch, so that its error is listed.
    if not place.is_file() or any(FORMATS[name].matches(place) for name in _FILES):
        return ""
    if place.suffix.lower() in ENDINGS and place.suffix.lower() not in TIFF:
        return "it is a single picture; a batch is a folder, a video, a stack or an array file"
    return "it is no video, stack or array file"


# Rows of FORMATS that read one file.
_FILES = ("tiff", "video", "array")


def _nothing(given: list[str | Path], left_out: Mapping[str, str]) -> str:
    """Say why there is no batch at all."""
    if not left_out:
        return "no batches were given; name folders, videos, stacks or array files"
    path, why = next(iter(left_out.items()))
    said = f"{', '.join(str(one) for one in given[:3])} has no batches"
    return f"{said} ({path}: {why}); write the folder above, or one folder a batch"


def _different_names(paths: list[str]) -> list[str]:
    """Name every path, as short as it is unambiguous."""
    names = [_stem(Path(path)) for path in paths]
    longer: tuple[Callable[[Path], str], ...] = (
        lambda place: place.name,
        lambda place: f"{place.parent.name}_{place.name}",
    )
    for lengthened in longer:
        counts = Counter(name.casefold() for name in names)
        names = [
            name if counts[name.casefold()] == 1 else lengthened(Path(path))
            for name, path in zip(names, paths, strict=True)
        ]
    return names


def _stem(place: Path) -> str:
    """The name of a folder, or that of a file without its ending."""
    return place.name if place.is_dir() else place.name.split(".")[0] or place.name


def _checked(batches: tuple[Batch, ...], out: str | Path) -> tuple[Batch, ...]:
    """Refuse two batches of one name, a name that is taken, and a run where pictures are."""
    known: dict[str, Batch] = {}
    for batch in batches:
        # Some file systems do not tell capitals from small letters.
        name = batch.name.casefold()
        if name in known:
            raise InputError(
                f"{known[name].path} and {batch.path} would both be called {batch.name}; "
                "rename one of them, or run them into two folders"
            )
        if name in TAKEN:
            raise InputError(f"{batch.path} cannot be called {batch.name}; rename it")
        known[name] = batch
    _check_apart(batches, Path(out))
    return batches


def _check_apart(batches: tuple[Batch, ...], out: Path) -> None:
    """Refuse a run folder that would take the place of the pictures of any batch."""
    # Whose pictures would go with a folder.
    held: dict[Path, Batch] = {}
    for batch in batches:
        read = Path(os.path.realpath(batch.path))
        held |= dict.fromkeys((read, *read.parents), batch)
    for batch in batches:
        run = out / batch.name
        other = held.get(Path(os.path.realpath(run)))
        if other is not None:
            raise InputError(
                f"{run} would be a run folder, and is, or holds, the pictures of {other.name}; "
                "choose another folder for the runs"
            )
