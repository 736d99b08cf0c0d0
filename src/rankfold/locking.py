"""A lock file says that a process is at work; the system lets go of it when the process ends.

A process that is killed therefore leaves a file, but no lock. Where the system has no ``flock``
(Windows, some network file systems), nothing is ever held.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rankfold.errors import WriteError
from rankfold.interruptions import uninterrupted

try:
    import fcntl
except ImportError:
    # Windows has none.
    fcntl = None  # type: ignore[assignment]


# What is written into a lock file begins so. A file with anything else in it is somebody else's.
HOLDER = "process "

# Whoever only asks whether a lock is held is in its way for a moment. So often one that is taken is
# asked for again, first after so many seconds, then after twice as many each time.
TRIES = 6
PAUSE = 0.01


class Lock:
    """A lock that this process holds until the end of a ``with`` block, which removes its file.

    ``stays`` keeps the file, without a lock on it.
    """

    def __init__(self, path: Path, file: IO[str], stays: bool = False) -> None:
        self._path = path
        self._file = file
        self._stays = stays

    def __enter__(self) -> Lock:
        """Write down who holds it, for the sentence that somebody else gets."""
        holder = f"{HOLDER}{os.getpid()} on {platform.node()}"
        try:
            # It is locked all the same on a disk that is full.
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), 0)
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
                os.write(self._file.fileno(), holder.encode())
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Release it."""
        try:
            self.release()
        except BaseException:
            # It was interrupted before it had begun; that does not happen twice.
            self.release()
            raise

    def release(self) -> None:
        """Remove the file while it is held, so that nobody finds one that is about to go."""
        with uninterrupted():
            if self._file.closed:
                return
            # A file that stays for another reason is no lock any more once it is closed.
            with self._file, suppress(OSError):
                if not self._stays:
                    self._path.unlink(missing_ok=True)


def take(path: Path, stays: bool = False) -> Lock | None:
    """Lock a file, which is made if it is not there; None if somebody else holds it."""
    lock = None
    try:
        # A file that was made for an interrupted caller would stay.
        with uninterrupted():
            lock = _take(path, stays)
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return lock


def _take(path: Path, stays: bool) -> Lock | None:
    """Lock a file."""
    pauses = [PAUSE * 2**k for k in range(TRIES - 1)]
    while True:
        file = _opened(path, os.O_RDWR | os.O_CREAT)
        if not _lock(file):
            file.close()
            if not pauses:
                return None
            time.sleep(pauses.pop(0))
            continue
        # Its last holder may have removed it between the two steps above.
        if not _is_still(path, file):
            file.close()
            continue
        if _names_holder(file):
            return Lock(path, file, stays)
        file.close()
        raise _not_a_lock(path)


def is_held(path: Path) -> bool:
    """Say whether a living process holds a lock file; False if it is not there."""
    try:
        if fcntl is None or path.is_symlink() or not path.is_file():
            return False
        file = _opened(path, os.O_RDONLY)
    except OSError:
        # A file that may not be opened is somebody else's, and nothing is to be done with it.
        return True
    # Several may ask at a time.
    with file:
        return not _lock(file, shared=True)


def is_lock(path: Path) -> bool:
    """Whether something is a lock file, held or not, and not only called like one."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            return _names_holder(file)
    except OSError:
        return False


def remove_unheld(path: Path) -> bool:
    """Remove a file on which nobody has a lock; False if somebody has, or it cannot go."""
    with suppress(OSError), _opened(path, os.O_RDONLY) as file:
        if _lock(file) and _is_still(path, file):
            path.unlink()
    return not os.path.lexists(path)


def _opened(path: Path, flags: int) -> IO[str]:
    """Open a regular file; a link is an error and never followed, because it leads elsewhere."""
    # Neither of the two is known on Windows. A pipe would wait for whoever is at its other end.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _not_a_lock(path) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_a_lock(path)
    return os.fdopen(handle, "r+" if flags & os.O_RDWR else "r", encoding="utf-8")


def _not_a_lock(path: Path) -> WriteError:
    """Say that something else has the name of a lock."""
    return WriteError(f"{path} is there, and is no lock of rankfold; move it away")


def _names_holder(file: IO[str]) -> bool:
    """Whether what an open file holds was written by whoever locked it, if anything."""
    # A full disk may have cut it.
    return HOLDER.startswith(os.read(file.fileno(), len(HOLDER)).decode(errors="replace"))


def _is_still(path: Path, file: IO[str]) -> bool:
    """Whether an open file still has its name."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


@contextmanager
def held(handle: int) -> Iterator[None]:
    """Lock an open file that nobody else knows, and close it at the end."""
    if fcntl is None:
        # Windows gives no file another name while it is open.
        os.close(handle)
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def holder_of(path: Path) -> str:
    """Say who holds a lock file, as its holder wrote it."""
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"


def _lock(file: IO[str], shared: bool = False) -> bool:
    """Lock an open file until it is closed; False if somebody else has.

    Several may have a ``shared`` lock at a time, but not beside one that is not.
    """
    if fcntl is None:
        return True
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nobody can hold anything there.
        return True
    return True
