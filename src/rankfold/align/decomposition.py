"""The public function :func:`decompose`: low rank + sparse of a matrix or of aligned pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, Solution, default_sparsity, solve, weights_of
from rankfold.align.methods import Method, get_method, refuse_ignored
from rankfold.align.occluders import Decomposed, take_out
from rankfold.align.request import (
    check_dtype,
    check_neighbours,
    clone_for,
    is_auto,
    schedule_for,
    shared_for,
)
from rankfold.align.settings import AlignSettings
from rankfold.errors import InputError
from rankfold.manifold import Projector, WholeRows
from rankfold.occluders import Occluder
from rankfold.result import Decomposition
from rankfold.scale import Executor, executor_for
from rankfold.stack import power_of_two
from rankfold.status import Observer, Trace, announce
from rankfold.version import __version__

Array = npt.NDArray[Any]


def decompose(
    X: npt.ArrayLike,
    method: str | Method = "rpca",
    *,
    sparsity_weight: float = 1.0,
    projector: str | Projector | WholeRows | None = "auto",
    n_neighbors: int | None = None,
    rank_surrogate: str = "auto",
    shared: float | None = None,
    schedule: str = "auto",
    tol: float | None = None,
    max_iter: int = 5000,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    observe: Observer | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float64,
    settings: AlignSettings | None = None,
) -> Decomposition:
    """Split a matrix, or a stack of aligned pictures, into low rank + sparse.

    Parameters
    ----------
    X : (n, m) or (n, h, w[, c]) array
        One sample a row; NaN marks a missing value, which the low-rank part fills in.
    method : {"rpca", "meadmm"} or Method
    sparsity_weight : float
        λ_c of λ = λ_c/√max(n, m).
    projector, n_neighbors, rank_surrogate, settings
        As in :func:`align`.
    shared : float, optional
        As in :func:`align`; plain rows (n, m) are no pictures, and nothing is looked for in them.
    schedule : {"auto", "certified", "rough", "published"}
        How the penalty grows, and when to stop. "certified" (what "auto" means for robust PCA)
        stops when a lower bound proves that no decomposition is much better; "published" does as
        RASL does, and may end with status STALLED. MeADMM and the reweighted surrogate are not
        convex, so nothing can be proved, and "certified" is refused: "rough" and "published",
        which are the same here, end as RASL does.
    tol : float, optional
        For "certified", how far the objective may be above the optimum, relative to itself: 1e-4
        if left out. 1e-3 saves a fifth of the time, 1e-6 takes about four times as long. For the
        others, stop when ‖X - A - E‖_F ≤ tol ‖X‖_F: 1e-7 if left out.
    max_iter : int
        Iterations at most.
    n_jobs, executor, observe, strict
        As in :func:`align`.
    dtype : float64 or float32
        The precision.

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
    refuse_ignored(
        chosen,
        projector=projector,
        n_neighbors=n_neighbors,
        rank_surrogate=rank_surrogate,
        schedule=schedule,
    )
    manifold = chosen.projector if is_auto(projector) else projector
    if chosen.moves and chosen.projector is None:
        raise InputError(
            f"method {chosen.name!r} is its transforms; use align(), or decompose(method='rpca')"
        )
    settings = settings or AlignSettings()
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    check_neighbours(n_neighbors, manifold)
    neighbours = settings.manifold.last_n_neighbors if n_neighbors is None else n_neighbors
    clone = clone_for(manifold, neighbours, settings)
    share = shared_for(chosen, shared)
    growth = schedule_for(chosen, projector, rank_surrogate, schedule)
    inner = Settings(
        tol=growth.tol if tol is None else tol,
        max_iter=max_iter,
        penalty=growth.penalty,
        surrogate=surrogate,
        surrogate_start=settings.surrogate.start,
        clone=clone,
        # Another solver may mean something else by its tolerance.
        certified=growth.certified and chosen.solve is solve,
    )
    rows = Samples.of(X, dtype)
    problem = Problem(
        rows.data,
        default_sparsity(rows.data.shape, sparsity_weight),
        weights_of(rows.valid),
        shape=rows.row_shape,
    )
    with executor_for(executor, n_jobs) as run:
        solution = chosen.solve(problem, inner, run, observe)
        records = solution.records
        occluders: tuple[Occluder, ...] = ()
        if share > 0 and rows.are_pictures and not solution.status.over:

            def once_more(data: Array, seen: npt.NDArray[np.bool_]) -> Solution:
                changed = replace(problem, data=data, weights=weights_of(seen))
                return chosen.solve(changed, inner, run, observe)

            decomposed = Decomposed(
                rows.data, solution.low_rank, rows.valid, problem.row_units, rows.row_shape
            )
            found = take_out(decomposed, share, settings, once_more)
            if found is not None:
                solution = found.solution
                occluders = found.occluders
                records += found.records + solution.records
    announce(solution.status, "decompose", strict)
    low_rank, sparse = rows.pictures(solution)
    return Decomposition(
        low_rank=low_rank,
        sparse=sparse,
        singular_values=rows.unit * solution.singular_values,
        objective=rows.unit * solution.objective,
        gap=solution.proved_gap,
        occluders=occluders,
        sparsity=problem.sparsity,
        method=chosen.name,
        status=solution.status,
        trace=Trace.of(records),
        version=__version__,
    )


