"""The two public functions: :func:`align` for misaligned pictures, :func:`decompose` for a plain matrix or stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, Settings, solve
from rankfold.admm.problem import default_sparsity
from rankfold.align.loop import OuterSettings, iterate, weights_of
from rankfold.align.scores import FAILED, place_scores
from rankfold.align.steps import Gauge
from rankfold.errors import InputError
from rankfold.executors import Executor, executor_for
from rankfold.families import Floats, get_family
from rankfold.result import Alignment, Decomposition
from rankfold.stack import Frame, Points, Stack
from rankfold.status import Observer, Trace, announce
from rankfold.warp.linearisation import Motion, warp_normalised
from rankfold.warp.sampling import Sampler, prepare

# Where no alignment step is waiting for it, the decomposition takes the time to be optimal: the penalty grows only
# while the dual residual keeps up. Costs two to five times the iterations, gains two to three digits.
BALANCE = 30.0
MIN_COVER = 0.5  # share of the frame that at least one source must cover at the start


@dataclass(frozen=True)
class Method:
    """A configuration of the one solver; a row of METHODS."""

    name: str
    summary: str
    moves: bool  # whether it estimates transforms


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rpca", "robust PCA: low rank + sparse at fixed transforms", moves=False),
        Method("rasl", "RASL: low rank + sparse + one transform an image", moves=True),
    )
}


def align(
    images: Stack | npt.NDArray[Any] | Sequence[npt.ArrayLike],
    method: str = "rasl",
    family: str = "similarity",
    frame: tuple[int, int] | Frame | None = None,
    init: str | npt.ArrayLike | Points = "centred",
    *,
    masks: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
    sparsity_weight: float = 1.0,
    channels: str = "luminance",
    gauge: Gauge = "mean",
    max_outer: int = 50,
    outer_tol: float = 0.02,
    max_inner: int = 1000,
    inner_tol: float = 1e-6,
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
    method : {"rasl", "rpca"}
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
        λ_c of λ = λ_c/√m. Lower it to 0.6-0.7 where much of the area is hidden.
    channels : {"luminance", "joint"}
        For colour: transforms from the luminance, or from all channels together. Outputs are in colour either way.
    gauge : {"mean", "none"} or int
        What keeps all transforms from drifting together: the mean stays, nothing does, or image k stays.
    max_outer, outer_tol : int, float
        At most so many linearisations; stop when the median image's corners move less than this (frame pixels).
    max_inner, inner_tol : int, float
        The same for the inner solver; its tolerance is relative to the norm of the data.
    n_jobs : int, optional
        Threads; -1 for all cores. The result has the same bits for every number.
    executor : Executor, optional
        Your own way to run the slabs, instead of ``n_jobs``.
    observe : callable, optional
        Called with an InnerRecord or OuterRecord after each iteration; return True to stop and keep what there is.
    strict : bool
        Raise ConvergenceError instead of warning when the run did not converge.
    dtype : float64 or float32

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
    chosen, kind = _method(method), get_family(family)
    stack = Stack.of(images, masks, dtype=_float(dtype))
    stack.check_alignable()
    grid = _frame(frame, stack)
    start = _start(init, stack, grid, family)
    settings = OuterSettings(max_outer=max_outer, outer_tol=outer_tol, gauge=gauge)
    inner = Settings(tol=inner_tol, max_iter=max_inner)
    with executor_for(executor, n_jobs) as run:
        full = prepare(stack, grid, start, dtype, run)
        _check_cover(full, start, run)
        moved = None
        transforms = start
        if chosen.moves:
            guide = full if _joint(channels) else prepare(stack.luminance(), grid, start, dtype, run)
            lam = default_sparsity((len(stack), _row_length(guide)), sparsity_weight)
            motion = Motion.starting_at(start, kind, grid.centre)
            moved = iterate(guide, motion, lam, inner, settings, run, observe)
            transforms = moved.motion.transforms
        data, norms, valid = warp_normalised(full, transforms, run)
        lam = default_sparsity(data.shape, sparsity_weight)
        # at fixed transforms, so that aligned = low_rank + sparse to the last digit
        exact = replace(inner, balance=BALANCE, max_iter=max(max_inner, 5000))
        solution = solve(Problem(data, lam, weights_of(valid)), exact, run, observe)
        scores = place_scores(full, transforms, data, solution.low_rank, valid, run)
    status = solution.status if moved is None or moved.status.good else moved.status
    announce(status, "align", strict)
    seen = valid.any(axis=0)
    units = (norms * stack.units)[:, None].astype(data.dtype)
    return Alignment(
        transforms=transforms,
        start=start,
        aligned=_pictures(np.where(valid, data * units, np.nan), stack, grid),
        low_rank=_pictures(np.where(seen, solution.low_rank * units, np.nan), stack, grid),
        sparse=_pictures(np.where(valid, solution.sparse * units, 0), stack, grid),
        valid=valid.reshape(len(stack), -1, *grid.shape)[:, 0],
        scores=scores,
        failed=scores > FAILED,
        singular_values=solution.singular_values,
        objective=solution.objective,
        status=status,
        stop_rule=moved.stop_rule if moved is not None else "fixed transforms",
        trace=Trace.of((*(moved.inner if moved else ()), *solution.records), moved.outer if moved else ()),
        names=stack.names,
        source_shapes=np.array([s.shape[:2] for s in stack.sources]),
        method=method,
        family=family,
    )


def decompose(
    X: npt.ArrayLike,
    method: str = "rpca",
    *,
    sparsity_weight: float = 1.0,
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
    method : {"rpca"}
    sparsity_weight : float
        λ_c of λ = λ_c/√max(n, m).
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
    if _method(method).moves:
        raise InputError(f"method {method!r} estimates transforms; use align(), or decompose(method='rpca')")
    given = np.asarray(X)
    if given.ndim < 2 or 0 in given.shape:
        raise InputError(f"the data have shape {given.shape}; give (n, m) or (n, height, width[, channels])")
    if np.iscomplexobj(given) or not (np.issubdtype(given.dtype, np.number) or given.dtype == bool):
        raise InputError(f"the data have type {given.dtype}; pass integers or floats")
    data = given.reshape(len(given), -1).astype(_float(dtype))
    if np.isinf(data).any():
        raise InputError("the data contain infinity; write NaN where a value is missing")
    valid = ~np.isnan(data)
    if not valid.any():
        raise InputError("the data are NaN everywhere, so there is nothing to decompose")
    data[~valid] = 0
    problem = Problem(data, default_sparsity(data.shape, sparsity_weight), weights_of(valid))
    with executor_for(executor, n_jobs) as run:
        solution = solve(problem, Settings(tol=tol, max_iter=max_iter, balance=BALANCE), run, observe)
    announce(solution.status, "decompose", strict)
    return Decomposition(
        low_rank=solution.low_rank.reshape(given.shape),
        sparse=np.where(valid, solution.sparse, 0).reshape(given.shape),
        singular_values=solution.singular_values,
        objective=solution.objective,
        sparsity=problem.sparsity,
        method=method,
        status=solution.status,
        trace=Trace.of(solution.records),
    )


def _pictures(rows: npt.NDArray[Any], stack: Stack, frame: Frame) -> npt.NDArray[Any]:
    """Rows (n, c h w) as (n, h, w) or (n, h, w, c)."""
    planes = rows.reshape(len(rows), -1, *frame.shape)
    return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]


def _method(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def _float(dtype: npt.DTypeLike) -> npt.DTypeLike:
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"dtype {np.dtype(dtype)} is not supported; use float64 or float32")
    return dtype


def _joint(channels: str) -> bool:
    if channels not in ("luminance", "joint"):
        raise InputError(f"unknown channels={channels!r}; use 'luminance' or 'joint'")
    return channels == "joint"


def _frame(frame: tuple[int, int] | Frame | None, stack: Stack) -> Frame:
    if frame is None:
        return stack.default_frame()
    return frame if isinstance(frame, Frame) else Frame(*(int(size) for size in frame))


def _start(init: str | npt.ArrayLike | Points, stack: Stack, frame: Frame, family: str) -> Floats:
    """Transforms (n, 3, 3) to start from."""
    n = len(stack)
    if isinstance(init, str):
        if init not in ("centred", "identity"):
            raise InputError(f"unknown init {init!r}; use 'centred', 'identity', an (n, 3, 3) array or Points")
        return stack.centred(frame) if init == "centred" else np.tile(np.eye(3), (n, 1, 1))
    transforms = init.transforms(get_family(family)) if isinstance(init, Points) else np.asarray(init, np.float64)
    if transforms.shape != (n, 3, 3):
        raise InputError(f"init has shape {transforms.shape}; {n} images need ({n}, 3, 3)")
    for T, name in zip(transforms, stack.names, strict=True):
        if not np.isfinite(T).all() or abs(np.linalg.det(T)) < 1e-12 or T[2, 2] == 0:
            raise InputError(f"the start transform of {name} is not finite or not invertible; correct it in init")
    return transforms / transforms[:, 2:, 2:]


def _row_length(sampler: Sampler) -> int:
    return len(sampler.coefficients[0]) * sampler.frame.height * sampler.frame.width


def _check_cover(sampler: Sampler, start: Floats, executor: Executor) -> None:
    """Refuse a frame most of which no picture covers."""
    _, _, valid = warp_normalised(sampler, start, executor)
    cover = float(valid.any(axis=0).mean())
    if cover < MIN_COVER:
        h, w = sampler.frame.shape
        raise InputError(
            f"only {cover:.0%} of the {h}x{w} frame lies inside any of the pictures at the start; "
            "use a smaller frame, or an init that spreads it over more of them"
        )
