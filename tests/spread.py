"""How long an iteration takes here and on workers: the figures behind the model of docs/scale.md.

    python tests/spread.py --pictures 300 --workers 1 2

Frames of noise over a scene of low rank are written to a folder and decomposed: by one thread, and
by clusters of so many workers on this machine. Every figure is the median over the iterations.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import rankfold as rf
from rankfold.io import write_picture
from rankfold.scale import Dask

SIZE = (240, 320)
RANK = 5


def frames_of(folder: Path, count: int) -> None:
    """Write frames of a scene whose light changes, with single bright pixels."""
    rng = np.random.default_rng(0)
    scene = rng.random((RANK, *SIZE))
    folder.mkdir()
    for k in range(count):
        picture = np.tensordot(rng.dirichlet(np.ones(RANK)), scene, 1)
        picture[rng.random(SIZE) < 0.05] = 1
        write_picture(folder / f"{k:05d}.png", 255 * picture)


def timed(folder: Path, executor: object = None) -> tuple[float, float, rf.Decomposition]:
    """Seconds an iteration, and in all."""
    moments: list[float] = []

    def note(record: object) -> None:
        moments.append(time.perf_counter())

    began = time.perf_counter()
    result = rf.decompose(folder, shared=0, executor=executor, observe=note)
    return float(np.median(np.diff(moments))), time.perf_counter() - began, result


def main() -> None:
    """Print a line for every way to compute it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "frames"
        frames_of(folder, chosen.pictures)
        # Compiles, and fills the caches of the system.
        timed(folder)
        an_iteration, in_all, first = timed(folder)
        print(f"here: {an_iteration:.3f} s an iteration, {in_all:.1f} s")  # noqa: T201
        for count in chosen.workers:
            with Dask(workers=count) as cluster:
                timed(folder, cluster)
                an_iteration, in_all, result = timed(folder, cluster)
            same = np.array_equal(first.low_rank, result.low_rank)
            text = f"{an_iteration:.3f} s an iteration, {in_all:.1f} s, same bits: {same}"
            print(f"{count} workers: {text}")  # noqa: T201


if __name__ == "__main__":
    main()
