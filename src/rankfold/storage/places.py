"""Files and folders that appear whole or not at all, and replace only what is ours.

A folder is filled beside its place, written to the disk, and then put there in one step. Who reads
the place at any moment, also after a kill or a power cut, finds the old folder or the new one.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rankfold.arguments import path_of
from rankfold.errors import InputError, RankfoldError, WriteError
from rankfold.interruptions import SIGNALS, Terminated, uninterrupted
from rankfold.locking import holder_of, take
from rankfold.storage.disk import (
    BROKEN,
    FILE_RIGHTS,
    FOLDER_RIGHTS,
    NO_SPACE,
    exchanged,
    sync,
    sync_all,
    umask,
)
from rankfold.storage.drafts import DRAFT, RANDOM, draft_of
from rankfold.storage.marks import (
    MARK,
    adopt,
    files_of,
    has_result,
    is_ours,
    remove_ours,
    remove_replaced,
    strangers_in,
    write_mark,
)

# What is beside the place of a folder NAME while it is made, by the end of its name: the draft and
# the folder that it replaces (.NAME-xxxxxxxx and this), and the lock of who makes it (.NAME and
# this). A process that is killed leaves them; ``rankfold clean`` removes them.
REPLACED = ".rankfold-old"
LOCK = ".rankfold-lock"

# What the folder that is replaced is called inside its temporary place.
INSIDE = "it"

# What NumPy and Pillow say, without a number of the system, where not all could be written.
NOT_ALL = re.compile(r"requested and \d+ written|encoder error")

# Of strange files, so many are named.
NAMED = 3


@contextmanager
def whole_or_nothing(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a folder to fill, which appears at ``path`` if the block ends well, else not at all.

    It is filled beside its place. Meanwhile nobody else can make a folder there.

    Parameters
    ----------
    path : str or Path
        Where the folder will be.
    overwrite : bool
        Replace a folder that rankfold wrote, at the very end. Nothing else is ever replaced, and
        a folder in which there is something else neither.
    """
    target = Path(path_of("path", path))
    _check_place(target, overwrite)
    with _alone(target):
        restore_interrupted(target)
        # Whoever held the lock a moment ago may have put something there.
        _check_place(target, overwrite)
        with _draft_beside(target) as draft, _naming(target):
            yield draft
            write_mark(draft)
            # A temporary folder is private to its user; a result has the rights of other folders.
            draft.chmod(FOLDER_RIGHTS & ~umask())
            sync_all(draft)
            _put_in_place(draft, target, overwrite)


@contextmanager
def whole_file(
    path: str | Path, overwrite: bool = False, ours: bool = False, begin: bool = False
) -> Iterator[Path]:
    """Give a file to write, which appears at ``path`` if the block ends well, else not at all.

    Parameters
    ----------
    path : str or Path
        Where the file will be. The one to write is beside it and has the same ending.
    overwrite : bool
        Replace a file that is there; a link is replaced too, and not what it leads to.
    ours : bool
        It is one of our own files in a folder that rankfold wrote, and replaces only that. Else a
        file that is a part of such a folder is never replaced.
    begin : bool
        Its folder becomes one that rankfold wrote, if it is none yet.
    """
    target = Path(path_of("path", path))
    if ours:
        check_ours(target)
    else:
        check_free(target, overwrite)
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = stack.enter_context(draft_of(target))
        except OSError as error:
            raise _not_writable(target, error) from error
        with _naming(target):
            yield draft
            draft.chmod(FILE_RIGHTS & ~umask())
            sync(draft)
            if ours:
                # First, because a file that nobody knows as ours could never be replaced.
                adopt(target, begin)
            with uninterrupted():
                draft.replace(target)
                SIGNALS.written.append(str(target))
            sync(target.parent)


def check_free(path: str | Path, overwrite: bool) -> None:
    """Refuse a place for a file where a folder is, or a file that is not to be replaced."""
    target = Path(path_of("path", path))
    _check_no_folder(target)
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise InputError(
            f"{target} exists already; choose another name, or replace it with overwrite=True"
        )
    # Links on the way are followed; one in the place itself will be replaced.
    place = Path(os.path.realpath(target.parent), target.name)
    for folder in place.parents:
        ours = files_of(folder)
        without_mark = ours is None and has_result(folder)
        is_ours_there = ours is not None and place.relative_to(folder).as_posix() in {*ours, MARK}
        if without_mark or is_ours_there:
            raise InputError(
                f"{target} is one of the files that rankfold wrote in {folder}; choose another name"
            )


def check_ours(target: Path) -> None:
    """Refuse to replace a file of a folder that is there and not one of ours."""
    _check_no_folder(target)
    if os.path.lexists(target) and not is_ours(target):
        raise InputError(
            f"{target} was not written by this version of rankfold and is not replaced; "
            "move it away"
        )


def _check_no_folder(target: Path) -> None:
    """Refuse a folder where a file is to be."""
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file")


def lock_of(target: Path) -> Path:
    """Name the lock of whoever makes a folder."""
    return target.with_name(f".{target.name}{LOCK}")


def restore_if_gone(target: Path) -> None:
    """Put back a folder whose place is empty because its replacement was interrupted."""
    if os.path.lexists(target) or not list(_set_aside(target)):
        return
    lock = take(lock_of(target))
    if lock is None:
        # Whoever replaces it is alive, and will put one of the two there.
        return
    with lock:
        restore_interrupted(target)


def restore_interrupted(target: Path) -> None:
    """Undo or complete what an interrupted process began; the lock must be held."""
    for aside in _set_aside(target):
        older = aside / INSIDE
        if older.is_dir() and not os.path.lexists(target):
            older.rename(target)
        elif older.is_dir():
            remove_replaced(older)
        if not any(aside.iterdir()):
            aside.rmdir()


