"""The process that decodes for another one: ``python -m rankfold.io.child``.

It answers requests that come on its standard input, has a limit on its memory, and ends when its
parent does. See :mod:`rankfold.io.isolated` for the other side.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rankfold.errors import FormatError, InputError, RankfoldError
from rankfold.io import open_pictures
from rankfold.io.metadata import read_metadata
from rankfold.io.pictures import load_picture, picture_header
from rankfold.io.source import Picture, Source
from rankfold.io.wire import message_of, notes_of, packed, unpacked

Request = dict[str, Any]

# Unit: bytes. What decoding may take besides what the process has at its beginning: a picture of
# the largest size as the decoder has it, as we have it, and once more while it is turned.
MEMORY = 4 * 2**30
# Unit: seconds. How often it is looked whether the parent is still there.
LOOK = 1.0


class Reader:
    """The pictures of a file, read on as long as they are asked for in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._items: Iterator[Picture | FormatError] | None = None
        # The picture that these begin with.
        self._next = 0

    def read(self, index: int) -> Picture:
        """Read one picture."""
        # A video is decoded from its beginning: what lies between is on the way.
        is_ahead = self._source.format == "video" and index > self._next
        if self._items is None or not (is_ahead or index == self._next):
            assert self._source.choose is not None
            self._items = self._source.choose(range(index, len(self._source)))
            self._next = index
        for _ in range(index - self._next):
            next(self._items)
        item = next(self._items)
        self._next = index + 1
        if isinstance(item, FormatError):
            raise item
        return item


class Server:
    """What a parent can ask for: the methods in ``actions``, each of which gives a message."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self.actions: dict[str, Callable[[Request], bytes]] = {
            "open": self._open,
            "read": self._read,
            "header": self._header,
            "load": self._load,
            "metadata": self._metadata,
        }

    def answer(self, request: Request) -> bytes:
        """Do what was asked for, or say why it cannot be done."""
        try:
            return self.actions[request["do"]](request)
        except InputError as error:
            return packed({"error": "InputError", "said": str(error)})
        except RankfoldError as error:
            return packed({"error": "FormatError", "said": str(error)})
        except Exception as error:
            why = str(error) or type(error).__name__
            said = f"{request['path']} cannot be read ({why}); replace it, or skip bad pictures"
            return packed({"error": "FormatError", "said": said})

    def _open(self, request: Request) -> bytes:
        """Look at the pictures of a file."""
        options = dict(request["options"])
        if "select" in options:
            options["select"] = tuple(options["select"])
        source = open_pictures(request["path"], isolate=False, **options)
        self._reader = Reader(source)
        return packed(
            {
                "format": source.format,
                "names": source.names,
                "shapes": source.shapes,
                "dtypes": [dtype.str for dtype in source.dtypes],
                "rate": source.rate,
                "left_out": source.left_out,
            }
        )

    def _read(self, request: Request) -> bytes:
        """Read a picture of the file that is open."""
        assert self._reader is not None
        return message_of(self._reader.read(int(request["index"])))

    def _load(self, request: Request) -> bytes:
        """Read a file that is one picture."""
        return message_of(load_picture(request["path"]))

    def _header(self, request: Request) -> bytes:
        """Look at a file that is one picture."""
        shape, dtype = picture_header(request["path"])
        return packed({"shape": shape, "dtype": dtype.str})

    def _metadata(self, request: Request) -> bytes:
        """Read what a file says besides its pixels."""
        return packed(notes_of(read_metadata(request["path"])))


def limit_memory() -> None:
    """Take no more memory than decoding may need, where the system can limit it."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError):
        # Only Linux says how much there is at the beginning; Windows knows no limit at all.
        return
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    # A crash leaves no picture of the memory behind.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def follow_parent() -> None:
    """End this process when its parent has been killed, also while a decoder hangs."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def main() -> None:
    """Answer requests until there are no more."""
    follow_parent()
    # What libraries print goes nowhere: only answers may be where the parent reads.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    # Before memory is limited; they are needed for nearly everything.
    for name in ("av", "PIL.Image", "tifffile"):
        __import__(name)
    limit_memory()
    server = Server()
    while True:
        try:
            request, _ = unpacked(_take)
        except EOFError:
            return
        out.write(server.answer(request))
        out.flush()


def _take(count: int) -> bytes:
    """Read so many bytes of a request."""
    found = sys.stdin.buffer.read(count)
    if len(found) < count:
        raise EOFError
    return found


if __name__ == "__main__":
    main()
