"""Decode in a process of its own, with limits on memory and time: a bad file costs that file.

Decoders are millions of lines of C that read what strangers wrote. A file that makes one of them
crash, hang or fill the memory ends a child process here, is named, and the next one is read.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from rankfold.errors import FormatError, InputError, RankfoldError
from rankfold.io.budgets import check_count
from rankfold.io.decoding import HERE, Decoder, Header
from rankfold.io.guard import or_error, reading
from rankfold.io.metadata import Metadata
from rankfold.io.source import Picture, Source
from rankfold.io.wire import kind_of, metadata_of, packed, picture_of, unpacked

T = TypeVar("T")
Answer = dict[str, Any]
Take = Callable[[int], bytes]

# Unit: seconds. What a request may take: for any file, and for every MiB that it has.
PATIENCE = 30.0
PATIENCE_FOR_A_MIB = 1.0
# Unit: seconds. How long a child that was ended may take to be gone.
FAREWELL = 5.0
# Unit: bytes. Read from the child at a time.
PIECE = 2**20

# -P keeps Python from importing what lies in the working folder, which may be the stranger's.
COMMAND = ("-P", "-m", "rankfold.io.child")

# The errors that a child may report.
ERRORS = {"FormatError": FormatError, "InputError": InputError}


class _GoneError(Exception):
    """The child has not answered."""


class Child:
    """A process that decodes. It begins when it is needed, and again after it has failed.

    Parameters
    ----------
    patience : function of a path
        How long (s) a request may take.

    Attributes
    ----------
    run : int
        Which process it is; what an earlier one had open must be opened again.
    """

    def __init__(self, patience: Callable[[str], float]) -> None:
        self.run = 0
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    @property
    def is_idle(self) -> bool:
        """Whether there is no process."""
        return self._process is None

    def ask(self, path: str, do: str, **words: Any) -> Answer:
        """Ask for a text."""

        def finish(answer: Answer, following: int, _: Take) -> Answer:
            if following:
                raise ValueError("nothing was to follow")
            return answer

        return self._exchange(path, {"path": path, "do": do, **words}, finish)

    def picture(self, path: str, do: str, **words: Any) -> Picture:
        """Ask for a picture."""

        def finish(head: Answer, following: int, take: Take) -> Picture:
            return picture_of(head, following, take, path)

        return self._exchange(path, {"path": path, "do": do, **words}, finish)

    def _exchange(
        self, path: str, request: Mapping[str, Any], finish: Callable[[Answer, int, Take], T]
    ) -> T:
        """Send a request, and read its answer; a child that does anything else is ended."""
        patience = self._patience(path)
        with self._lock:
            process = self._running()
            # Not from before: another thread may have had the process.
            until = time.monotonic() + patience
            take = partial(_take, process, until)
            try:
                _send(process, request)
                answer, following = unpacked(take)
                reported = answer.get("error")
                if reported is None:
                    return finish(answer, following, take)
                error = ERRORS[reported](str(answer["said"]))
            except BaseException as trouble:
                # What it would still send belongs to nothing; Ctrl-C may come at any moment.
                self._end()
                if not isinstance(trouble, Exception) or isinstance(trouble, RankfoldError):
                    raise
                is_gone = isinstance(trouble, _GoneError)
                why = str(trouble) if is_gone else "its decoder did not send a picture"
                raise FormatError(
                    f"{path} cannot be read ({why}); replace it, or skip bad pictures"
                ) from trouble
        try:
            raise error
        finally:
            # An error knows this frame, which knows the process; by this name it would keep both.
            del error

    def _running(self) -> subprocess.Popen[bytes]:
        """The process, which begins now if there is none."""
        if self._process is None:
            self._process = _begun()
            self.run += 1
            weakref.finalize(self, _finish, self._process)
        return self._process

    def _end(self) -> None:
        """End the process."""
        if self._process is not None:
            _finish(self._process)
            self._process = None


def _begun() -> subprocess.Popen[bytes]:
    """Begin a process that decodes."""
    try:
        return subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Decoding needs no threads for linear algebra, which would take address space.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            # Ctrl-C is for the parent, which ends its child.
            start_new_session=True,
        )
    except OSError as error:
        # A program that has Python inside of it may have none to begin.
        raise InputError(
            f"no process for decoding can be begun ({error.strerror}: {sys.executable!r}); use "
            "isolate=False if you trust the files"
        ) from error


def _send(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    """Send a request."""
    assert process.stdin is not None
    try:
        process.stdin.write(packed(request))
        process.stdin.flush()
    except OSError as error:
        raise _GoneError(_how_it_ended(process)) from error


def _take(process: subprocess.Popen[bytes], until: float, count: int) -> bytes:
    """Read so many bytes of an answer."""
    assert process.stdout is not None
    found = bytearray()
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        while len(found) < count:
            left = until - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise _GoneError("it takes too long to decode")
            # Not buffered: what is read here is all that has been read.
            piece = os.read(process.stdout.fileno(), min(count - len(found), PIECE))
            if not piece:
                raise _GoneError(_how_it_ended(process))
            found += piece
    return bytes(found)


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    """Say what became of a child."""
    try:
        code = process.wait(FAREWELL)
    except subprocess.TimeoutExpired:
        return "its decoder does not answer"
    if code < 0:
        return f"its decoder crashed: {signal.Signals(-code).name}"
    return "its decoder ended"


def _finish(process: subprocess.Popen[bytes]) -> None:
    """End a process, and wait until it is gone."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                # Something was still to be sent.
                continue
    process.wait()


