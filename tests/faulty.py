"""Let a call of the system fail, be interrupted, or be the last one, while files are written.

Every way to change a folder goes through here: opening for writing, writing, syncing, renaming,
making and removing. Of the calls on one folder, the n-th goes wrong.
"""

import builtins
import errno
import io
import os
import signal
import traceback
import warnings
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from rankfold.storage import places

# Calls that take a path first.
ON_PATHS = (
    "chmod",
    "link",
    "mkdir",
    "remove",
    "rename",
    "replace",
    "rmdir",
    "symlink",
    "truncate",
    "unlink",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# Exit code of a process that was killed.
KILLED = 9

# What a disk says when it fails; only calls on paths have others.
OF_DISKS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
OF_PATHS = (*OF_DISKS, errno.EACCES, errno.EPERM, errno.EROFS)

# Ways in which a call goes wrong. "kill": the process ends at once, and what it wrote is there.
# "power": what was not synced is lost too. "full": there is no room any more, from then on.
WAYS = ("error", "full", "interrupt", "kill", "power")


class Faults:
    """Counts the calls on a folder, and lets one of them go wrong.

    Parameters
    ----------
    folder : Path
    at : int
        Which call, from 1; none for 0.
    way : str
        One of WAYS.
    number : int
        Chooses the error.
    exchange : bool
        Whether the system can let two folders change places.
    """

    def __init__(self, folder, at=0, way="error", number=0, exchange=True):
        self.calls = []
        self._folder = os.fspath(folder)
        self._at = at
        self._way = way
        self._number = number
        self._exchange = exchange
        # Files of which not everything is on the disk, by their inodes.
        self._dirty = set()
        self._stack = ExitStack()
        self._open = io.open
        self._os_open = os.open
        self._exchanged = places.exchanged

    def __enter__(self):
        put = self._stack.enter_context
        for name in ON_PATHS:
            put(mock.patch.object(os, name, self._on_path(name, getattr(os, name))))
        put(mock.patch.object(os, "open", self._opened_by_number))
        put(mock.patch.object(os, "fsync", self._synced))
        put(mock.patch.object(io, "open", self._opened))
        put(mock.patch.object(builtins, "open", self._opened))
        put(mock.patch.object(places, "exchanged", self._exchanged_here))
        return self

    def __exit__(self, *error):
        self._stack.close()

    def call(self, name, has_path=True, half=None):
        """A call is about to be made; ``half`` does half of it."""
        self.calls.append(name)
        due = len(self.calls) == self._at
        if self._way == "full" and name in ("write", "open", "mkdir", "fsync"):
            due = 0 < self._at <= len(self.calls)
        if not due:
            return
        if half is not None:
            half()
        if self._way in ("kill", "power"):
            self._end()
        elif self._way == "interrupt":
            signal.raise_signal(signal.SIGINT)
        else:
            known = OF_PATHS if has_path else OF_DISKS
            number = errno.ENOSPC if self._way == "full" else known[self._number % len(known)]
            raise OSError(number, os.strerror(number), *([self._folder] if has_path else []))

    def _end(self):
        """End this process; of what was not synced, one half is on the disk."""
        if self._way == "power":
            for place, _, names in os.walk(self._folder):
                for name in names:
                    path = Path(place, name)
                    status = path.lstat()
                    if status.st_ino in self._dirty:
                        os.ftruncate(self._os_open(path, os.O_RDWR), status.st_size // 2)
        os._exit(KILLED)

    def _is_here(self, path, named=None):
        """Whether a call is about something in the folder."""
        if (named or {}).get("dir_fd") is not None:
            return True
        if isinstance(path, int):
            return False
        # Path.resolve would follow links, and look at the disk.
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        return whole.startswith(self._folder)

    def _on_path(self, name, function):
        def called(path, *given, **named):
            if self._is_here(path, named):
                self.call(name)
            return function(path, *given, **named)

        return called

    def _opened_by_number(self, path, flags, *given, **named):
        if flags & WRITING and self._is_here(path, named):
            self.call("open")
        return self._os_open(path, flags, *given, **named)

    def _synced(self, handle):
        """Nothing waits for the disk here: a process that ends loses nothing."""
        self.call("fsync", has_path=False)
        self._dirty.discard(os.fstat(handle).st_ino)

    def _exchanged_here(self, one, other):
        if not self._exchange:
            return False
        try:
            self.call("exchange")
        except OSError:
            # What the system cannot do is done in two steps.
            return False
        return self._exchanged(one, other)

    def _opened(self, file, mode="r", buffering=-1, encoding=None, errors=None, newline=None,
                closefd=True, opener=None):  # fmt: skip
        """As ``open``, but that each write is a call."""
        if not set(mode) & set("wax+") or not self._is_here(file):
            return self._open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        self.call("open")
        raw = _Raw(self, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        self._dirty.add(os.fstat(raw.fileno()).st_ino)
        if buffering == 0:
            return raw
        buffered = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
        if "b" in mode:
            return buffered
        text = io.TextIOWrapper(buffered, encoding, errors, newline)
        text.mode = mode
        return text

    def wrote(self, handle):
        """A file has content that is not on the disk."""
        self._dirty.add(os.fstat(handle).st_ino)


class _Raw(io.FileIO):
    """A file whose writes are calls."""

    def __init__(self, faults, file, mode, closefd, opener):
        super().__init__(file, mode, closefd, opener)
        self._faults = faults

    def write(self, data):
        view = memoryview(data)
        half = view[: len(view) // 2]
        self._faults.call("write", False, lambda: super(_Raw, self).write(half))
        self._faults.wrote(self.fileno())
        return super().write(data)


def in_child(work):
    """Do something in a child of this process; what it returned, as text, or None if it was killed.

    An exception of the child is raised here, as an AssertionError with its traceback.
    """
    ear, mouth = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, of which the child makes no use.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _be_child(work, mouth)
    os.close(mouth)
    with os.fdopen(ear, "rb") as heard:
        said = heard.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == KILLED:
        return None
    assert code == 0, f"the child ended with {code}:\n{said}"
    return said


def _be_child(work, mouth):
    """Do the work of a child, say what came of it, and end."""
    code = 1
    said = ""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        said = str(work())
        code = 0
    except BaseException:
        said = traceback.format_exc()
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.write(mouth, said.encode(errors="replace")[-60_000:])
            os._exit(code)


def names_in(folder):
    """What is in a folder, by name."""
    return {path.name for path in Path(folder).iterdir()}
