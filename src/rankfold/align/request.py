"""What was asked for, checked and resolved, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Clone, Schedule, Settings, get_schedule
from rankfold.align.arguments import check_arguments
from rankfold.align.features import check_features
from rankfold.align.given import (
    Images,
    Init,
    Masks,
    as_stack,
    default_reduction_of,
    start_transforms,
)
from rankfold.align.matching import index_of, load
from rankfold.align.methods import Method, get_method, refuse_ignored
from rankfold.align.settings import AlignSettings
from rankfold.align.steps import Gauge, check_gauge
from rankfold.errors import InputError
from rankfold.families import Family, Floats, get_family
from rankfold.manifold import Projector, WholeRows, get_projector
from rankfold.stack import Frame, Stack


@dataclass(frozen=True)
class Request:
    """An alignment that can be run: every "auto" is decided, every value is checked."""

    stack: Stack
    frame: Frame
    start: Floats  # (n, 3, 3)
    method: Method
    family: Family
    sparsity_weight: float
    # The manifold constraint while aligning and in the last decomposition; None without one.
    clone: Clone | None
    last_clone: Clone | None
    inner: Settings
    schedule: Schedule
    max_outer: int
    outer_tol: float
    gauge: Gauge
    features: str | None
    rescue: bool
    shared: float  # the largest share of pictures that an occluder may be on; 0 looks for none
    located: bool  # whether the caller said where each picture lies, by transforms or points
    route: str  # a row of ROUTES, or "auto": several are tried, the pictures decide
    frame_of: int | None  # the picture whose view is the frame, where matching finds the start
    joint: bool  # whether transforms come from all channels
    dtype: npt.DTypeLike
    settings: AlignSettings

    @property
    def searches_small(self) -> bool:
        """Whether places are searched on a smaller frame first."""
        if self.schedule.exact or not self.method.moves:
            return False
        return min(self.frame.shape) > self.settings.resolution.side

    @property
    def options(self) -> dict[str, Any]:
        """What was decided, as plain values, to be stored with a result."""
        return {
            "method": self.method.name,
            "family": self.family.name,
            "sparsity_weight": self.sparsity_weight,
            "projector": None if self.clone is None else self.clone.name,
            "last_projector": None if self.last_clone is None else self.last_clone.name,
            "rank_surrogate": self.inner.surrogate,
            "schedule": self.schedule.name,
            "features": self.features,
            "rescue": self.rescue,
            "shared": self.shared,
            "start": self.route,
            "frame_of": None if self.frame_of is None else self.stack.names[self.frame_of],
            "channels": "joint" if self.joint else "luminance",
            "gauge": self.gauge,
            "max_outer": self.max_outer,
            "outer_tol": self.outer_tol,
            "max_inner": self.inner.max_iter,
            "inner_tol": self.inner.tol,
            "dtype": str(np.dtype(self.dtype)),
        }


def resolve(
    images: Images,
    method: str | Method,
    family: str,
    frame: tuple[int, int] | Frame | None,
    init: Init,
    *,
    masks: Masks,
    sparsity_weight: float,
    projector: str | Projector | WholeRows | None,
    n_neighbors: int | None,
    rank_surrogate: str,
    features: str | None,
    rescue: str | bool,
    shared: float | None,
    start: str | None,
    coarse: str | bool | None,
    frame_of: int | str | None,
    channels: str,
    gauge: Gauge,
    max_outer: int,
    outer_tol: float,
    max_inner: int,
    inner_tol: float,
    schedule: str,
    dtype: npt.DTypeLike,
    settings: AlignSettings | None,
) -> Request:
    """Check the arguments of :func:`rankfold.align` and decide what "auto" means."""
    # Nothing but the arguments has a name yet.
    check_arguments(locals())
    kind = get_family(family)
    chosen, route, growth = without_pictures(
        method,
        projector=projector,
        n_neighbors=n_neighbors,
        rank_surrogate=rank_surrogate,
        rescue=rescue,
        start=start,
        coarse=coarse,
        frame_of=frame_of,
        schedule=schedule,
    )
    settings = settings or AlignSettings()
    # Pictures come after what can be checked without them: reading them may take long.
    given_frame = None if frame is None else Frame.of(frame)
    coarser = default_reduction_of(images, given_frame, init, family)
    stack = as_stack(images, masks, dtype, coarser)
    stack.check_alignable()
    grid = given_frame or stack.default_frame()
    # What is left open is what the method's row says.
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    manifold = chosen.projector if is_auto(projector) else projector
    check_neighbours(n_neighbors, manifold)
    # The last decomposition has a K of its own: it rebuilds pictures, and more neighbours do that
    # better.
    k = settings.manifold.n_neighbors if n_neighbors is None else n_neighbors
    last_k = settings.manifold.last_n_neighbors if n_neighbors is None else n_neighbors
    return Request(
        stack=stack,
        frame=grid,
        start=start_transforms(init, stack, grid, family),
        method=chosen,
        family=kind,
        sparsity_weight=sparsity_weight,
        clone=clone_for(manifold, k, settings),
        last_clone=clone_for(manifold, last_k, settings),
        inner=Settings(
            tol=inner_tol,
            max_iter=max_inner,
            surrogate=surrogate,
            surrogate_start=settings.surrogate.start,
        ),
        schedule=growth,
        max_outer=max_outer,
        outer_tol=outer_tol,
        gauge=check_gauge(gauge, len(stack)),
        features=check_features(chosen.features if features == "auto" else features),
        rescue=chosen.rescue if rescue == "auto" else bool(rescue),
        shared=shared_for(chosen, shared),
        located=not isinstance(init, str),
        route=route,
        frame_of=index_of(frame_of, stack.names),
        joint=channels == "joint",
        dtype=dtype,
        settings=settings,
    )


def without_pictures(
    method: str | Method,
    *,
    projector: str | Projector | WholeRows | None,
    n_neighbors: int | None,
    rank_surrogate: str,
    rescue: str | bool,
    start: str | None,
    coarse: str | bool | None,
    frame_of: int | str | None,
    schedule: str,
) -> tuple[Method, str, Schedule]:
    """Decide on method, route and schedule; refuse what they would ignore."""
    chosen = get_method(method)
    refuse_ignored(
        chosen,
        projector=projector,
        n_neighbors=n_neighbors,
        rank_surrogate=rank_surrogate,
        schedule=schedule,
    )
    route = route_for(chosen, start, coarse, frame_of)
    wanted = None if route == "given" else route
    check_stages(chosen, rescue=rescue, frame_of=named(frame_of), start=wanted)
    return chosen, route, schedule_for(chosen, projector, rank_surrogate, schedule)


def is_auto(value: object) -> bool:
    """Whether a value is the word "auto"; arrays and functions are not."""
    return isinstance(value, str) and value == "auto"


def clone_for(
    projector: str | Projector | WholeRows | None, n_neighbors: int, settings: AlignSettings
) -> Clone | None:
    """The manifold constraint, or none."""
    if n_neighbors < 1:
        raise InputError(f"n_neighbors={n_neighbors} must be at least 1")
    if projector is None:
        return None
    numbers = settings.manifold
    ready = get_projector(
        projector,
        n_neighbors,
        alpha=numbers.alpha,
        keep=numbers.keep,
        ridge=numbers.ridge,
        window=numbers.window,
        grains=numbers.grains,
    )
    return Clone(ready, numbers.weight, numbers.start, numbers.period)


def schedule_for(
    method: str | Method,
    projector: str | Projector | WholeRows | None = "auto",
    rank_surrogate: str = "auto",
    schedule: str = "auto",
) -> Schedule:
    """The schedule of a method, refused where it would have no effect; needs no pictures."""
    chosen = get_method(method)
    manifold = chosen.projector if is_auto(projector) else projector
    surrogate = chosen.rank_surrogate if rank_surrogate == "auto" else rank_surrogate
    convex = manifold is None and Settings(surrogate=surrogate).convex
    because = f"method {chosen.name!r}"
    if manifold is not None:
        because += " and its manifold constraint, which is not convex"
    elif not convex:
        because += f" and the {surrogate} surrogate of the rank, which is not convex"
    return get_schedule(schedule, convex, because)


def check_stages(method: Method, **wanted: object) -> None:
    """Refuse stages that a method without transforms would ignore."""
    for name, value in wanted.items():
        if value and not is_auto(value) and not method.moves:
            raise InputError(
                f"{name}={value!r} has no effect with method {method.name!r}, which keeps the "
                "transforms that it is given; leave it out, or take a method that moves pictures"
            )


def named(picture: int | str | None) -> str | None:
    """A picture that was asked for, as text, so that number 0 counts as well."""
    return None if picture is None else str(picture)


def check_neighbours(n_neighbors: int | None, projector: object) -> None:
    """Refuse a number of neighbours where nothing has neighbours."""
    if n_neighbors is None:
        return
    if projector is None:
        raise InputError(
            f"n_neighbors={n_neighbors} has no effect without a projector; leave it out, or take "
            "method='meadmm'"
        )
    if not isinstance(projector, str):
        raise InputError(
            f"n_neighbors={n_neighbors} has no effect with a projector of your own; set it there, "
            "as in Regression(n_neighbors=5)"
        )


def route_for(
    method: Method,
    start: str | None,
    coarse: str | bool | None,
    frame_of: int | str | None = None,
) -> str:
    """How pictures come to their start.

    ``coarse`` is the earlier name of two of the routes; ``frame_of`` asks for matching, because
    nothing else knows one picture's place in the others.
    """
    # The table is above this room: its rows need a job, which needs a request.
    from rankfold.align.routes import ROUTES

    if coarse is not None and start is not None:
        raise InputError(
            f"start={start!r} and coarse={coarse!r} are two words for one choice; leave coarse out"
        )
    if coarse is not None:
        names = {"True": "coarse", "False": "given", "auto": "auto"}
        if str(coarse) not in names:
            raise InputError(f"unknown coarse={coarse!r}; use True, False or 'auto'")
        start = names[str(coarse)]
    if start is None:
        start = method.route if frame_of is None else "match"
    if start not in ("auto", *ROUTES):
        raise InputError(f"unknown start={start!r}; choose one of auto, {', '.join(ROUTES)}")
    if frame_of is not None and start != "match":
        raise InputError(
            f"frame_of={frame_of!r} has no effect with start={start!r}: only matching knows one "
            "picture's place in the others; leave it out, or use start='match'"
        )
    if start == "match":
        # Before the pictures are read, which may take long.
        load()
    return start


def shared_for(method: Method, shared: float | None) -> float:
    """The largest share of pictures that an occluder may be on; None leaves it to the method."""
    if shared is None:
        return method.shared
    return float(shared)
