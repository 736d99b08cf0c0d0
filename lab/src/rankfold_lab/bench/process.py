"""A fresh process for every implementation, so that none warms the caches of another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError, RankfoldError
from rankfold_lab.bench import worker
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.setting import Setting

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
PROBE = """
import importlib.metadata, importlib.util, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
print(json.dumps({name: version(name) for name in sys.argv[1:] if importlib.util.find_spec(name)}))
"""


@dataclass(frozen=True)
class Outcome:
    """What a worker wrote, or why it wrote nothing."""

    state: str  # "measured", or what went wrong
    seconds: tuple[float, ...] = ()
    memory: float | None = None  # peak, MiB
    found: dict[str, npt.NDArray[Any]] | None = None

    @property
    def figures(self) -> dict[str, Any]:
        """For the record."""
        median = float(np.median(self.seconds)) if self.seconds else None
        return {
            "state": self.state,
            "seconds": list(self.seconds),
            "median": median,
            "memory": self.memory,
        }


def run_worker(
    call: str,
    arrays: dict[str, npt.NDArray[Any]],
    options: dict[str, Any],
    threads: int,
    python: Path | str = sys.executable,
    script: Path | str = worker.__file__,
    timeout: float | None = None,
    earlier: Path | None = None,
) -> Outcome:
    """Measure one implementation in a process that has ``threads`` threads for BLAS, a few runs.

    ``earlier`` is a checkout whose rankfold takes the place of this one.
    """
    limits = declared()
    patience = timeout or limits["timeout"]
    words = json.dumps({"budget": limits["budget"], "spell": limits["spell"], **options})
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "input.npz"
        target = Path(folder) / "output.npz"
        np.savez(source, options=np.array(words), **arrays)  # type: ignore[arg-type]
        command = [str(python), str(script), call, str(source), str(target), str(limits["runs"])]
        try:
            done = subprocess.run(
                command,
                env=environment(threads, earlier),
                capture_output=True,
                text=True,
                timeout=patience + worker.PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"given up after {patience:.0f} s")
        if done.returncode != 0 or not target.is_file():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return Outcome(f"failed: {last}")
        with np.load(target, allow_pickle=False) as file:
            found = {key: file[key] for key in file.files}
    seconds = tuple(float(s) for s in np.atleast_1d(found.pop("seconds")))
    return Outcome("measured", seconds, float(found.pop("memory")), found)


def calm(setting: Setting) -> float:
    """Return the shortest pulse of this machine so far; every call listens a little longer."""
    if setting.quick:
        # A trial does not wait for the machine.
        return float("inf")
    until = time.perf_counter() + declared()["listen"]
    _pulses.append(worker.pulse())
    while time.perf_counter() < until:
        _pulses.append(worker.pulse())
    _pulses[:] = [min(_pulses)]
    return _pulses[0]


_pulses: list[float] = []


def environment(threads: int, earlier: Path | None = None) -> dict[str, str]:
    """Our environment with a number of threads for every BLAS there may be."""
    found = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    return found if earlier is None else {**found, "PYTHONPATH": str(earlier / "src")}


def installed(python: Path | str, packages: list[str]) -> dict[str, str]:
    """Which packages an interpreter has, with their versions."""
    try:
        done = subprocess.run(
            [str(python), "-c", PROBE, *packages], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(
            f"{python} is not a Python that can be run; give --peers the path of one"
        ) from error
    versions: dict[str, str] = json.loads(done.stdout)
    return versions


def check_ours(name: str, outcome: Outcome) -> None:
    """A peer may fail; we may not."""
    if outcome.state != "measured":
        raise RankfoldError(f"{name} could not be measured: {outcome.state}")
