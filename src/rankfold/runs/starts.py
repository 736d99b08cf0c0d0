"""Which start a run has kept and what else was tried, in a sentence and in rows of plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rankfold.align.routes import ROUTES
from rankfold.status import Trace


@dataclass(frozen=True)
class Start:
    """A start that was tried.

    Attributes
    ----------
    route : str
        A row of ROUTES.
    sentence : str
        What it does.
    confirmed : float or None
        Share of the pictures that confirmed each other's places a few steps later. None where
        nothing was compared, because the caller asked for this start.
    agreement : float or None
        What was compared, the lower the better; None like the above, and where the try broke off.
    kept : bool
    """

    route: str
    sentence: str
    confirmed: float | None
    agreement: float | None
    kept: bool

    def as_dict(self) -> dict[str, Any]:
        """Give plain values that JSON knows."""
        return {
            "route": self.route,
            "sentence": self.sentence,
            "confirmed": self.confirmed,
            "agreement": self.agreement,
            "kept": self.kept,
        }


def starts_of(trace: Trace) -> tuple[Start, ...]:
    """List the starts that were tried, in order; none where a run began as it was given.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    tuple of Start
    """
    columns = trace.routes
    if not columns:
        return ()
    starts = []
    for k, route in enumerate(columns["route"]):
        start = Start(
            route=str(route),
            sentence=_described(str(route)),
            confirmed=_finite(columns["confirmed"][k]),
            agreement=_finite(columns["agreement"][k]),
            kept=bool(columns["kept"][k]),
        )
        starts.append(start)
    return tuple(starts)


def start_sentence(starts: tuple[Start, ...]) -> str:
    """Say which start was kept, and what else was tried.

    Parameters
    ----------
    starts : tuple of Start

    Returns
    -------
    str
        Empty where no start was looked for.
    """
    kept = [start for start in starts if start.kept]
    others = [start for start in starts if not start.kept]
    if not kept:
        return ""
    said = f"Start: {_kept(kept[0])}{_reason(kept[0], others)}"
    if others:
        tried = [f"{start.sentence} ({percent(start.confirmed)})" for start in others]
        said += f"; also tried: {', '.join(tried)}"
    return f"{said}."


def percent(share: float | None) -> str:
    """Write a share as a percentage; a dash where it is not known."""
    return "–" if share is None else f"{100 * share:.0f} %"


def _kept(start: Start) -> str:
    """The start that was kept, and why."""
    if start.confirmed is None:
        return f"{start.sentence}, as was asked for"
    return f"{start.sentence} ({percent(start.confirmed)} of the pictures confirmed)"


def _reason(kept: Start, others: list[Start]) -> str:
    """Why a start was kept although another one has more confirmed pictures; empty if none has."""
    confirmed = kept.confirmed or 0.0
    if all((other.confirmed or 0.0) <= confirmed for other in others):
        return ""
    agreements = [other.agreement for other in others if other.agreement is not None]
    if kept.agreement is not None and kept.agreement <= min(agreements, default=math.inf):
        return ", because the pictures agree best from there"
    return ", because no other is clearly better"


def _described(route: str) -> str:
    """What a route does; a run of another version may have one that this one does not know."""
    return ROUTES[route].sentence if route in ROUTES else route


def _finite(value: float) -> float | None:
    """A number that JSON knows, or None."""
    return float(value) if math.isfinite(value) else None
