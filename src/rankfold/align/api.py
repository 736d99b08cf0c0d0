"""The public function :func:`align`: pictures in, transforms, clean pictures and error maps out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, solve
from rankfold.admm.problem import default_sparsity, scheduled
from rankfold.align.features import check_features
from rankfold.align.loop import QUICK_END, OuterSettings, weights_of
from rankfold.align.methods import (
    check_cover,
    check_dtype,
    check_variant,
    clone_for,
    coarse_for,
    frame_for,
    get_method,
    start_transforms,
    uses_all_channels,
)
from rankfold.align.scores import FAILED, place_scores
from rankfold.align.stages import Job, feature_rows, run_stages
from rankfold.align.steps import Gauge, check_gauge
from rankfold.errors import InputError
from rankfold.executors import Executor, executor_for
from rankfold.families import get_family
from rankfold.manifold import Projector
from rankfold.result import Alignment
from rankfold.stack import Frame, Points, Stack
from rankfold.status import Observer, Status, Trace, announce
from rankfold.warp.linearisation import warp_normalised
from rankfold.warp.sampling import prepare


def align(
    images: Stack | npt.NDArray[Any] | Sequence[npt.ArrayLike],
    method: str = "meadmm",
    family: str = "similarity",
    frame: tuple[int, int] | Frame | None = None,
    init: str | npt.ArrayLike | Points = "centred",
    *,
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
    sparsity_weight: float = 1.0,
    projector: str | Projector | None = "auto",
    n_neighbors: int | None = None,
    rank_surrogate: str = "auto",
    features: str | None = "auto",
    rescue: str | bool = "auto",
    coarse: str | bool = "auto",
    variant: str = "merged",
    channels: str = "luminance",
    gauge: Gauge = "mean",
    max_outer: int = 50,
    outer_tol: float = 0.02,
    max_inner: int = 1000,
    inner_tol: float = 1e-6,
    schedule: str = "balanced",
    n_jobs: int | None = None,
    executor: Executor | None = None,
    observe: Observer | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> Alignment:
    """Align pictures of one thing and split each into a clean low-rank picture and what did not belong.

    Parameters
    ----------
    images : list of (h, w) or (h, w, c) arrays, one (n, h, w[, c]) array, or a Stack
        Integers are taken as 0 to the largest value of their type; NaN marks a missing pixel.
    method : {"meadmm", "rasl", "rpca"}
        What "auto" means below. "rasl" is RASL as published, with the right derivative, step control and gauge;
        "rpca" keeps the transforms of ``init`` and only decomposes.
    family : {"translation", "euclidean", "similarity", "affine", "homography"}
        What each picture may do, on top of its start.
    frame : (height, width), optional
        The canonical grid; the median size of the pictures by default.
    init : "centred", "identity", (n, 3, 3) array or Points
        Where to start: the frame over the middle of each picture at its resolution, over its top left corner,
        given matrices (frame to picture coordinates, (x, y), 0-based), or corresponding points.
    masks : list of (h, w) arrays, optional
        True where a pixel may be used.
    sparsity_weight : float
        λ_c of λ = λ_c/√max(n, m), m the pixels of the frame. One suits up to about 15 % of hidden pixels; use 0.6-0.7
        where half of the pictures have 40 % of their area hidden.
    projector : row of PROJECTORS, callable, None or "auto"
        The manifold that the low-rank images are held on; a callable gets a :class:`rankfold.manifold.Context`.
    n_neighbors : int, optional
        K of the projector; 7 while aligning and 12 for the last decomposition by default, at most n - 1.
    rank_surrogate : {"nuclear", "reweighted", "auto"}
        "reweighted" continues with a concave surrogate of the rank once the nuclear norm has converged.
    features : {"contrast", None, "auto"}
        Find the transforms on contrast features first; light matters less there.
    rescue : bool or "auto"
        Look for a better place for single pictures that stand apart. Turn it off where the pictures have no common
        basis (handwriting).
    coarse : bool or "auto"
        Start with blurred pictures, for pictures that are far off. "auto" (MeADMM) tries it when ``init`` is not given
        as transforms or points, and keeps it if the pictures agree better a few steps later.
    variant : {"merged", "literal"}
        "literal" runs the paper's Algorithm 2 as it is printed, which does not converge; for comparison only.
    channels : {"luminance", "joint"}
        For colour: transforms from the luminance, or from all channels together. Outputs are in colour either way.
    gauge : {"mean", "none"} or int
        What keeps all transforms from drifting together: the mean stays, nothing does, or image k stays.
    max_outer, outer_tol : int, float
        At most so many linearisations; stop when the median image's corners move less than this (frame pixels).
    max_inner, inner_tol : int, float
        The same for the inner solver; its tolerance is relative to the norm of the data. The last decomposition may
        take five times as many iterations, because it also waits for the dual residual.
    schedule : {"balanced", "quick"}
        "balanced" solves the problem of every step from scratch to ``inner_tol``, as RASL does, and ends at an optimum.
        "quick" solves it to 1e-2, later 3e-3, from where the last one ended, in single precision, and ends a little
        above the optimum, in a fifth to a tenth of the time. For RASL and twenty pictures or more: with fewer, three
        digits are too few. MeADMM has its own.
    n_jobs : int, optional
        Threads; -1 for all cores. The result has the same bits for every number.
    executor : Executor, optional
        Your own way to run the slabs, instead of ``n_jobs``.
    observe : callable, optional
        Called with an InnerRecord or OuterRecord after each iteration; return True to stop and keep what there is.
    strict : bool
        Raise ConvergenceError instead of warning when the run did not converge.
    dtype : float64 or float32
        Precision of the steps on pixels and of the result. What is done on features is in single precision for large
        batches in any case; so are the steps of ``schedule="quick"``.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import rankfold as rf
    >>> from rankfold.datasets import rendered_heads
    >>> heads = rendered_heads(n=8, seed=0)
    >>> result = rf.align(heads.images, family="similarity", frame=heads.frame, init=heads.start)
    >>> result.transforms.shape, result.low_rank.shape
    ((8, 3, 3), (8, 45, 42))
    """
    chosen, kind, joint = get_method(method), get_family(family), uses_all_channels(channels)
    stack = Stack.of(images, masks, dtype=check_dtype(dtype))
    stack.check_alignable()
    grid = frame_for(frame, stack)
    start = start_transforms(init, stack, grid, family)
    if schedule not in ("balanced", "quick"):
        raise InputError(f"unknown schedule {schedule!r}; choose one of balanced, quick")
    quick = schedule == "quick"
    projector = (
        chosen.projector if isinstance(projector, str) and projector == "auto" else projector
    )
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    check_variant(variant, projector)
    held = check_gauge(gauge, len(stack))
    outer = OuterSettings(max_outer, outer_tol, gauge=held, quick=quick and projector is None)
    inner = Settings(tol=inner_tol, max_iter=max_inner, surrogate=surrogate, variant=variant)
    with executor_for(executor, n_jobs) as run:
        full = prepare(stack, grid, start, dtype, run)
        check_cover(full, start)
        guide = stack if joint else stack.luminance()
        if guide is not stack:
            guide.check_alignable()
        job = Job(
            guide=guide,
            pixels=full if guide is stack else prepare(guide, grid, start, dtype, run),
            frame=grid,
            start=start,
            family=kind,
            sparsity_weight=sparsity_weight,
            inner=inner,
            outer=outer,
            clone=clone_for(projector, n_neighbors or 7),
            surrogate=surrogate,
            features=check_features(chosen.features if features == "auto" else features),
            rescue=chosen.rescue if rescue == "auto" else bool(rescue),
            coarse=coarse_for(coarse, chosen, init),
            dtype=dtype,
            executor=run,
            observe=observe,
        )
        moved = run_stages(job) if chosen.moves else None
        transforms = start if moved is None else moved.motion.transforms
        data, norms, valid = warp_normalised(full, transforms, run)
        # at fixed transforms, so that aligned = low_rank + sparse to the tolerance
        problem = Problem(
            data,
            default_sparsity(data.shape, sparsity_weight),
            weights_of(valid),
            units=full.value_range / norms,
            shape=full.row_shape,
        )
        exact = replace(inner, clone=clone_for(projector, n_neighbors or 12))
        near = None
        if exact.convex:
            exact = scheduled(replace(exact, max_iter=5 * max_inner), schedule)
            if quick and moved is not None and not moved.over and guide is stack:
                near, exact = moved.solution, replace(exact, penalty_start=QUICK_END)
        # an observer that has stopped the alignment still gets its pictures decomposed
        watched = None if moved is not None and moved.over else observe
        solution = solve(problem, exact, run, watched, near=near)
        if job.features is None:
            scores = place_scores(full, transforms, data, solution.low_rank, valid, run)
        else:
            scores = place_scores(
                job.contrast, transforms, *feature_rows(job, transforms), run, offset=1.0
            )
    interrupted = solution.status is Status.STOPPED
    sparse = data - solution.low_rank if interrupted else solution.sparse
    status = solution.status if moved is None or moved.status.good or interrupted else moved.status
    if status is not Status.STALLED or not quick:  # otherwise that is what was asked for
        announce(status, "align", strict)
    seen = valid.any(axis=0)
    units = (norms * stack.units)[:, None].astype(data.dtype)
    return Alignment(
        transforms=stack.to_original(transforms),
        start=stack.to_original(start),
        aligned=_pictures(np.where(valid, data * units, np.nan), stack, grid),
        low_rank=_pictures(np.where(seen, solution.low_rank * units, np.nan), stack, grid),
        sparse=_pictures(np.where(valid, sparse * units, 0), stack, grid),
        valid=valid.reshape(len(stack), -1, *grid.shape)[:, 0],
        scores=scores,
        failed=scores > FAILED,
        singular_values=solution.singular_values,
        objective=solution.objective,
        status=status,
        stop_rule="observer"
        if interrupted
        else "fixed transforms"
        if moved is None
        else moved.stop_rule,
        rescued=np.zeros(len(stack), bool)
        if moved is None or moved.rescued is None
        else moved.rescued,
        trace=Trace.of(
            (*(moved.inner if moved else ()), *solution.records),
            [replace(r, transforms=stack.to_original(r.transforms)) for r in moved.outer]
            if moved
            else (),
            dict(moved.moved) if moved else {},
        ),
        names=stack.names,
        source_shapes=np.array(stack.original_shapes),
        method=method,
        family=family,
    )


def _pictures(rows: npt.NDArray[Any], stack: Stack, frame: Frame) -> npt.NDArray[Any]:
    """Rows (n, c h w) as (n, h, w) or (n, h, w, c)."""
    planes = rows.reshape(len(rows), -1, *frame.shape)
    return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]
