"""A lock file says that a process is at work; the system lets go of it when the process ends.

A process that is killed therefore leaves a file, but no lock. Where the system has no ``flock``
(Windows, some network file systems), nothing is ever held.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:
    # Windows has none.
    fcntl = None  # type: ignore[assignment]


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
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {platform.node()}")
        self._file.flush()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the file while it is held, so that nobody finds one that is about to go."""
        if not self._stays:
            self._path.unlink(missing_ok=True)
        self._file.close()


def take(path: Path, stays: bool = False) -> Lock | None:
    """Lock a file, which is made if it is not there; None if somebody else holds it."""
    while True:
        file = path.open("a+", encoding="utf-8")
        if not _lock(file):
            file.close()
            return None
        # Its last holder may have removed it between the two steps above.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return Lock(path, file, stays)
        file.close()


def is_held(path: Path) -> bool:
    """Say whether a living process holds a lock file; False if it is not there."""
    if fcntl is None or not path.is_file():
        return False
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError:
        # A file that may not be opened is somebody else's, and nothing is to be done with it.
        return True
    with file:
        return not _lock(file)


def holder_of(path: Path) -> str:
    """Say who holds a lock file, as its holder wrote it."""
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"


def _lock(file: IO[str]) -> bool:
    """Lock an open file until it is closed; False if somebody else has."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nobody can hold anything there.
        return True
    return True
