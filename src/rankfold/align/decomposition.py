"""The public function :func:`decompose`: low rank + sparse of a matrix or of aligned pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, Solution, default_sparsity, solve, weights_of
from rankfold.align.arguments import check_arguments
from rankfold.align.batches import FromSource
from rankfold.align.methods import Method, get_method, refuse_ignored
from rankfold.align.occluders import Decomposed, take_out
from rankfold.align.plan import needs_of
from rankfold.align.reduction import batch_reduction
from rankfold.align.request import (
    check_neighbours,
    clone_for,
    is_auto,
    schedule_for,
    shared_for,
)
from rankfold.align.samples import Samples, checked
from rankfold.align.settings import AlignSettings
from rankfold.errors import InputError
from rankfold.io import Source, open_pictures
from rankfold.manifold import Projector, WholeRows
from rankfold.occluders import Occluder
from rankfold.result import Decomposition
from rankfold.scale import (
    MEMORY,
    Executor,
    check_executor,
    executor_for,
    store_for,
    store_of,
)
from rankfold.status import Observer, Trace, announce
from rankfold.version import __version__

Array = npt.NDArray[Any]


def decompose(
    X: npt.ArrayLike | str | Path | FromSource,
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
    memory_limit: int | str | None = None,
    scratch: str | Path | None = None,
    observe: Observer | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float64,
    settings: AlignSettings | None = None,
) -> Decomposition:
    """Split a matrix, or a stack of aligned pictures, into low rank + sparse.

    Parameters
    ----------
    X : (n, m) or (n, h, w[, c]) array, or a path
        One sample a row; NaN marks a missing value, which the low-rank part fills in. Of a path,
        which is anything that ``rankfold.io.open_pictures`` reads, one picture is read at a time,
        coarser where all together would be very large, as by ``rankfold decompose``.
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
    n_jobs, executor, memory_limit, scratch, observe, strict
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
    # Nothing but the arguments has a name yet.
    check_arguments(locals())
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
        keeps=False,
    )
    given = batch_of(X, dtype) if isinstance(X, str | Path | FromSource) else checked(X)
    n, *shape = (len(given.names), *given.shape) if isinstance(given, FromSource) else given.shape
    check_executor(executor, memory_limit, scratch)
    needs = needs_of(n, int(np.prod(shape)), 0, None, 1, np.dtype(dtype) == np.float32)
    store = store_for(needs, memory_limit, scratch) if executor is None else MEMORY
    with executor_for(executor, n_jobs, store) as run:
        if isinstance(given, FromSource):
            rows = Samples.read(given, store_of(run))
        else:
            rows = Samples.of(given, dtype, store_of(run))
        problem = Problem(
            rows.data,
            default_sparsity(rows.data.shape, sparsity_weight),
            weights_of(rows.valid),
            shape=rows.row_shape,
            origin=rows.origin,
        )
        solution = chosen.solve(problem, inner, run, observe)
        records = solution.records
        occluders: tuple[Occluder, ...] = ()
        if share > 0 and rows.are_pictures and not solution.status.over:

            def once_more(data: Array, seen: npt.NDArray[np.bool_]) -> Solution:
                # What was taken out is known here alone.
                changed = replace(problem, data=data, weights=weights_of(seen), origin=None)
                return chosen.solve(changed, inner, run, observe)

            decomposed = Decomposed(
                rows.data, solution.low_rank, rows.valid, problem.row_units, rows.row_shape
            )
            found = take_out(decomposed, share, settings, once_more, store_of(run))
            if found is not None:
                solution = found.solution
                occluders = found.occluders
                records += found.records + solution.records
        low_rank, sparse = rows.pictures(solution.low_rank, store_of(run))
    announce(solution.status, "decompose", strict)
    return Decomposition(
        low_rank=low_rank,
        sparse=sparse,
        singular_values=rows.largest_unit * solution.singular_values,
        objective=rows.largest_unit * solution.objective,
        gap=solution.proved_gap,
        occluders=occluders,
        sparsity=problem.sparsity,
        method=chosen.name,
        status=solution.status,
        trace=Trace.of(records),
        version=__version__,
    )


def batch_of(path: str | Path | FromSource, dtype: npt.DTypeLike) -> FromSource:
    """Look at pictures that are decomposed as they lie, and refuse those of several sizes."""
    if isinstance(path, FromSource):
        return path
    source = open_pictures(path)
    check_one_size(source)
    return FromSource(source, batch_reduction(len(source), source.shapes[0]), dtype)


def check_one_size(source: Source) -> None:
    """Refuse pictures that cannot be decomposed as they lie: of several sizes, or one only."""
    sizes = {shape[:2] for shape in source.shapes}
    if len(sizes) > 1:
        raise InputError(
            f"the pictures of {source.path} have {len(sizes)} different sizes; "
            "use align, not decompose"
        )
    if len(source) < 2:
        raise InputError(f"{source.path} has one picture only; a decomposition needs at least two")