def patience_for(path: str) -> float:
    """How long (s) it may take to read something of a file, or of a folder that is one."""
    place = Path(path)
    try:
        files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
        size = sum(one.stat().st_size for one in files)
    except OSError:
        size = 0
    return PATIENCE + PATIENCE_FOR_A_MIB * size / 2**20


def isolated_decoder() -> Decoder:
    """Return what reads single pictures in a child process."""
    child = Child(patience_for)

    def header(path: Path) -> Header:
        answer = child.ask(str(path), "header")
        with reading(path, "read as a picture", "replace it, or skip bad pictures"):
            return kind_of(answer["shape"], answer["dtype"], str(path))

    def load(path: Path) -> Picture:
        return child.picture(str(path), "load")

    def metadata(path: Path) -> Metadata:
        answer = child.ask(str(path), "metadata")
        with reading(path, "read as a picture", "replace it, or skip bad pictures"):
            return metadata_of(answer)

    return Decoder(header, load, metadata)


def decoder_for(isolate: bool) -> Decoder:
    """Return what reads single pictures: in a child process, or here."""
    return isolated_decoder() if isolate else HERE


def open_isolated(path: str, **options: Any) -> Source:
    """Open one file of several pictures in a child process.

    Parameters
    ----------
    path : str
    **options
        As for :func:`rankfold.io.open_pictures`.
    """
    # A folder of many chunks is not looked through for every picture.
    seconds = patience_for(path)
    child = Child(lambda _: seconds)
    answer = child.ask(path, "open", options=options)
    # The process in which the file is open.
    opened_in = child.run

    def picture(index: int) -> Picture:
        nonlocal opened_in
        if child.run != opened_in or child.is_idle:
            child.ask(path, "open", options=options)
            opened_in = child.run
        return child.picture(path, "read", index=index)

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        for index in indices:
            yield or_error(picture, index)

    with reading(path, "read", "replace it"):
        names = tuple(str(name) for name in answer["names"])
        check_count(path, len(names))
        kinds = [
            kind_of(shape, dtype, path)
            for shape, dtype in zip(answer["shapes"], answer["dtypes"], strict=True)
        ]
        rate = answer["rate"]
        return Source(
            path=path,
            format=str(answer["format"]),
            names=names,
            shapes=tuple(shape for shape, _ in kinds),
            dtypes=tuple(np.dtype(dtype) for _, dtype in kinds),
            iterate=lambda: choose(range(len(names))),
            rate=None if rate is None else float(rate),
            left_out=tuple(str(name) for name in answer["left_out"]),
            choose=choose,
        )


def is_foreign(path: str | Path) -> bool:
    """Say whether anything that would be opened is somebody else's, or a link to such a thing.

    Of a folder, what is directly in it counts too; of a pattern, every file that it names. Where a
    system has no owners, nothing is.
    """
    if not hasattr(os, "geteuid"):
        return False
    own = os.geteuid()
    return any(owner != own for place in _opened_by(path) for owner in _owners_of(place))


def _opened_by(path: str | Path) -> list[Path]:
    """What is looked at where a path is opened."""
    place = Path(path)
    if place.is_dir():
        return [place, *place.iterdir()]
    if place.exists():
        return [place]
    # Path.glob takes no absolute patterns.
    return [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207


def _owners_of(place: Path) -> set[int]:
    """Who owns a file, and what it links to; nobody where it is gone."""
    owners = set()
    for follow in (False, True):
        with suppress(OSError):
            owners.add(place.stat(follow_symlinks=follow).st_uid)
    return owners
