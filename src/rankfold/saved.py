"""Results whose fields are arrays, numbers, strings, a Status and a Trace: stored and read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold import storage
from rankfold.errors import FormatError
from rankfold.lazy import LazyPictures
from rankfold.occluders import as_columns, from_columns
from rankfold.schema import (
    COUNTS,
    FLAGS,
    FLOATS,
    NUMBERS,
    WORDS,
    Column,
    Schema,
    check,
    check_rows,
    words,
)
from rankfold.status import InnerRecord, OuterRecord, RouteRecord, Status, Trace

Array = npt.NDArray[Any]
S = TypeVar("S", bound="Saved")

TRACE_PARTS = ("inner", "outer", "stages", "routes", "matching")
# Of these, the columns are of one length, and are the fields of a record; the others hold several
# tables.
TABLES = {"inner": InnerRecord, "outer": OuterRecord, "routes": RouteRecord}

# Of an alignment by a sample, the outer loop and the matching have seen m pictures of n.
TRACE: Schema = {
    **{f"trace.inner.{f.name}": Column(NUMBERS, "inner") for f in fields(InnerRecord)},
    **{f"trace.outer.{f.name}": Column(NUMBERS, "outer") for f in fields(OuterRecord)},
    "trace.outer.stage": Column(WORDS, "outer"),
    "trace.outer.inner_status": Column(WORDS, "outer"),
    "trace.outer.displacement": Column(FLOATS, "outer m"),
    "trace.outer.step": Column(FLOATS, "outer m"),
    "trace.outer.residual": Column(FLOATS, "outer m"),
    "trace.outer.transforms": Column(FLOATS, "outer m 3 3"),
    "trace.routes.route": Column(WORDS, "routes"),
    "trace.routes.agreement": Column(FLOATS, "routes"),
    "trace.routes.confirmed": Column(FLOATS, "routes"),
    "trace.routes.kept": Column(FLAGS, "routes"),
    "trace.routes.sentence": Column(WORDS, "routes"),
    "trace.matching.transforms": Column(FLOATS, "matched 3 3"),
    "trace.matching.reached": Column(FLAGS, "matched"),
    "trace.matching.reference": Column(COUNTS, ""),
    "trace.matching.links": Column(NUMBERS, "links 3"),
    "trace.matching.points": Column(FLOATS, "points 4"),
    "occluders.region": Column(FLAGS, "found h w"),
    "occluders.members": Column(FLAGS, "found n"),
    "occluders.masks": Column(FLAGS, "shown h w"),
    "occluders.confidence": Column(FLOATS, "found"),
}


class Saved:
    """What is common to results that can be stored.

    Attributes
    ----------
    schema : Schema
        What each field must be when it is read.
    """

    schema: ClassVar[Schema] = {}

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a folder with ``result.json`` and ``arrays.npz``; :func:`rankfold.load` reads it.

        Parameters
        ----------
        path : str or Path
            The folder, which appears whole or not at all.
        overwrite : bool
            Replace a folder of that name that rankfold wrote.
        """
        with storage.whole_or_nothing(path, overwrite) as draft:
            self.save_into(draft)

    def save_into(self, folder: Path, beside: Iterable[str] = ()) -> None:
        """Write the two files into a folder that is there already.

        ``beside`` names files there that belong to the result, and are not to be changed.
        """
        facts: dict[str, Any] = {}
        arrays: dict[str, Array] = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, Trace):
                for part in TRACE_PARTS:
                    columns = getattr(value, part)
                    arrays |= {f"trace.{part}.{name}": column for name, column in columns.items()}
            elif f.name == "occluders":
                columns = as_columns(value, len(self.low_rank))  # type: ignore[attr-defined]
                arrays |= {f"occluders.{name}": column for name, column in columns.items()}
            elif isinstance(value, np.ndarray):
                arrays[f.name] = value
            elif isinstance(value, LazyPictures):
                # They are computed again: what they are made of is the same for all of them.
                arrays |= value.columns()
                facts["lazy"] = value.facts()
            else:
                facts[f.name] = value.name if isinstance(value, Status) else value
        storage.fill(folder, type(self).__name__, facts, arrays, beside)

    @classmethod
    def _restore(
        cls: type[S], facts: dict[str, Any], arrays: dict[str, Array], path: str | Path
    ) -> S:
        """Build the object from what :func:`rankfold.storage.read` found, whatever that is.

        A field that a later version added is missing in a folder of an earlier one and gets its
        default; a field that this version does not know is left out.
        """
        columns: dict[str, dict[str, Array]] = {part: {} for part in TRACE_PARTS}
        occluders: dict[str, Array] = {}
        found: dict[str, Any] = dict(facts)
        for name, array in arrays.items():
            if name.startswith("trace."):
                _, part, column = name.split(".", 2)
                if part in columns:
                    columns[part][column] = array
            elif name.startswith("occluders."):
                occluders[name.removeprefix("occluders.")] = array
            else:
                found[name] = array
        known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        values = {name: value for name, value in found.items() if name in known}
        if not known - set(values) <= _given_by_default(cls):
            missing = ", ".join(sorted(known - set(values) - _given_by_default(cls)))
            raise FormatError(f"{path} lacks a part of its result ({missing}); compute it again")
        if "names" in values:
            values["names"] = words("names", values["names"])
        check({**values, **arrays}, {**cls.schema, **TRACE})
        for part, record in TABLES.items():
            check_rows(part, columns[part], _required(record))
        if "names" in values:
            values["names"] = tuple(found["names"])
        values |= {"trace": Trace(**columns), "status": Status[values["status"]]}
        values["occluders"] = from_columns(occluders)
        return cls(**values)


def _required(record: type[Any]) -> set[str]:
    """The columns of a table that it always had."""
    return {f.name for f in fields(record) if f.default is MISSING}


def _given_by_default(kind: type[Saved]) -> set[str]:
    """The fields that a result of an earlier version need not have."""
    own = {
        f.name
        for f in fields(kind)  # type: ignore[arg-type]
        if f.default is not MISSING or f.default_factory is not MISSING
    }
    # Stored as tables of their own.
    return own | {"trace"}
