"""A journal in a folder: what the expensive calls of a run gave, and when it is written.

Calls are numbered in the order in which they are made, which is the same whenever the run is. The
files are described in :mod:`rankfold.align.journal`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rankfold.align.checkpoints import (
    NEWEST,
    finished_calls,
    read_facts,
    read_packed,
    write_packed,
)
from rankfold.align.loop import Keep, LoopState, OuterResult
from rankfold.align.packing import Packed, pack_state, unpack_state
from rankfold.status import Status
from rankfold.warp.linearisation import Motion

Value = TypeVar("Value")
Loop = Callable[[LoopState | None, Keep | None], OuterResult]

# Writing may take this share of the time between two writes.
SHARE = 0.1


@dataclass
class _Pending:
    """The state of a loop that is to be written."""

    call: int
    state: LoopState
    with_solution: bool


class Remembering:
    """A journal that is kept in a folder.

    Parameters
    ----------
    folder : Path
    every : float
        Seconds that pass at least between two writes inside a loop.
    clock : callable
        Gives the seconds.
    """

    def __init__(
        self, folder: Path, every: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._every = every
        self._clock = clock
        self._next = 0
        self._pending: _Pending | None = None
        self._earliest = clock()
        self._finished = finished_calls(folder)
        newest = read_facts(folder / NEWEST)
        # Of the state in newest.npz; -1 without one.
        self._newest = -1 if newest is None else int(newest["call"])
        self._forget_without_solution()
        #: Outer iterations that are remembered.
        self.done = self._count(newest)

    def loop(self, motion: Motion, run: Loop, with_solution: bool) -> OuterResult:
        """What an outer loop from ``motion`` gives, remembered or run."""
        call = self._number()
        state = None
        if call == self._newest:
            packed = read_packed(self._folder / NEWEST)
            state = None if packed is None else unpack_state(packed, motion)
        else:
            remembered = self._recall(call)
            if remembered is not None:
                return OuterResult.of(unpack_state(remembered, motion))

        def keep(state: LoopState) -> None:
            self._keep(_Pending(call, state, with_solution))

        result = run(state, keep)
        # A loop that an observer stopped has not ended: to go on means to go on with it.
        if result.status is not Status.STOPPED:
            self._finish(call, result, with_solution)
        return result

    def call(
        self,
        kind: str,
        run: Callable[[], Value],
        pack: Callable[[Value], Packed],
        unpack: Callable[[Packed], Value],
    ) -> Value:
        """What another call gives, remembered or run."""
        call = self._number()
        packed = self._recall(call)
        if packed is not None:
            return unpack(packed)
        value = run()
        self._write(call, kind, pack(value))
        return value

    def flush(self) -> None:
        """Write the newest state, if it is not written yet."""
        if self._pending is None:
            return
        pending = self._pending
        began = self._clock()
        packed = pack_state(pending.state, pending.with_solution)
        write_packed(self._folder / NEWEST, packed, call=pending.call)
        self._newest = pending.call
        self._pending = None
        now = self._clock()
        self._earliest = now + max(self._every, (now - began) / SHARE if self._every else 0.0)

    def _number(self) -> int:
        """The number of the next call."""
        self._next += 1
        return self._next - 1

    def _recall(self, call: int) -> Packed | None:
        """What a finished call gave; None where that is not known."""
        packed = read_packed(self._finished[call]) if call in self._finished else None
        if packed is None:
            # A damaged file is written again.
            self._finished.pop(call, None)
        return packed

    def _keep(self, pending: _Pending) -> None:
        """Write a state, or let it wait where the last one was written a moment ago."""
        # A call that is made again, because its file was damaged, leaves later ones alone.
        if pending.call < self._newest:
            return
        self._pending = pending
        if self._clock() >= self._earliest:
            self.flush()

    def _finish(self, call: int, result: OuterResult, with_solution: bool) -> None:
        """Write where a loop ended: with its solution until the next loop has a state."""
        if call in self._finished:
            return
        state = LoopState(
            motion=result.motion,
            solution=result.solution,
            inner=result.inner,
            outer=result.outer,
            status=result.status,
            stop_rule=result.stop_rule,
        )
        if call >= self._newest:
            self._pending = _Pending(call, state, with_solution)
            self.flush()
        self._write(call, "loop", pack_state(state, with_solution=False))

    def _write(self, call: int, kind: str, packed: Packed) -> None:
        """Write what a call gave."""
        path = self._folder / f"{call:04d}-{kind}.npz"
        write_packed(path, packed, call=call)
        self._finished[call] = path

    def _forget_without_solution(self) -> None:
        """Forget the last loop where its solution was lost: the decomposition may go on from it."""
        loops = [call for call, path in self._finished.items() if path.stem.endswith("-loop")]
        if loops and self._newest < max(loops):
            del self._finished[max(loops)]

    def _count(self, newest: dict[str, Any] | None) -> int:
        """Count the outer iterations that are remembered."""
        facts = [read_facts(path) for call, path in self._finished.items() if call != self._newest]
        known = [one for one in (*facts, newest) if one is not None]
        return sum(int(one.get("iterations", 0)) for one in known)
