"""One implementation, timed in a process of its own: ``PYTHON worker.py NAME input.npz output.npz REPEATS``.

Run by path, by whatever interpreter has the implementation, so nothing of rankfold is imported at the top: only NumPy.
The input holds ``options`` (JSON) and arrays, the output ``seconds``, ``memory`` (peak resident, MiB), what the
implementation found (``sparse`` or ``objective``). Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Inputs = dict[str, Any]
Found = dict[str, Any]


def decompose(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by rankfold."""
    rankfold = importlib.import_module("rankfold")
    del options["sparsity"]  # its own default
    return lambda: {"sparse": rankfold.decompose(given["matrix"], **options).sparse}


def pyrpca(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by pyrpca, whose matrices are the other way round."""
    solve, X = (
        importlib.import_module("pyrpca").rpca_pcp_ialm,
        np.ascontiguousarray(given["matrix"].T),
    )
    rho, tol = options["rho"], options["tol"]
    return lambda: {"sparse": solve(X, options["sparsity"], rho=rho, tol=tol, verbose=False)[1].T}


def sporco(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by sporco. Its automatic penalty is off: with it, it takes twice the iterations here."""
    robust = importlib.import_module("sporco.admm.rpca").RobustPCA
    words = {"Verbose": False, "MaxMainIter": options["max_iter"], "RelStopTol": options["tol"]}
    settings = robust.Options(words | {"AutoRho": {"Enabled": False}})
    return lambda: {"sparse": robust(given["matrix"], options["sparsity"], settings).solve()[1]}


def tensorly(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by tensorly: half the nuclear norm of each of the two unfoldings. Its tolerance is absolute."""
    solve, X = importlib.import_module("tensorly.decomposition").robust_pca, given["matrix"]
    tol = options["tol"] * float(np.linalg.norm(X))
    words = {
        "reg_J": 0.5,
        "reg_E": options["sparsity"],
        "n_iter_max": options["max_iter"],
        "tol": tol,
        "verbose": 0,
    }
    return lambda: {"sparse": solve(X, **words)[1]}


def align(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """RASL by rankfold, from the given transforms."""
    rankfold = importlib.import_module("rankfold")
    words = {
        name: options[name]
        for name in ("family", "sparsity_weight", "outer_tol", "schedule", "n_jobs")
    }
    frame, images = tuple(options["frame"]), _pictures(given, "image")

    def run() -> Found:
        result = rankfold.align(images, method="rasl", frame=frame, init=given["start"], **words)
        return {"objective": result.objective, "outer": len(result.trace.outer["objective"])}

    return run


def rasl(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """RASL by ``rasl`` from PyPI, on pictures that were cut with a margin at the start: from the identity, inset.

    It has no parameter for λ and does not return its objective, so its inner solver is wrapped for both.
    """
    package = importlib.import_module("rasl")
    outer = sys.modules["rasl.rasl"]  # the package's attribute of that name is the function
    kinds = {
        "euclidean": "Euclidean",
        "similarity": "Similarity",
        "affine": "Affine",
        "homography": "Projective",
    }
    kind = getattr(package, f"{kinds[options['family']]}Transform")
    pictures, margin, (height, width) = _pictures(given, "cut"), options["margin"], options["frame"]
    bounds = ((margin, margin), (margin + height - 1, margin + width - 1))
    weight = options["sparsity_weight"] / np.sqrt(height * width)
    inner, last = outer.inner_ialm, {}

    def solve(images: Any, J: Any) -> Any:
        last["A"], last["E"], steps = inner(images, J, lambd=weight)
        return last["A"], last["E"], steps

    def run() -> Found:
        starts = [kind().inset(picture.shape, bounds) for picture in pictures]
        count = package.rasl(pictures, starts)[3]
        nuclear = float(np.linalg.norm(last["A"], "nuc"))
        return {"objective": nuclear + weight * float(np.abs(last["E"]).sum()), "outer": count}

    outer.inner_ialm = solve  # type: ignore[attr-defined]
    return run


def _pictures(given: Inputs, stem: str) -> list[Any]:
    """Arrays ``stem0``, ``stem1``, ...: pictures need not be of one size."""
    return [given[f"{stem}{k}"] for k in range(sum(name.startswith(stem) for name in given))]


CALLS: dict[str, Callable[[Inputs, dict[str, Any]], Callable[[], Found]]] = {
    "decompose": decompose,
    "pyrpca": pyrpca,
    "sporco": sporco,
    "tensorly": tensorly,
    "align": align,
    "rasl": rasl,
}
OURS = ("decompose", "align")
RESTLESS = 1.15  # times the shortest pulse: above, something else is running on this machine
PATIENCE = 5.0  # seconds to wait for it to end, in a process
TRIES = 2
MOST = 20  # times the declared number of runs


def measure(
    run: Callable[[], Found],
    repeats: int,
    budget: float = np.inf,
    compiles: bool = False,
    calm: float = np.inf,
    spell: float = 0.0,
) -> tuple[list[float], Found]:
    """Run once to compile and to fill caches, then ``repeats`` times; nothing more once ``budget`` seconds are timed.

    Short runs go on until a ``spell`` of seconds is timed: the median of three would be luck. Where nothing
    ``compiles``, a first run that alone takes longer than the budget is the timed one. A run is waited with until the
    machine is ``calm``, and one after which it is not is done again, until TRIES more were disturbed than not; of runs
    that were all disturbed the shortest is returned.
    """
    seconds: list[float] = []
    disturbed: list[float] = []
    found: Found = {}
    warm, patience = False, PATIENCE
    while sum(seconds) <= budget and len(disturbed) < TRIES + len(seconds):
        if len(seconds) >= (repeats if sum(seconds) >= spell else MOST * repeats):
            break
        patience = wait_until(calm, patience)
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            found = run()
        took = time.perf_counter() - began
        if warm or (took > budget and not compiles):
            (disturbed if restless(calm) else seconds).append(took)
        warm = True
    return seconds or [min(disturbed)], found


def pulse() -> float:
    """Seconds for a little work that is always the same: how quick the machine is just now. No BLAS: one thread."""
    short, long = np.full(20_000, 0.5), np.ones(500_000)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(20):
            np.sqrt(short, out=short)
            np.multiply(long, 0.5, out=long)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def restless(calm: float) -> bool:
    """Whether the machine is slower than it can be; nobody listens where ``calm`` is infinite."""
    return bool(np.isfinite(calm)) and pulse() > RESTLESS * calm


def wait_until(calm: float, patience: float = PATIENCE) -> float:
    """Wait until the pulse is nearly as short as it was at best; returns how many seconds of ``patience`` are left."""
    until = time.perf_counter() + patience
    while restless(calm) and time.perf_counter() < until:
        time.sleep(0.2)
    return max(until - time.perf_counter(), 0.0)


def peak_memory() -> float:
    """Peak resident memory of this process, MiB; NaN where the system does not say.

    From the process's own account where there is one: ``ru_maxrss`` of a child also remembers its parent's size.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024**2 if sys.platform == "darwin" else 1024
    )


def main(name: str, source: str, target: str, repeats: str) -> None:
    """Load, measure, write."""
    with np.load(source, allow_pickle=False) as file:
        given = {key: file[key] for key in file.files}
    options = json.loads(str(given.pop("options")))
    budget = float(options.pop("budget", np.inf))
    calm, spell = float(options.pop("calm", np.inf)), float(options.pop("spell", 0.0))
    seconds, found = measure(
        CALLS[name](given, options), int(repeats), budget, name in OURS, calm, spell
    )
    np.savez(target, seconds=seconds, memory=peak_memory(), **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
