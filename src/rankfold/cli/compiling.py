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
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from rankfold.errors import RankfoldError

# Seconds, about, that all of it takes on a machine of 2025.
ABOUT = 25
# Where numba keeps what it has compiled, if this is set; else beside the package.
FOLDER = "NUMBA_CACHE_DIR"


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


def is_compiled() -> bool:
    """Whether an alignment will find its kernels compiled, as far as one can see."""
    from rankfold.align.kernels import tile_peaks

    cache = getattr(tile_peaks, "_cache", None)
    folder = Path(getattr(cache, "cache_path", ""))
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return any(folder.glob(f"kernels.tile_peaks-*.{version}.nbi"))


def compile_beside() -> subprocess.Popen[bytes]:
    """Compile the solver in another process, while this one compiles the rest as it needs it."""
    process = subprocess.Popen(
        _command("solver"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    # Nobody waits for it, but Python warns of a process that is let go of while it runs.
    _beside.append(process)
    return process


_beside: list[subprocess.Popen[bytes]] = []


def compile_all(folder: Path | None, jobs: int) -> Iterator[tuple[str, float]]:
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

    def compile_one(part: str) -> tuple[str, float]:
        began = time.perf_counter()
        done = subprocess.run(
            _command(part), env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise RankfoldError(
                f"the {part} could not be compiled ({last}); check that the folder of the cache "
                "can be written"
            )
        return part, time.perf_counter() - began

    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(compile_one, part) for part in PARTS]):
            yield future.result()


def _command(part: str) -> list[str]:
    """How to compile one part in a process of its own."""
    # Without the working directory, in which anything may lie.
    return [sys.executable, "-P", "-m", "rankfold.cli.compiling", part]


if __name__ == "__main__":
    import warnings

    # Tiny problems do not converge, and need not.
    warnings.simplefilter("ignore")
    PARTS[sys.argv[1]]()
