"""What is asked of the disk: files that stay after a power cut, and folders that change places."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from pathlib import Path

from rankfold.interruptions import uninterrupted

# What the system reports if there is no room for a file.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Of files and folders, before the mask of the process is applied.
FILE_RIGHTS = 0o666
FOLDER_RIGHTS = 0o777

# What it reports of a disk that fails.
BROKEN = (errno.EIO, errno.EROFS)

# Of Linux's renameat2: paths are relative to the working folder, and both names change places.
AT_FDCWD = -100
RENAME_EXCHANGE = 2


# The mask belongs to the process: one thread at a time may look at it.
_LOOKING = threading.Lock()


def umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    with uninterrupted(), _LOOKING:
        # What another thread makes in between is not open to everybody.
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def regular(path: Path) -> Path:
    """Return the path of a file, and refuse whatever else is there, as a pipe that never ends."""
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "there is no such file", str(path))
    return path


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    if path.is_dir() and os.name != "posix":
        # Windows cannot open folders, and writes their names at once.
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(folder: Path) -> None:
    """Wait until everything in a folder is on the disk."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync(Path(place, name))
        sync(Path(place))


def exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot.

    Nobody ever sees either place empty, not even after a power cut.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        # Only Linux has it.
        return False
    done = renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    return bool(done == 0)
