"""Compile what runs need: once on a machine, ahead of time or beside the first run.

The kernels are compiled when they are first called, and kept in a folder by numba. Most of that
time is spent in Python, of which a process runs one thread. So the parts of PARTS are
compiled in processes of their own, and whoever needs a kernel finds it in the folder, or compiles
it if it comes first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from rankfold.compiled import FOLDER, folder_of
from rankfold.errors import RankfoldError

# Seconds, about, that all of it takes on a machine of 2025.
ABOUT = 25
# Seconds between two looks at the processes that compile.
LOOK = 0.05


def compile_solver() -> None:
    """The inner solver and the manifold, in the precision of an alignment."""
    from rankfold.admm import Clone, Problem, Settings, default_sparsity, solve
    from rankfold.manifold import get_projector

    rng = np.random.default_rng(0)
    data = rng.standard_normal((12, 64)).astype(np.float32)
    basis = np.linalg.qr(rng.standard_normal((12, 64, 2)))[0].transpose(0, 2, 1)
    problem = Problem(
        data,
        default_sparsity(data.shape, 1.0),
        basis=np.ascontiguousarray(basis, np.float32),
        shape=(1, 8, 8),
    )
    clone = Clone(get_projector("regression", 4), start=1.0)
    solve(problem, Settings(max_iter=4, clone=clone))


def compile_search() -> None:
    """A whole alignment as it comes."""
    from rankfold.align import AlignSettings, align
    from rankfold.datasets import rendered_heads

    tiny = rendered_heads(12, frame=(16, 15), seed=1)
    # Nobody is as good as this, so that every stage has something to do.
    limits = {"verdicts.agrees": 2.0, "verdicts.rough_placed": 2.0, "rescue.rounds": 1}
    settings = AlignSettings().changed(limits)
    align(tiny.images, frame=tiny.frame, init=tiny.start, max_outer=1, settings=settings)


def compile_decomposition() -> None:
    """A decomposition as it comes."""
    from rankfold.align import decompose

    decompose(np.random.default_rng(0).standard_normal((12, 64)), max_iter=2, tol=0.5)


def compile_outputs() -> None:
    """What plates, restored pictures and masks are made with."""
    from rankfold.datasets import panning
    from rankfold.moving import foreground

    list(foreground(panning(4, (24, 32), moves=False).images, camera="still"))


PARTS: dict[str, Callable[[], None]] = {
    "search": compile_search,
    "solver": compile_solver,
    "decomposition": compile_decomposition,
    "outputs": compile_outputs,
}
"""What is compiled, by name; the longest first."""


def can_be_kept() -> bool:
    """Whether there is a folder for what is compiled."""
    return _folder() is not None


def is_compiled() -> bool:
    """Whether an alignment will find its kernels compiled, as far as one can see."""
    folder = _folder()
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return folder is not None and any(folder.glob(f"kernels.tile_peaks-*.{version}.nbi"))


def _folder() -> Path | None:
    """The folder of one kernel of the search, which stands for all."""
    from rankfold.align.kernels import tile_peaks

    return folder_of(tile_peaks)


def compile_beside() -> subprocess.Popen[bytes]:
    """Compile the solver in another process, while this one compiles the rest as it needs it."""
    process = subprocess.Popen(
        _command("solver"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    # Nobody waits for it, but Python warns of a process that is let go of while it runs.
    _beside.append(process)
    return process


def end_beside() -> None:
    """End what still compiles beside a run that was interrupted."""
    for process in _beside:
        _end(process)


_beside: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class _Part:
    """A part that is being compiled."""

    name: str
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    began: float

    def seconds(self) -> float:
        """How long it took; raises a RankfoldError if it has failed."""
        took = time.perf_counter() - self.began
        if self.process.returncode != 0:
            self.said.seek(0)
            lines = self.said.read().decode(errors="replace").strip().splitlines()
            raise RankfoldError(
                f"the {self.name} could not be compiled ({(lines or ['no message'])[-1]}); check "
                "that the folder of the cache can be written"
            )
        return took


def compile_all(folder: Path | None, jobs: int) -> Generator[tuple[str, float], None, None]:
    """Compile every part, so many at a time; yields each one that is done, and its seconds.

    Parameters
    ----------
    folder : Path, optional
        Where to keep what is compiled; by default where numba does.
    jobs : int
        Processes at a time.
    """
    environment = dict(os.environ)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        environment[FOLDER] = str(folder.resolve())
    waiting = list(PARTS)
    running: list[_Part] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_start(waiting.pop(0), environment))
            for part in [one for one in running if one.process.poll() is not None]:
                running.remove(part)
                with part.said:
                    yield part.name, part.seconds()
            time.sleep(LOOK)
    finally:
        for part in running:
            _end(part.process)
            part.said.close()


def _start(name: str, environment: dict[str, str]) -> _Part:
    """Compile a part in a process of its own."""
    # Closed by compile_all, when the part is done.
    said = tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        _command(name), env=environment, stdout=subprocess.DEVNULL, stderr=said
    )
    return _Part(name, process, said, time.perf_counter())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that compiles; what it has kept so far stays."""
    process.terminate()
    process.wait()


def _command(part: str) -> list[str]:
    """How to compile one part in a process of its own."""
    # Without the working directory, in which anything may lie.
    return [sys.executable, "-P", "-m", "rankfold.cli.compiling", part]


if __name__ == "__main__":
    import warnings

    # Tiny problems do not converge, and need not.
    warnings.simplefilter("ignore")
    PARTS[sys.argv[1]]()
