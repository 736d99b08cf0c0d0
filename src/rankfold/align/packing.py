"""What a journal remembers, as facts for JSON and arrays for a file, and back to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.admm import Solution
from rankfold.align.loop import LoopState
from rankfold.align.matching import Matches
from rankfold.align.matching.result import Link
from rankfold.families import Floats
from rankfold.stack import Bools
from rankfold.status import InnerRecord, OuterRecord, Status
from rankfold.warp.linearisation import Motion

Arrays = dict[str, npt.NDArray[Any]]
Row = TypeVar("Row", InnerRecord, OuterRecord)


@dataclass(frozen=True)
class Packed:
    """Something in a form that a file can hold."""

    facts: dict[str, Any]
    arrays: Arrays


def pack_state(state: LoopState, with_solution: bool) -> Packed:
    """A state of the outer loop; its solution is three arrays n x m, and not always needed."""
    solution = state.solution if with_solution else None
    facts = {
        "level": state.level,
        "since": state.since,
        "status": None if state.status is None else state.status.name,
        "stop_rule": state.stop_rule,
        "iterations": len(state.outer),
        "solution": None if solution is None else solution.status.name,
        # The records of the solution are the last ones of all.
        "records": 0 if solution is None else len(solution.records),
    }
    arrays = {"parameters": state.motion.parameters}
    arrays |= _pack_records("inner", state.inner)
    arrays |= _pack_records("outer", state.outer)
    if solution is not None:
        arrays |= {
            "low_rank": np.asarray(solution.low_rank),
            "sparse": np.asarray(solution.sparse),
            "dual": np.asarray(solution.dual),
            "delta": solution.delta,
            "singular_values": solution.singular_values,
        }
    return Packed(facts, arrays)


def unpack_state(packed: Packed, motion: Motion) -> LoopState:
    """The state of a loop that began at ``motion``."""
    facts = packed.facts
    arrays = packed.arrays
    inner = _unpack_records(InnerRecord, "inner", arrays)
    solution = None
    if facts["solution"] is not None:
        solution = Solution(
            low_rank=arrays["low_rank"],
            sparse=arrays["sparse"],
            dual=arrays["dual"],
            delta=arrays["delta"],
            singular_values=arrays["singular_values"],
            status=Status[facts["solution"]],
            records=inner[-facts["records"] :],
        )
    return LoopState(
        motion=motion.with_parameters(arrays["parameters"]),
        solution=solution,
        inner=inner,
        outer=_unpack_records(OuterRecord, "outer", arrays),
        level=facts["level"],
        since=facts["since"],
        status=None if facts["status"] is None else Status[facts["status"]],
        stop_rule=facts["stop_rule"],
    )


def pack_matches(found: Matches) -> Packed:
    """What matching found; the points of all links in one array, as x, y in one and the other."""
    points = [np.hstack([link.points_one, link.points_two]) for link in found.links]
    facts = {
        "names": list(found.names),
        "family": found.family,
        "reference": int(found.reference),
        "groups": [[int(index) for index in group] for group in found.groups],
    }
    arrays = {
        "transforms": found.transforms,
        "reached": found.reached,
        "keypoints": found.keypoints,
        "residual": found.residual,
        "links": np.array([(link.one, link.two, len(link)) for link in found.links]).reshape(-1, 3),
        "points": np.concatenate(points) if points else np.empty((0, 4)),
    }
    return Packed(facts, arrays)


def unpack_matches(packed: Packed) -> Matches:
    """The same Matches again."""
    facts = packed.facts
    arrays = packed.arrays
    links = []
    first = 0
    for one, two, count in arrays["links"].tolist():
        points = arrays["points"][first : first + count]
        links.append(Link(one, two, points[:, :2].copy(), points[:, 2:].copy()))
        first += count
    return Matches(
        names=tuple(facts["names"]),
        family=facts["family"],
        reference=facts["reference"],
        transforms=arrays["transforms"],
        reached=arrays["reached"],
        groups=tuple(tuple(group) for group in facts["groups"]),
        links=tuple(links),
        keypoints=arrays["keypoints"],
        residual=arrays["residual"],
    )


def pack_places(found: tuple[Floats, Bools]) -> Packed:
    """Parameters (n, p) that a search found, and which pictures (n,) it moved."""
    parameters, moved = found
    return Packed({}, {"parameters": parameters, "moved": moved})


def unpack_places(packed: Packed) -> tuple[Floats, Bools]:
    """The same places again."""
    return packed.arrays["parameters"], packed.arrays["moved"]


def _pack_records(prefix: str, records: Sequence[Any]) -> Arrays:
    """Records as columns; a Status becomes its name. No records are no columns."""
    if not records:
        return {}
    return {
        f"{prefix}.{field.name}": np.array(
            [_plain(getattr(record, field.name)) for record in records]
        )
        for field in fields(records[0])
    }


def _unpack_records(kind: type[Row], prefix: str, arrays: Mapping[str, Any]) -> tuple[Row, ...]:
    """The records of columns."""
    names = [field.name for field in fields(kind)]
    if f"{prefix}.{names[0]}" not in arrays:
        return ()
    columns = [_values(arrays[f"{prefix}.{name}"]) for name in names]
    made = []
    for row in zip(*columns, strict=True):
        values = dict(zip(names, row, strict=True))
        if "inner_status" in values:
            values["inner_status"] = Status[values["inner_status"]]
        made.append(kind(**values))
    return tuple(made)


def _values(column: npt.NDArray[Any]) -> list[Any]:
    """One value a record: plain numbers and text, or arrays."""
    return column.tolist() if column.ndim == 1 else [row.copy() for row in column]


def _plain(value: object) -> object:
    """A value that an array can hold."""
    return value.name if isinstance(value, Status) else value
