"""What killed runs leave behind: found by its name, never kept or removed without a word.

A run in the making has a draft beside its place, a lock, and, if it is an alignment, the folder
``NAME.unfinished`` with what it needs to go on. A process that is killed leaves all of it, but the
system lets go of its lock, and so a leftover is told from a run that is alive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rankfold.align.checkpoints import LOCK as CHECKPOINT_LOCK
from rankfold.align.checkpoints import has_head, is_checkpoint, remove_checkpoint
from rankfold.locking import is_held, is_lock, remove_unheld, take
from rankfold.storage import (
    DRAFT,
    DRAFT_FILE,
    INSIDE,
    LOCK,
    RANDOM,
    REPLACED,
    lock_of,
    remove_ours,
    restore_interrupted,
)

# The checkpoint of a run is beside it, under its name and this.
UNFINISHED = ".unfinished"


def unfinished(run: str | Path) -> Path:
    """Name the folder with what an interrupted run needs to go on."""
    place = Path(run)
    return place.with_name(place.name + UNFINISHED)


def can_go_on(run: str | Path) -> bool:
    """Say whether there is something from which an interrupted run can go on."""
    return has_head(unfinished(run))


@dataclass(frozen=True)
class Kind:
    """A row of KINDS."""

    name: str
    # What it is, for sentences.
    sentence: str
    # Of the names of such files; its groups are the name of the run, or of another file.
    pattern: re.Pattern[str]
    # Whether something with such a name is what it looks like, if it is no link.
    is_ours: Callable[[Path], bool] = Path.is_dir

    def made_by(self, path: Path) -> Path | None:
        """What was being made when something was left; None if it is not of this kind."""
        match = self.pattern.fullmatch(path.name)
        if match is None or path.is_symlink() or not self.is_ours(path):
            return None
        name = "".join(match.groups(""))
        if name:
            return path.with_name(name)
        # The lock of many runs is in their folder, and the working folder has no short name.
        return path.parent if path.parent.name else path.parent.resolve()


def _is_unfinished(path: Path) -> bool:
    """Whether a folder is a checkpoint; an empty one was killed before it was more than that."""
    try:
        return path.is_dir() and (is_checkpoint(path) or not any(path.iterdir()))
    except OSError:
        # Its run has ended in this moment, or it is a folder of somebody else.
        return False


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("draft", "a draft", re.compile(rf"\.(.+){RANDOM}{re.escape(DRAFT)}")),
        Kind(
            "replaced",
            "the folder that was being replaced",
            re.compile(rf"\.(.+){RANDOM}{re.escape(REPLACED)}"),
        ),
        Kind(
            "unfinished",
            "what the run needs to go on",
            re.compile(rf"(.+){re.escape(UNFINISHED)}"),
            _is_unfinished,
        ),
        Kind("file", "a file that was being written", DRAFT_FILE, Path.is_file),
        Kind("lock", "a lock", re.compile(rf"(?:\.(.+))?{re.escape(LOCK)}"), is_lock),
    )
}
"""What a killed run may leave, by name."""


@dataclass(frozen=True)
class Leftover:
    """Something that a killed run left.

    Attributes
    ----------
    path : Path
    kind : str
        A row of KINDS.
    run : Path
        The run folder, or the file, that was being made.
    """

    path: Path
    kind: str
    run: Path

    @property
    def sentence(self) -> str:
        """What it is and how to be rid of it."""
        return (
            f"leftover of a run that was killed: {self.path.name} ({KINDS[self.kind].sentence}); "
            f"`rankfold clean {self.run}` {'puts it back or ' if self._may_go_back else ''}"
            "removes it"
        )

    @property
    def _may_go_back(self) -> bool:
        """Whether it holds an earlier run whose place is empty."""
        return self.kind == "replaced" and (self.path / INSIDE).exists() and not self.run.exists()

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(_size_of(one) for one in (self.path, *self.path.rglob("*")))

    @property
    def is_in_use(self) -> bool:
        """Whether a living process needs it."""
        locks = (lock_of(self.run), self.path / CHECKPOINT_LOCK, self.path)
        return any(is_held(lock) for lock in locks)


def _size_of(file: Path) -> int:
    """Bytes of a file; none if it is another thing, has gone, or nobody may look at it."""
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


@dataclass(frozen=True)
class Cleaned:
    """What became of a leftover.

    Attributes
    ----------
    leftover : Leftover
    size : int
        Bytes that it had.
    put_back : bool
        True for an earlier run that has its place again, because a run that was to replace it was
        killed in the moment between.
    stays : bool
        True if it could not be removed, or put back.
    """

    leftover: Leftover
    size: int
    put_back: bool
    stays: bool = False

    @property
    def sentence(self) -> str:
        """What became of it, in plain English."""
        if self.stays:
            done = "put back" if self.put_back else "removed"
            return (
                f"could not be {done}: {self.leftover.path}; see what is in it, and whether you "
                "may write there"
            )
        if self.put_back:
            return f"put back: {self.leftover.run}, which a killed run was about to replace"
        what = KINDS[self.leftover.kind].sentence
        return f"removed: {self.leftover.path} ({what}, {self.size:,} bytes)"

    def as_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "path": str(self.leftover.path),
            "kind": self.leftover.kind,
            "run": str(self.leftover.run),
            "bytes": self.size,
            "put_back": self.put_back,
            "stays": self.stays,
        }


def leftovers(place: str | Path) -> list[Leftover]:
    """List what killed runs have left.

    Parameters
    ----------
    place : str or Path
        A run folder, which need not be there: what its own runs left. A checkpoint: itself. Any
        other folder: what runs in it left.

    Returns
    -------
    list of Leftover
        Nothing that a living process needs.
    """
    folder = Path(place)
    if is_checkpoint(folder):
        return [one for one in (_as_checkpoint(folder),) if not one.is_in_use]
    found = [one for one in _in_folder(folder.parent) if one.run.name == folder.name]
    if folder.is_dir():
        found += _in_folder(folder)
    return [one for one in found if not one.is_in_use]


def clean(place: str | Path, plan: bool = False) -> list[Cleaned]:
    """Remove what killed runs have left.

    A run that was to be replaced is put back where its place is empty.

    Parameters
    ----------
    place : str or Path
        As in :func:`leftovers`.
    plan : bool
        Only say what would be done.

    Returns
    -------
    list of Cleaned
    """
    outcomes = [Cleaned(one, one.size, one._may_go_back) for one in leftovers(place)]
    if plan:
        return outcomes
    ended = []
    for one in outcomes:
        if _remove(one.leftover):
            ended.append(one)
        elif os.path.lexists(one.leftover.path) and not one.leftover.is_in_use:
            # Neither has somebody else removed it, nor does a run need it that began meanwhile.
            ended.append(replace(one, stays=True))
    return ended


def _as_checkpoint(folder: Path) -> Leftover:
    """A checkpoint, of a run or of a call from Python."""
    match = KINDS["unfinished"].pattern.fullmatch(folder.name)
    run = folder if match is None else folder.with_name(match[1])
    return Leftover(folder, "unfinished", run)


def _in_folder(folder: Path) -> Iterator[Leftover]:
    """What looks like a leftover in a folder, by name."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        for kind in KINDS.values():
            made = kind.made_by(path)
            if made is not None:
                yield Leftover(path, kind.name, made)


def _remove(one: Leftover) -> bool:
    """Remove a leftover, or put it back; False if somebody needs it now, or it cannot go."""
    try:
        return _removed(one)
    except OSError:
        return False


def _removed(one: Leftover) -> bool:
    """Remove a leftover, or put it back, as far as the system lets us."""
    if one.path.is_file():
        return remove_unheld(one.path)
    lock = take(lock_of(one.run))
    if lock is None:
        return False
    # While the lock is held, no run can begin there. Its own file goes with it.
    with lock:
        if one.kind == "replaced":
            restore_interrupted(one.run)
        elif one.kind == "unfinished":
            remove_checkpoint(one.path)
        elif one.kind == "draft":
            remove_ours(one.path)
    # What else is in the folder of a checkpoint stays.
    is_other = one.kind == "unfinished" and not is_checkpoint(one.path)
    return is_other or not one.path.exists()