@dataclass(frozen=True)
class Samples:
    """The caller's array as rows, and the way back."""

    data: Array  # (n, m), in units of ``unit``, zero where missing
    valid: npt.NDArray[np.bool_]  # (n, m)
    unit: float  # a power of two
    shape: tuple[int, ...]  # of the caller's array

    @classmethod
    def of(cls, X: npt.ArrayLike, dtype: npt.DTypeLike) -> Samples:
        """Check the array and bring it into rows; colour becomes (channels, height, width)."""
        given = _checked(X)
        data = given.reshape(len(given), -1).astype(check_dtype(dtype))
        if np.isinf(data).any():
            raise InputError("the data contain infinity; write NaN where a value is missing")
        valid = ~np.isnan(data)
        if not valid.any():
            raise InputError("the data are NaN everywhere, so there is nothing to decompose")
        if not valid.all():
            data[~valid] = 0
        # A power of two changes no digit, and keeps squares of tiny or huge values in range.
        unit = power_of_two(data)
        data /= np.asarray(unit, data.dtype)
        # Inside, a row is (channels, height, width), so that a channel is one picture.
        if given.ndim == 4:
            data = _channels_first(data, given.shape)
            valid = _channels_first(valid, given.shape)
        return cls(data, valid, unit, given.shape)

    @property
    def are_pictures(self) -> bool:
        """Whether the rows are pictures, with pixels side by side."""
        return len(self.shape) > 2

    @property
    def row_shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of a row."""
        if len(self.shape) == 2:
            return 1, 1, self.shape[1]
        channels = self.shape[3] if len(self.shape) == 4 else 1
        return channels, self.shape[1], self.shape[2]

    def pictures(self, solution: Solution) -> tuple[Array, Array]:
        """Low-rank and sparse part in the caller's shape and units."""
        # Copies: the solution's arrays are part of all that the solver had.
        low_rank = self.unit * solution.low_rank
        # A + E is X only to the tolerance: what is not in A belongs to the error.
        sparse = self.unit * (self.data - solution.low_rank)
        if not self.valid.all():
            # A row or a column that nobody saw stays unknown.
            known = self.valid.any(axis=0) & self.valid.any(axis=1, keepdims=True)
            low_rank = np.where(known, low_rank, np.nan)
            sparse = np.where(self.valid, sparse, 0)
        return self._like_given(low_rank), self._like_given(sparse)

    def _like_given(self, rows: Array) -> Array:
        """Rows (n, m) in the shape of the caller's array."""
        if len(self.shape) < 4:
            return rows.reshape(self.shape)
        n, height, width, channels = self.shape
        return np.moveaxis(rows.reshape(n, channels, height, width), 1, -1)


def _checked(X: npt.ArrayLike) -> Array:
    """The caller's array; masked values become NaN."""
    if np.ma.isMaskedArray(X):
        given = np.ma.filled(np.ma.asarray(X).astype(float), np.nan)
    else:
        given = np.asarray(X)
    if not 2 <= given.ndim <= 4 or 0 in given.shape:
        raise InputError(
            f"the data have shape {given.shape}; give (n, m) or (n, height, width[, channels])"
        )
    numeric = np.issubdtype(given.dtype, np.number) or given.dtype == bool
    if np.iscomplexobj(given) or not numeric:
        raise InputError(f"the data have type {given.dtype}; pass integers or floats")
    return given


def _channels_first(rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows (n, h w c) as (n, c h w)."""
    moved = np.moveaxis(rows.reshape(shape), -1, 1)
    return np.ascontiguousarray(moved).reshape(rows.shape)
