"""One implementation, timed in a process: ``PYTHON worker.py NAME input.npz output.npz REPEATS``.

It is run by path, by whatever interpreter has the implementation, so nothing of rankfold is
imported at the top: only NumPy. The input holds ``options`` (JSON) and arrays; the output holds
``seconds``, ``memory`` (peak resident, MiB) and what the implementation found (``sparse`` or
``objective``). Nothing is pickled.
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
    solve = importlib.import_module("pyrpca").rpca_pcp_ialm
    X = np.ascontiguousarray(given["matrix"].T)
    words = {"rho": options["rho"], "tol": options["tol"], "verbose": False}
    return lambda: {"sparse": solve(X, options["sparsity"], **words)[1].T}


def sporco(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by sporco. With its automatic penalty it takes twice the iterations: it is off."""
    robust = importlib.import_module("sporco.admm.rpca").RobustPCA
    words = {
        "Verbose": False,
        "MaxMainIter": options["max_iter"],
        "RelStopTol": options["tol"],
        "AutoRho": {"Enabled": False},
    }
    settings = robust.Options(words)
    return lambda: {"sparse": robust(given["matrix"], options["sparsity"], settings).solve()[1]}


def tensorly(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """Robust PCA by tensorly: half the nuclear norm of each of the two unfoldings."""
    solve = importlib.import_module("tensorly.decomposition").robust_pca
    X = given["matrix"]
    words = {
        "reg_J": 0.5,
        "reg_E": options["sparsity"],
        "n_iter_max": options["max_iter"],
        # Its tolerance is absolute.
        "tol": options["tol"] * float(np.linalg.norm(X)),
        "verbose": 0,
    }
    return lambda: {"sparse": solve(X, **words)[1]}


def align(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """RASL by rankfold, from the given transforms."""
    rankfold = importlib.import_module("rankfold")
    words = {
        name: options[name]
        for name in ("family", "sparsity_weight", "outer_tol", "schedule", "n_jobs")
        if name in options
    }
    frame = tuple(options["frame"])
    images = _pictures(given, "image")

    def run() -> Found:
        result = rankfold.align(images, method="rasl", frame=frame, init=given["start"], **words)
        return {"objective": result.objective, "outer": len(result.trace.outer["objective"])}

    return run


def meadmm(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """MeADMM by rankfold as it comes, from the given transforms."""
    rankfold = importlib.import_module("rankfold")
    words = {name: options[name] for name in ("family", "sparsity_weight", "n_jobs")}
    frame = tuple(options["frame"])
    images = _pictures(given, "image")

    def run() -> Found:
        result = rankfold.align(images, frame=frame, init=given["start"], **words)
        return {"objective": result.objective}

    return run


def stack(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """A stack by rankfold as it comes."""
    rankfold = importlib.import_module("rankfold")
    words = {"family": "translation", "frame": (options["side"],) * 2, "n_jobs": 1}
    images = list(given["images"])

    def run() -> Found:
        result = rankfold.align(images, init=given["start"], **words)
        return {"transforms": result.transforms}

    return run


def stackreg(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """A stack by pystackreg, against its first picture: the most accurate of its references."""
    del options
    package = importlib.import_module("pystackreg").StackReg
    images = given["images"]

    def run() -> Found:
        register = package(package.TRANSLATION)
        matrices = register.register_stack(images, reference="first")
        register.transform_stack(images)
        return {"transforms": matrices}

    return run


def rasl(given: Inputs, options: dict[str, Any]) -> Callable[[], Found]:
    """RASL by ``rasl`` from PyPI, from the identity, inset, on pictures cut with a margin.

    It has no parameter for λ and does not return its objective, so its inner solver is wrapped for
    both.
    """
    package = importlib.import_module("rasl")
    # The package's attribute of that name is the function.
    outer = sys.modules["rasl.rasl"]
    kinds = {
        "euclidean": "Euclidean",
        "similarity": "Similarity",
        "affine": "Affine",
        "homography": "Projective",
    }
    kind = getattr(package, f"{kinds[options['family']]}Transform")
    pictures = _pictures(given, "cut")
    margin = options["margin"]
    height, width = options["frame"]
    bounds = ((margin, margin), (margin + height - 1, margin + width - 1))
    weight = options["sparsity_weight"] / np.sqrt(height * width)
    inner = outer.inner_ialm
    last = {}

    def solve(images: Any, J: Any) -> Any:
        A, E, steps = inner(images, J, lambd=weight)
        last["A"] = A
        last["E"] = E
        return A, E, steps

    def run() -> Found:
        starts = [kind().inset(picture.shape, bounds) for picture in pictures]
        count = package.rasl(pictures, starts)[3]
        nuclear = float(np.linalg.norm(last["A"], "nuc"))
        errors = float(np.abs(last["E"]).sum())
        return {"objective": nuclear + weight * errors, "outer": count}

    outer.inner_ialm = solve  # type: ignore[attr-defined]
    return run


def _pictures(given: Inputs, stem: str) -> list[Any]:
    """Arrays ``stem0``, ``stem1``, ...: pictures need not be of one size."""
    count = sum(name.startswith(stem) for name in given)
    return [given[f"{stem}{k}"] for k in range(count)]


CALLS: dict[str, Callable[[Inputs, dict[str, Any]], Callable[[], Found]]] = {
    "decompose": decompose,
    "pyrpca": pyrpca,
    "sporco": sporco,
    "tensorly": tensorly,
    "align": align,
    "meadmm": meadmm,
    "stack": stack,
    "stackreg": stackreg,
    "rasl": rasl,
}
OURS = ("decompose", "align", "meadmm", "stack")
# A pulse longer than this many times the shortest: something else is running on this machine.
RESTLESS = 1.15
# Seconds that a process waits for it to end.
PATIENCE = 5.0
# How many more disturbed runs than good ones are endured.
TRIES = 2
# Short runs are repeated at most this many times the declared number.
MOST = 20


def measure(
    run: Callable[[], Found],
    repeats: int,
    budget: float = np.inf,
    compiles: bool = False,
    calm: float = np.inf,
    spell: float = 0.0,
) -> tuple[list[float], Found]:
    """Time a run: once to compile and to fill caches, then ``repeats`` times.

    Parameters
    ----------
    run : callable
    repeats : int
    budget : float
        Seconds of timed runs after which there are no more of them.
    compiles : bool
        Whether the first run compiles. Where it does not, a first run that alone takes longer than
        the budget is the timed one.
    calm : float
        The pulse of a machine that has nothing else to do. A run waits for that, and one after
        which the machine is not calm is done again, until TRIES more were disturbed than not.
    spell : float
        Short runs go on until so many seconds are timed: the median of three would be luck.

    Returns
    -------
    seconds : list of float
        Of runs that were all disturbed, the shortest.
    found : dict
        What the last run found.
    """
    seconds: list[float] = []
    disturbed: list[float] = []
    found: Found = {}
    warm = False
    patience = PATIENCE
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
    """Return the seconds for a little work that is always the same: the pulse of the machine."""
    # No BLAS, so that it takes one thread.
    short = np.full(20_000, 0.5)
    long = np.ones(500_000)
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
    """Wait until the machine is calm; returns how many seconds of ``patience`` are left."""
    until = time.perf_counter() + patience
    while restless(calm) and time.perf_counter() < until:
        time.sleep(0.2)
    return max(until - time.perf_counter(), 0.0)


def peak_memory() -> float:
    """Return the peak resident memory of this process, MiB; NaN where the system does not say.

    It is the process's own account where there is one: ``ru_maxrss`` of a child also remembers its
    parent's size.
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
    # In bytes on macOS, in KiB elsewhere.
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(name: str, source: str, target: str, repeats: str) -> None:
    """Load, measure, write."""
    with np.load(source, allow_pickle=False) as file:
        given = {key: file[key] for key in file.files}
    options = json.loads(str(given.pop("options")))
    budget = float(options.pop("budget", np.inf))
    calm = float(options.pop("calm", np.inf))
    spell = float(options.pop("spell", 0.0))
    run = CALLS[name](given, options)
    seconds, found = measure(run, int(repeats), budget, name in OURS, calm, spell)
    np.savez(target, seconds=seconds, memory=peak_memory(), **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
