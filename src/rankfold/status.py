"""How a run ended (Status) and what happened on the way (Trace)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.arguments import shown
from rankfold.errors import ConvergenceError, ConvergenceWarning, InputError


class Status(Enum):
    """Outcome of a solver; the value is the sentence that a person reads."""

    CONVERGED = "converged: the stop rule was met"
    MAX_ITER = (
        "stopped at the iteration limit before the stop rule was met; raise the limit or the "
        "tolerance"
    )
    STALLED = (
        "ended where the growing penalty had frozen the iterates, a little above the optimum; "
        "leave out schedule='published' for more digits"
    )
    NON_FINITE = (
        "stopped because a value became infinite or not a number; look for extreme values in the "
        "input"
    )
    STOPPED = "stopped by an observer"

    @property
    def good(self) -> bool:
        """Whether the numbers can be used without a second look."""
        return self is Status.CONVERGED

    @property
    def over(self) -> bool:
        """Whether it ended so that nothing more is to be done."""
        return self in (Status.STOPPED, Status.NON_FINITE)


@dataclass(frozen=True)
class InnerRecord:
    """One inner iteration (Algorithm 2), as an observer sees it."""

    outer: int  # index of the outer iteration, -1 for a decomposition without transforms
    iteration: int
    objective: float
    nuclear_norm: float
    l1_norm: float
    rank: int
    primal_residual: float
    dual_residual: float
    penalty: float
    # How far the objective may be above the optimum, relative to itself: proved, and NaN in an
    # iteration of which nothing is.
    gap: float = float("nan")


@dataclass(frozen=True)
class OuterRecord:
    """One outer iteration (Algorithm 1), as an observer sees it; arrays have one entry an image."""

    outer: int
    stage: str  # which stage of align made it
    objective: float
    nuclear_norm: float
    l1_norm: float
    rank: int
    inner_iterations: int
    inner_status: Status
    median_displacement: float  # canonical px, over images, of the corner that moved most
    displacement: npt.NDArray[np.float64]  # (n,)
    step: npt.NDArray[np.float64]  # (n,) 1 full step, 1/2, 1/4, 1/8, 0 kept
    residual: npt.NDArray[np.float64]  # (n,) L1 residual of the accepted transform against A
    transforms: npt.NDArray[np.float64]  # (n, 3, 3) after the step and the gauge


@dataclass(frozen=True)
class RouteRecord:
    """A start that was tried, and how well the pictures agreed a few steps later."""

    route: str  # a row of ROUTES
    # Nuclear norm of the aligned features: the lower, the better. NaN where nothing was compared.
    agreement: float
    # Share of the pictures that confirm each other's places. NaN like the above.
    confirmed: float
    kept: bool
    sentence: str  # what is to be said of it


Record = InnerRecord | OuterRecord
# An observer sees the record of every iteration and returns True to stop the run at once. One that
# has a method ``begin_stage(name, stages)`` is also told when a stage of align begins, and which
# stages there are. One that has a method ``count(what, done, total)`` is told how far matching is,
# which has no iterations. One that has a method ``going_on(folder, done)`` is told how many outer
# iterations of an interrupted run are done, which it does not see again. Of a large batch,
# ``begin_placing(n)`` and ``placed(picture, gathering)`` tell of every picture that is placed
# against the sample.
Observer = Callable[[Record], bool | None]


def asks_to_stop(observe: Observer | None, record: Record) -> bool:
    """Tell an observer, if there is one, and say whether it wants the run to end."""
    if observe is None:
        return False
    answer = observe(record)
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"observe returned {shown(answer)}, which is neither true nor false; return True to "
            "stop, and nothing to go on"
        ) from error


@dataclass(frozen=True)
class Trace:
    """Columns of numbers, one row an iteration.

    For example ``trace.inner["objective"]`` or ``trace.outer["transforms"]``.
    """

    # Columns named as the fields of InnerRecord.
    inner: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    # Columns named as the fields of OuterRecord.
    outer: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    # How far (n,) each stage moved each image.
    stages: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    # Columns named as the fields of RouteRecord: the starts that were tried.
    routes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    # What matching found, if it was tried: "transforms" (n, 3, 3) from the reference to each
    # picture, "reached" (n,), "reference" (), "links" (l, 3) of two pictures and a number of
    # points, and "points" (k, 4), the points of all links as x, y in one and x, y in the other.
    matching: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        inner: Iterable[InnerRecord],
        outer: Iterable[OuterRecord] = (),
        stages: Mapping[str, npt.NDArray[Any]] | None = None,
        routes: Iterable[RouteRecord] = (),
        matching: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> Trace:
        """Turn records into columns."""
        return cls(
            inner=_columns(list(inner)),
            outer=_columns(list(outer)),
            stages=stages or {},
            routes=_columns(list(routes)),
            matching=matching or {},
        )


def _columns(records: list[Any]) -> dict[str, npt.NDArray[Any]]:
    """Transpose a list of records; a Status becomes its name."""
    if not records:
        return {}
    return {
        f.name: np.array([_plain(getattr(record, f.name)) for record in records])
        for f in fields(records[0])
    }


def _plain(value: object) -> object:
    return value.name if isinstance(value, Status) else value


def announce(status: Status, what: str, strict: bool, stacklevel: int = 3) -> None:
    """Warn once about a run that did not converge, or raise where the caller asked for that."""
    # Only the published schedule stalls: that is what was asked for.
    if status.good or status is Status.STALLED or (status is Status.STOPPED and not strict):
        return
    message = f"{what}: {status.value}"
    if strict:
        raise ConvergenceError(message)
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)
