"""Checkpoints: a run that was interrupted goes on, and ends with the bits of one that was not.

A run is a sequence of calls, some of them expensive: outer loops, matching, searches of the
rescue. A journal remembers what each of these gave. To go on, the run begins from the top again;
calls that are remembered return at once, a loop goes on after its last complete iteration, and what
is cheap between them is computed again. The last decomposition is not remembered.

A checkpoint is a folder:

- ``checkpoint.json``: what the run is made from;
- ``0003-loop.npz`` and so on: what call 3 gave, without the pixels of its solution;
- ``newest.npz``: the last state of the newest loop, with its solution where that is needed;
- ``rankfold.lock``: held while a process uses the folder.

Every file is written under another name first, so that it is whole or not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from rankfold.align.checkpoints import (
    HEAD,
    LOCK,
    Checkpoint,
    read_head,
    remove_checkpoint,
    write_head,
)
from rankfold.align.fingerprint import difference, fingerprint
from rankfold.align.loop import OuterResult
from rankfold.align.packing import Packed
from rankfold.align.remembering import Loop, Remembering
from rankfold.align.request import Request
from rankfold.errors import ConvergenceError, InputError, WriteError
from rankfold.locking import holder_of, take
from rankfold.status import Observer
from rankfold.warp.linearisation import Motion

Value = TypeVar("Value")


class Journal(Protocol):
    """What remembers the expensive calls of a run, in the order in which they are made."""

    def loop(self, motion: Motion, run: Loop, with_solution: bool) -> OuterResult:
        """What an outer loop from ``motion`` gives, remembered or run."""

    def call(
        self,
        kind: str,
        run: Callable[[], Value],
        pack: Callable[[Value], Packed],
        unpack: Callable[[Packed], Value],
    ) -> Value:
        """What another call gives, remembered or run."""


class Forgetful:
    """Remembers nothing: every call is made."""

    def loop(self, motion: Motion, run: Loop, with_solution: bool) -> OuterResult:  # noqa: ARG002
        """Run an outer loop."""
        return run(None, None)

    def call(
        self,
        kind: str,  # noqa: ARG002
        run: Callable[[], Value],
        pack: Callable[[Value], Packed],  # noqa: ARG002
        unpack: Callable[[Packed], Value],  # noqa: ARG002
    ) -> Value:
        """Make a call."""
        return run()


@contextmanager
def journal_for(
    checkpoint: str | Path | Checkpoint | None, request: Request, observe: Observer | None
) -> Iterator[Journal]:
    """Open the journal of a run; at the end its folder goes, unless the run was interrupted.

    An observer with a method ``going_on(folder, done)`` is told of outer iterations that are done.
    """
    if checkpoint is None:
        yield Forgetful()
        return
    chosen = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(Path(checkpoint))
    if not Path(chosen.folder).name:
        # The folder "." could not be removed at the end under this name.
        chosen = replace(chosen, folder=Path(chosen.folder).absolute())
    with _opened(chosen, request) as journal:
        going_on = getattr(observe, "going_on", None)
        if journal.done > 0 and going_on is not None:
            going_on(chosen.folder, journal.done)
        try:
            yield journal
        except (InputError, ConvergenceError):
            # The run ended by itself, and would end so again: there is nothing to go on from.
            remove_checkpoint(chosen.folder)
            raise
        except BaseException:
            # What waited for its turn is written now.
            journal.flush()
            raise
        if not chosen.keep:
            remove_checkpoint(chosen.folder)


@contextmanager
def _opened(chosen: Checkpoint, request: Request) -> Iterator[Remembering]:
    """Lock a checkpoint, compare it with the run, and begin it where there is none."""
    folder = chosen.folder
    _check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The file stays after an interruption: it says that rankfold made the folder.
        lock = take(folder / LOCK, stays=True)
    except OSError as error:
        raise WriteError(
            f"the checkpoint {folder} cannot be written ({error.strerror}); "
            "choose a folder that you may write to"
        ) from error
    if lock is None:
        raise InputError(
            f"the checkpoint {folder} is used by another run ({holder_of(folder / LOCK)}); "
            "wait until it has ended, or choose another folder"
        )
    with lock:
        known = fingerprint(request)
        if (folder / HEAD).exists():
            differs = difference(read_head(folder), known)
            if differs:
                raise InputError(
                    f"{folder} is the checkpoint of a run with {differs}; remove it with "
                    f"`rankfold clean {folder}` to begin anew, or choose another folder"
                )
        else:
            write_head(folder, known)
        yield Remembering(folder, chosen.every)


def _check_folder(folder: Path) -> None:
    """Refuse a folder with something else in it."""
    if not folder.exists():
        return
    if not folder.is_dir() or not ((folder / LOCK).exists() or not any(folder.iterdir())):
        raise InputError(
            f"{folder} is no checkpoint, and something is in it; "
            "give a checkpoint, an empty folder or one that is not there yet"
        )
