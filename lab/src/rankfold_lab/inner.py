"""The lab's way to the inner solver: the problems that are timed, and one call that solves them.

No other file of the lab imports the solver, the projectors or the warps of rankfold.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Clone, Problem, Settings, Solution, default_sparsity, solve, weights_of
from rankfold.align import align
from rankfold.align.job import Job
from rankfold.align.request import resolve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.families import Floats, get_family
from rankfold.manifold import AnyProjector, Context, get_projector, project_rows
from rankfold.scale import Executor, Serial
from rankfold.stack import Bools, Frame, Stack
from rankfold.status import Record
from rankfold.warp.linearisation import Motion, linearise, warp_normalised
from rankfold.warp.sampling import prepare

__all__ = [
    "AnyProjector",
    "Context",
    "Problem",
    "Solution",
    "default_projector",
    "get_projector",
    "iterate",
    "job_at",
    "linearised",
    "moving_problem",
    "project_rows",
    "robust_pca",
    "warped",
]

# A tolerance that no run reaches, so that all iterations are done.
NEVER = 1e-15


def robust_pca(X: Floats) -> Problem:
    """Return the problem of robust PCA on a matrix (n, m), with the usual weight 1/√max(n, m)."""
    return Problem(X, float(1 / np.sqrt(max(X.shape))))


def moving_problem(shape: tuple[int, int, int]) -> Problem:
    """Return a generated inner problem of RASL with four parameters a picture.

    Parameters
    ----------
    shape : (int, int, int)
        Pictures, height and width.
    """
    n, height, width = shape
    m = height * width
    rng = np.random.default_rng(0)
    data = low_rank_plus_sparse(n, m, rank=8, corrupted=0.1, seed=0).data
    norms = np.linalg.norm(data, axis=1, keepdims=True)
    # n x 4 x m, orthonormal in every picture: what the Jacobians are turned into.
    basis = np.linalg.qr(rng.standard_normal((n, m, 4)))[0].transpose(0, 2, 1)
    return Problem(
        data / norms,
        1 / np.sqrt(m),
        None,
        basis,
        units=10 / norms[:, 0],
        shape=(1, height, width),
    )


def linearised(
    images: Sequence[npt.NDArray[Any]], frame: Frame, start: Floats, family: str, weight: float
) -> Problem:
    """Return the first inner problem of RASL on pictures.

    Parameters
    ----------
    images : sequence of arrays
    frame : Frame
    start : array (n, 3, 3)
    family : str
        A row of FAMILIES.
    weight : float
        ``sparsity_weight`` of :func:`rankfold.align`.
    """
    stack = Stack.of(images).luminance()
    sampler = prepare(stack, frame, start, np.float64)
    motion = Motion.starting_at(start, get_family(family), frame.centre)
    local = linearise(sampler, motion)
    return Problem(
        local.data,
        default_sparsity(local.data.shape, weight),
        weights_of(local.valid),
        local.basis,
        units=sampler.value_range / local.norms,
        shape=sampler.row_shape,
    )


def iterate(
    problem: Problem,
    iterations: int,
    executor: Executor,
    projector: AnyProjector | None = None,
    observe: Callable[[Record], bool] | None = None,
) -> Solution:
    """Run the inner solver for a number of iterations: RASL, or with a projector MeADMM.

    Parameters
    ----------
    problem : Problem
    iterations : int
    executor : Executor
    projector : Projector or Function, optional
    observe : callable, optional
        Called after every iteration.
    """
    clone = None if projector is None else Clone(projector)
    settings = Settings(tol=NEVER, max_iter=iterations, clone=clone)
    return solve(problem, settings, executor, observe)


def default_projector() -> AnyProjector:
    """Return the projector that ``method="meadmm"`` has by default."""
    return get_projector("regression")


def job_at(images: Any, frame: Frame, family: str, transforms: Floats) -> Job:
    """Return the job of a default alignment that starts at transforms (n, 3, 3) of pictures."""
    usual = inspect.signature(align).parameters
    wanted = inspect.signature(resolve).parameters
    options = {name: usual[name].default for name in wanted if name in usual}
    options |= {"images": images, "frame": frame, "family": family, "init": transforms}
    return Job(resolve(**options), Serial())


def warped(
    images: Sequence[npt.NDArray[Any]], frame: Frame, transforms: Floats
) -> tuple[Floats, Floats, Bools]:
    """Return pictures on the frame: rows (n, m) of unit norm, norms (n,), valid pixels (n, m)."""
    sampler = prepare(Stack.of(images), frame, transforms, np.float64)
    rows, norms, valid = warp_normalised(sampler, transforms)
    return rows, norms, valid