def _set_aside(target: Path) -> Iterator[Path]:
    """The places of folders that were being replaced."""
    pattern = re.compile(re.escape(f".{target.name}") + RANDOM + re.escape(REPLACED))
    if target.parent.is_dir():
        for path in sorted(target.parent.iterdir()):
            if pattern.fullmatch(path.name) and path.is_dir():
                yield path


@contextmanager
def _draft_beside(target: Path) -> Iterator[Path]:
    """Give an empty folder beside the target, which is removed if the block does not end well."""
    draft = None
    try:
        # Whatever interrupts this comes when it is known what has to be removed.
        with uninterrupted():
            draft = _make_draft(target)
        yield draft
    except BaseException:
        if draft is not None and draft.is_dir():
            # Once it has changed places, it is the older folder.
            with uninterrupted():
                remove_ours(draft)
        raise


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Say what could not be written, and why, where the system says only why."""
    try:
        yield
    except RankfoldError:
        raise
    except OSError as error:
        if error.errno in NO_SPACE:
            raise WriteError(
                f"no space is left to write {target}; make room or choose another disk"
            ) from error
        if error.errno is None and NOT_ALL.search(str(error)):
            raise WriteError(
                f"{target} could not be written ({error}); make room or choose another disk"
            ) from error
        if error.errno not in BROKEN or error.filename is not None:
            raise
        raise WriteError(
            f"{target} could not be written ({error.strerror}); try again, or choose another disk"
        ) from error


def _check_place(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but an empty folder or one of which all is ours."""
    if target.name in ("", ".."):
        raise InputError(f"{target} says where, but not the name of a folder to write; add one")
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise InputError(
            f"{target} exists already; choose another name, or replace it with overwrite=True"
        )
    if target.is_symlink():
        raise InputError(f"{target} is a link, which is not replaced; name the folder itself")
    if target.is_mount():
        raise InputError(
            f"{target} is where a disk is mounted, which is not replaced; name a folder in it"
        )
    if not target.is_dir() or (files_of(target) is None and any(target.iterdir())):
        raise InputError(
            f"{target} was not written by this version of rankfold and is not replaced; "
            "choose another name or remove it yourself"
        )
    strangers = strangers_in(target)
    if strangers:
        some = ", ".join(strangers[:NAMED]) + (" and more" if len(strangers) > NAMED else "")
        raise InputError(
            f"{target} has something in it that rankfold did not write there ({some}) and is not "
            "replaced; move that away or choose another name"
        )


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the lock of a folder, and refuse to make it where somebody else does."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = take(lock_of(target))
    except WriteError:
        raise
    except OSError as error:
        raise _not_writable(target, error) from error
    if lock is None:
        raise InputError(
            f"{target} is being written by another rankfold ({holder_of(lock_of(target))}); "
            "wait until it has ended, or choose another name"
        )
    with lock:
        yield


def _make_draft(target: Path) -> Path:
    """Make an empty folder with a temporary name beside the target."""
    try:
        return Path(tempfile.mkdtemp(DRAFT, f".{target.name}-", target.parent))
    except OSError as error:
        raise _not_writable(target, error) from error


def _not_writable(target: Path, error: OSError) -> WriteError:
    """Say that nothing can be made beside the target."""
    return WriteError(
        f"{target} cannot be written ({error.strerror}); choose a folder that you may write to"
    )


def _put_in_place(draft: Path, target: Path, overwrite: bool) -> None:
    """Give a complete draft its name, or another one if something appeared there meanwhile."""
    place = target
    in_the_way = ""
    try:
        _check_place(target, overwrite)
    except InputError as error:
        place = _free_name(target)
        in_the_way = str(error)
    try:
        # Between two names a folder could not be found under either.
        with uninterrupted():
            if overwrite and place.exists():
                _swap(draft, place)
            else:
                place = _named(draft, place)
            SIGNALS.written.append(str(place))
            sync(place.parent)
    except (KeyboardInterrupt, Terminated) as error:
        # It was put off until here.
        error.add_note(f"{place} was written.")
        raise
    if place != target:
        in_the_way = in_the_way or f"{target} was made by somebody else"
        raise WriteError(f"while this was computed: {in_the_way}; the result is in {place}")


def _named(draft: Path, place: Path) -> Path:
    """Give a draft its name, or another one if somebody has taken it a moment ago."""
    try:
        draft.rename(place)
    except OSError:
        if not os.path.lexists(place):
            raise
        place = _free_name(place)
        draft.rename(place)
    return place


def _swap(draft: Path, target: Path) -> None:
    """Put the draft in the place of an older folder, which goes when the new one is there."""
    if exchanged(draft, target):
        sync(target.parent)
        remove_replaced(draft)
        if strangers_in(draft):
            # Somebody has put them there a moment ago: they get a place that is seen.
            draft.rename(_free_name(target))
        return
    aside = Path(tempfile.mkdtemp(REPLACED, f".{target.name}-", target.parent))
    older = aside / INSIDE
    try:
        target.rename(older)
        draft.rename(target)
    except BaseException:
        # Also where putting it back fails, nothing is removed: the next start tries again.
        restore_interrupted(target)
        raise
    sync(target.parent)
    restore_interrupted(target)


def _free_name(target: Path) -> Path:
    """The first of NAME-2, NAME-3 and so on that is not taken."""
    names = (target.with_name(f"{target.name}-{k}") for k in range(2, 10_000))
    return next(name for name in names if not os.path.lexists(name))
