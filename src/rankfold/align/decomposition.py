"""The public function :func:`decompose`: low rank + sparse of a matrix or of pictures as they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, solve
from rankfold.admm.problem import default_sparsity, scheduled
from rankfold.align.loop import weights_of
from rankfold.align.methods import check_dtype, check_variant, clone_for, get_method
from rankfold.errors import InputError
from rankfold.executors import Executor, executor_for
from rankfold.manifold import Projector
from rankfold.result import Decomposition
from rankfold.stack import power_of_two
from rankfold.status import Observer, Status, Trace, announce


def decompose(
    X: npt.ArrayLike,
    method: str = "rpca",
    *,
    sparsity_weight: float = 1.0,
    projector: str | Projector | None = "auto",
    n_neighbors: int = 12,
    rank_surrogate: str = "auto",
    variant: str = "merged",
    schedule: str = "balanced",
    tol: float = 1e-7,
    max_iter: int = 5000,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    observe: Observer | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> Decomposition:
    """Split a matrix, or a stack of aligned pictures, into low rank + sparse.

    Parameters
    ----------
    X : (n, m) or (n, h, w[, c]) array
        One sample a row; NaN marks a missing value, which the low-rank part fills in.
    method : {"rpca", "meadmm"}
    sparsity_weight : float
        λ_c of λ = λ_c/√max(n, m).
    projector, n_neighbors, rank_surrogate, variant
        As in :func:`align`.
    schedule : {"balanced", "quick", "published"}
        How the penalty grows. "balanced" ends at an optimum, "quick" a little above it in far fewer iterations,
        "published" as RASL does. The last two may end with status STALLED: that is what was asked for.
    tol, max_iter : float, int
        Stop when ‖X - A - E‖_F ≤ tol ‖X‖_F.
    n_jobs, executor, observe, strict, dtype
        As in :func:`align`.

    Returns
    -------
    Decomposition

    Examples
    --------
    >>> import rankfold as rf
    >>> from rankfold.datasets import low_rank_plus_sparse
    >>> truth = low_rank_plus_sparse(60, 80, rank=3, corrupted=0.05, seed=0)
    >>> rf.decompose(truth.data).rank
    3
    """
    chosen = get_method(method)
    if chosen.moves and chosen.projector is None:
        raise InputError(
            f"method {method!r} is its transforms; use align(), or decompose(method='rpca')"
        )
    projector = (
        chosen.projector if isinstance(projector, str) and projector == "auto" else projector
    )
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    check_variant(variant, projector)
    given = (
        np.ma.filled(np.ma.asarray(X).astype(float), np.nan)
        if np.ma.isMaskedArray(X)
        else np.asarray(X)
    )
    if given.ndim < 2 or 0 in given.shape:
        raise InputError(
            f"the data have shape {given.shape}; give (n, m) or (n, height, width[, channels])"
        )
    if np.iscomplexobj(given) or not (np.issubdtype(given.dtype, np.number) or given.dtype == bool):
        raise InputError(f"the data have type {given.dtype}; pass integers or floats")
    data = given.reshape(len(given), -1).astype(check_dtype(dtype))
    if np.isinf(data).any():
        raise InputError("the data contain infinity; write NaN where a value is missing")
    valid = ~np.isnan(data)
    if not valid.any():
        raise InputError("the data are NaN everywhere, so there is nothing to decompose")
    if not valid.all():
        data[~valid] = 0
    unit = power_of_two(data)
    data /= np.asarray(unit, data.dtype)
    shape = (1, 1, data.shape[1]) if given.ndim == 2 else (1, *given.shape[1:3])
    if given.ndim == 4:  # rows are (channels, height, width) inside
        data = np.ascontiguousarray(np.moveaxis(data.reshape(given.shape), -1, 1)).reshape(
            data.shape
        )
        valid = np.moveaxis(valid.reshape(given.shape), -1, 1).reshape(data.shape)
        shape = (given.shape[3], *given.shape[1:3])
    problem = Problem(
        data, default_sparsity(data.shape, sparsity_weight), weights_of(valid), shape=shape
    )
    settings = Settings(
        tol=tol,
        max_iter=max_iter,
        surrogate=surrogate,
        clone=clone_for(projector, n_neighbors),
        variant=variant,
    )
    settings = scheduled(settings, schedule)
    with executor_for(executor, n_jobs) as run:
        solution = solve(problem, settings, run, observe)
    if (
        solution.status is not Status.STALLED or schedule == "balanced"
    ):  # otherwise that is what was asked for
        announce(solution.status, "decompose", strict)
    sparse = data - solution.low_rank if solution.status is Status.STOPPED else solution.sparse
    low_rank, sparse = (
        unit * solution.low_rank,
        unit * sparse,
    )  # copies: theirs are part of all that the solver had
    if not valid.all():
        known = (
            valid.any(axis=0) & valid.any(axis=1)[:, None]
        )  # a row or column that nobody saw stays unknown
        low_rank, sparse = np.where(known, low_rank, np.nan), np.where(valid, sparse, 0)
    return Decomposition(
        low_rank=_like(low_rank, given.shape),
        sparse=_like(sparse, given.shape),
        singular_values=unit * solution.singular_values,
        objective=unit * solution.objective,
        sparsity=problem.sparsity,
        method=method,
        status=solution.status,
        trace=Trace.of(solution.records),
    )


def _like(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Rows in the shape of the caller's array; colour is channels first inside."""
    if len(shape) < 4:
        return rows.reshape(shape)
    return np.moveaxis(rows.reshape(shape[0], shape[3], *shape[1:3]), 1, -1)
