"""The two public functions: :func:`align` for misaligned pictures, :func:`decompose` for a plain matrix or stack."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Clone, Problem, Settings, solve
from rankfold.admm.problem import default_sparsity
from rankfold.align.features import check_features
from rankfold.align.loop import OuterSettings, weights_of
from rankfold.align.scores import FAILED, place_scores
from rankfold.align.stages import Job, feature_rows, run_stages
from rankfold.align.steps import Gauge, check_gauge
from rankfold.errors import InputError
from rankfold.executors import Executor, executor_for
from rankfold.families import Floats, get_family
from rankfold.manifold import Projector, get_projector
from rankfold.result import Alignment, Decomposition
from rankfold.stack import Frame, Points, Stack, power_of_two
from rankfold.status import Observer, Status, Trace, announce
from rankfold.warp.linearisation import warp_normalised
from rankfold.warp.sampling import Sampler, prepare

# Where no alignment step is waiting for it, the decomposition takes the time to be optimal: the penalty grows only
# while the dual residual keeps up. Costs two to five times the iterations, gains two to three digits.
BALANCE = 30.0
MIN_COVER = 0.5  # share of the frame that at least one source must cover at the start


@dataclass(frozen=True)
class Method:
    """A configuration of the one solver and its stages; a row of METHODS. Every choice can be overridden."""

    name: str
    summary: str
    moves: bool = True  # whether it estimates transforms
    projector: str | None = None  # a row of PROJECTORS: the manifold constraint
    rank_surrogate: str = "nuclear"
    features: str | None = None
    rescue: bool = False
    coarse: str | bool = False


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rpca", "robust PCA: low rank + sparse at fixed transforms", moves=False),
        Method("rasl", "RASL: low rank + sparse + one transform an image"),
        Method(
            "meadmm",
            "MeADMM: RASL with the low-rank images on a learned manifold, after stages that find the place",
            projector="regression",
            rank_surrogate="reweighted",
            features="contrast",
            rescue=True,
            coarse="auto",
        ),
    )
}


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
        as transforms or points, and keeps it if the pictures then agree better.
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
    chosen, kind, joint = _method(method), get_family(family), _joint(channels)
    stack = Stack.of(images, masks, dtype=_float(dtype))
    stack.check_alignable()
    grid = _frame(frame, stack)
    start = start_transforms(init, stack, grid, family)
    outer = OuterSettings(max_outer=max_outer, outer_tol=outer_tol, gauge=check_gauge(gauge, len(stack)))
    projector = chosen.projector if isinstance(projector, str) and projector == "auto" else projector
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    _check_variant(variant, projector)
    inner = Settings(tol=inner_tol, max_iter=max_inner, surrogate=surrogate, variant=variant)
    with executor_for(executor, n_jobs) as run:
        full = prepare(stack, grid, start, dtype, run)
        _check_cover(full, start, run)
        guide = stack if joint else stack.luminance()
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
            clone=_clone(projector, n_neighbors or 7),
            surrogate=surrogate,
            features=check_features(chosen.features if features == "auto" else features),
            rescue=chosen.rescue if rescue == "auto" else bool(rescue),
            coarse=_coarse(coarse, chosen, init),
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
        exact = replace(inner, clone=_clone(projector, n_neighbors or 12))
        if exact.convex:
            exact = replace(exact, balance=BALANCE, max_iter=5 * max_inner)
        # an observer that has stopped the alignment still gets its pictures decomposed
        watched = None if moved is not None and moved.over else observe
        solution = solve(problem, exact, run, watched)
        if job.features is None:
            scores = place_scores(full, transforms, data, solution.low_rank, valid, run)
        else:
            scores = place_scores(job.contrast, transforms, *feature_rows(job, transforms), run, offset=1.0)
    interrupted = solution.status is Status.STOPPED
    sparse = data - solution.low_rank if interrupted else solution.sparse
    status = solution.status if moved is None or moved.status.good else moved.status
    announce(status, "align", strict)
    seen = valid.any(axis=0)
    units = (norms * stack.units)[:, None].astype(data.dtype)
    return Alignment(
        transforms=transforms,
        start=start,
        aligned=_pictures(np.where(valid, data * units, np.nan), stack, grid),
        low_rank=_pictures(np.where(seen, solution.low_rank * units, np.nan), stack, grid),
        sparse=_pictures(np.where(valid, sparse * units, 0), stack, grid),
        valid=valid.reshape(len(stack), -1, *grid.shape)[:, 0],
        scores=scores,
        failed=scores > FAILED,
        singular_values=solution.singular_values,
        objective=solution.objective,
        status=status,
        stop_rule="observer" if interrupted else "fixed transforms" if moved is None else moved.stop_rule,
        rescued=np.zeros(len(stack), bool) if moved is None or moved.rescued is None else moved.rescued,
        trace=Trace.of(
            (*(moved.inner if moved else ()), *solution.records),
            moved.outer if moved else (),
            dict(moved.moved) if moved else {},
        ),
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
    projector: str | Projector | None = "auto",
    n_neighbors: int = 12,
    rank_surrogate: str = "auto",
    variant: str = "merged",
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
    chosen = _method(method)
    if chosen.moves and chosen.projector is None:
        raise InputError(f"method {method!r} is its transforms; use align(), or decompose(method='rpca')")
    projector = chosen.projector if isinstance(projector, str) and projector == "auto" else projector
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    _check_variant(variant, projector)
    given = np.ma.filled(np.ma.asarray(X).astype(float), np.nan) if np.ma.isMaskedArray(X) else np.asarray(X)
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
    unit = power_of_two(data)
    data = data / np.asarray(unit, data.dtype)
    shape = (1, 1, data.shape[1]) if given.ndim == 2 else (1, *given.shape[1:3])
    if given.ndim == 4:  # rows are (channels, height, width) inside
        data = np.ascontiguousarray(np.moveaxis(data.reshape(given.shape), -1, 1)).reshape(data.shape)
        valid = np.moveaxis(valid.reshape(given.shape), -1, 1).reshape(data.shape)
        shape = (given.shape[3], *given.shape[1:3])
    problem = Problem(data, default_sparsity(data.shape, sparsity_weight), weights_of(valid), shape=shape)
    settings = Settings(
        tol=tol, max_iter=max_iter, surrogate=surrogate, clone=_clone(projector, n_neighbors), variant=variant
    )
    settings = replace(settings, balance=BALANCE) if settings.convex else settings
    with executor_for(executor, n_jobs) as run:
        solution = solve(problem, settings, run, observe)
    announce(solution.status, "decompose", strict)
    sparse = data - solution.low_rank if solution.status is Status.STOPPED else solution.sparse
    known = valid.any(axis=0) & valid.any(axis=1)[:, None]  # a row or column that nobody saw stays unknown
    return Decomposition(
        low_rank=_like(np.where(known, solution.low_rank * unit, np.nan).astype(data.dtype), given.shape),
        sparse=_like(np.where(valid, sparse * unit, 0).astype(data.dtype), given.shape),
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


def _clone(projector: str | Projector | None, n_neighbors: int) -> Clone | None:
    """The manifold constraint, or none."""
    if n_neighbors < 1:
        raise InputError(f"n_neighbors={n_neighbors} must be at least 1")
    return None if projector is None else Clone(get_projector(projector, n_neighbors))


def _check_variant(variant: str, projector: str | Projector | None) -> None:
    """Algorithm 2 as printed is nothing without Definition 1."""
    if variant == "literal" and projector is None:
        raise InputError("variant='literal' is Algorithm 2 of the paper, which needs a projector; set one")


def _coarse(coarse: str | bool, method: Method, init: object) -> str | bool:
    """Whether to start with blurred pictures."""
    if isinstance(coarse, str) and coarse != "auto":
        raise InputError(f"unknown coarse={coarse!r}; use True, False or 'auto'")
    if coarse == "auto":
        return method.coarse if isinstance(init, str) else False
    return bool(coarse)


def _pictures(rows: npt.NDArray[Any], stack: Stack, frame: Frame) -> npt.NDArray[Any]:
    """Rows (n, c h w) as (n, h, w) or (n, h, w, c)."""
    planes = rows.reshape(len(rows), -1, *frame.shape)
    return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]


def _method(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def _float(dtype: npt.DTypeLike) -> npt.DTypeLike:
    try:
        known = np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.float32))
    except TypeError:
        known = False
    if not known:
        raise InputError(f"dtype {dtype!r} is not supported; use float64 or float32")
    return dtype


def _joint(channels: str) -> bool:
    if channels not in ("luminance", "joint"):
        raise InputError(f"unknown channels={channels!r}; use 'luminance' or 'joint'")
    return channels == "joint"


def _frame(frame: tuple[int, int] | Frame | None, stack: Stack) -> Frame:
    if frame is None:
        return stack.default_frame()
    if isinstance(frame, Frame):
        return frame
    try:
        height, width = (operator.index(size) for size in frame)
    except (TypeError, ValueError) as error:
        raise InputError(f"frame={frame!r} is not a size; give (height, width) in whole pixels") from error
    return Frame(height, width)


def start_transforms(init: str | npt.ArrayLike | Points, stack: Stack, frame: Frame, family: str) -> Floats:
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
