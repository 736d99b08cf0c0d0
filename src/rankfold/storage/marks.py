"""The mark of a folder that rankfold wrote: which of the files in it are ours.

``--overwrite`` replaces a folder only if its mark names every file that is in it, and removes no
other file. A folder without a mark, or with something of the user's in it, is left alone.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rankfold.storage.disk import FILE_RIGHTS, regular, sync, umask
from rankfold.storage.drafts import draft_of, is_dead

MARK = ".rankfold"
FORMAT = "rankfold-folder"
FORMAT_VERSION = 1

# The two files of every result: what can be told in words and numbers, and the arrays.
FACTS = "result.json"
ARRAYS = "arrays.npz"
RESULT = (FACTS, ARRAYS)


def write_mark(folder: Path) -> None:
    """Write down which files are in a folder, all of which are ours."""
    content, _ = _content_of(folder)
    _write(folder, sorted(content))


def adopt(path: Path, begin: bool = False) -> None:
    """Name one more file as ours, in a folder that has a mark, or gets one if it shall ``begin``.

    A draft has none until it is complete.
    """
    ours = files_of(path.parent)
    if ours is None and begin:
        ours = frozenset()
    if ours is not None and path.name not in ours:
        _write(path.parent, sorted({*ours, path.name}))


def is_ours(path: Path) -> bool:
    """Say whether a file is one that rankfold wrote in its folder."""
    ours = files_of(path.parent)
    return ours is not None and path.name in ours


def files_of(folder: Path) -> frozenset[str] | None:
    """The files that are ours in a folder, as paths from there; None without a mark."""
    try:
        mark = json.loads(regular(folder / MARK).read_text(encoding="utf-8"))
        known = mark["format"] == FORMAT and mark["format_version"] == FORMAT_VERSION
        files = frozenset(mark["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not known or not all(isinstance(name, str) and _is_inside(name) for name in files):
        return None
    return files


def has_result(folder: Path) -> bool:
    """Say whether a folder looks like one with a result, also if it has no mark.

    Earlier versions made none, and who copies a folder may leave it behind.
    """
    return all((folder / name).is_file() for name in RESULT)


def strangers_in(folder: Path) -> list[str]:
    """What is in a marked folder that rankfold did not write there, empty folders too."""
    ours = _with_folders(files_of(folder) or frozenset())
    content, closed = _content_of(folder)
    # Of what is in a closed folder nothing is known, whatever it is called.
    return sorted([name for name in content if not _is_known(folder / name, name, ours)] + closed)


def remove_replaced(folder: Path) -> None:
    """Remove a folder that was replaced; what is not ours in it stays.

    One without a mark was empty when it was replaced.
    """
    if files_of(folder) is not None:
        remove_ours(folder)
    else:
        with suppress(OSError):
            folder.rmdir()


def remove_ours(folder: Path) -> None:
    """Remove what is ours of a folder, and the folder too if nothing else is in it.

    A folder without a mark is a draft, of which all is ours.
    """
    ours = files_of(folder)
    if ours is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    # Of what is there, because a name of the mark may lead out of the folder through a link.
    content, _ = _content_of(folder)
    for name in content:
        if _is_known(folder / name, name, ours):
            with suppress(OSError):
                (folder / name).unlink()
    known = _with_folders(ours)
    for place, folders, _ in os.walk(folder, topdown=False):
        for path in (Path(place, name) for name in folders):
            if path.relative_to(folder).as_posix() in known:
                with suppress(OSError):
                    path.rmdir()
    # Last, so that what is left of an interrupted removal can be told from a folder of the user's.
    with suppress(OSError):
        if list(folder.iterdir()) == [folder / MARK]:
            (folder / MARK).unlink()
        folder.rmdir()


def _write(folder: Path, files: list[str]) -> None:
    """Write a mark in the place of an earlier one."""
    mark = {
        "about": "rankfold wrote these files; --overwrite removes them and no others",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "files": files,
    }
    with draft_of(folder / MARK) as draft:
        draft.write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
        # Whoever may read the files may know which they are.
        draft.chmod(FILE_RIGHTS & ~umask())
        sync(draft)
        draft.replace(folder / MARK)


def _is_known(path: Path, name: str, ours: frozenset[str]) -> bool:
    """Whether a file in a folder is ours, or one that a killed process was about to write there."""
    return name in ours or is_dead(path)


def _content_of(folder: Path) -> tuple[list[str], list[str]]:
    """Files, links and empty folders in a folder, but not its mark; and what nobody may look into.

    All are paths from there with slashes.
    """
    found: list[Path] = []
    closed: list[Path] = []

    def note(error: OSError) -> None:
        # One that is gone has nothing in it.
        if not isinstance(error, FileNotFoundError):
            closed.append(Path(error.filename))

    for place, folders, names in os.walk(folder, onerror=note):
        links = [name for name in folders if Path(place, name).is_symlink()]
        found += [Path(place, name) for name in [*names, *links]]
        if not names and not folders and Path(place) != folder:
            found.append(Path(place))
    content = [path.relative_to(folder).as_posix() for path in found if path != folder / MARK]
    return content, [path.relative_to(folder).as_posix() for path in closed]


def _with_folders(ours: frozenset[str]) -> frozenset[str]:
    """Files, and the folders that were made for them."""
    return ours | {str(parent) for name in ours for parent in PurePosixPath(name).parents}


def _is_inside(name: str) -> bool:
    """Whether a path stays in its folder."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
