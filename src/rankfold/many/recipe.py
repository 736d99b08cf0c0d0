"""How every batch is run: plain values, the same for all, that can be sent anywhere."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align import AlignSettings, align
from rankfold.align.arguments import Check, at_least, check_arguments, optional
from rankfold.arguments import switch
from rankfold.errors import InputError
from rankfold.io import Source, open_pictures
from rankfold.runs import Output, Run
from rankfold.runs.choice import NAMED_STARTS
from rankfold.stack import Frame

# Arguments of align that cannot be the same for several batches, or that are chosen here.
NOT_FOR_MANY = ("images", "frame", "init", "masks", "executor", "observe", "checkpoint")
# What fields of a recipe may be; keywords of align are looked at by the table of align.
CHECKS: dict[str, Check] = {
    "frame": optional(lambda name, value: Frame.of(value, name)),
    "reduction": optional(at_least(1)),
    **dict.fromkeys(("crop", "pictures", "report", "overwrite", "force"), switch),
}
# The same of how pictures are opened; the other words are looked at where they are.
CHECKS_OF_READING: dict[str, Check] = dict.fromkeys(("grey", "skip_bad"), switch)

# What does not change a result: a run folder that was made with another value is still good.
WITHOUT_TRACE = ("force", "overwrite", "command")
UNTRACED_OPTIONS = ("n_jobs", "memory_limit", "scratch")


@dataclass(frozen=True)
class Opened:
    """How pictures are opened.

    Parameters
    ----------
    grey : bool
        Turn colour into grey while reading.
    skip_bad : bool
        Leave out pictures that cannot be used.
    frames, stride, select, key, isolate
        As in :func:`rankfold.io.open_pictures`.
    """

    grey: bool = False
    skip_bad: bool = False
    frames: str | None = None
    stride: int = 1
    select: tuple[str, ...] = ()
    key: str | None = None
    isolate: bool | None = None

    def open(self, path: str) -> Source:
        """Look at the pictures; they are read only to find those that have to be left out."""
        source = open_pictures(
            path,
            frames=self.frames,
            stride=self.stride,
            select=self.select,
            key=self.key,
            isolate=self.isolate,
        )
        if self.grey:
            source = source.in_grey()
        return source.for_alignment(self.skip_bad)


@dataclass(frozen=True)
class Recipe:
    """How every batch is run.

    Parameters
    ----------
    frame, init, reduction
        As in :func:`rankfold.runs.choose`; the family is among the options.
    crop : bool
        Cut results to the area that all pictures of the batch cover.
    opened : Opened
        How pictures are opened.
    pictures, report, format, overwrite
        What is written, as in :class:`rankfold.runs.Output`.
    force : bool
        Start even if the memory will not suffice.
    command : tuple of str or None
        Options of ``rankfold align`` that do the same for one batch; None: not from a command.
    options : dict
        Further arguments of :func:`rankfold.align`.
    """

    frame: tuple[int, int] | None = None
    init: str = "centred"
    reduction: int | None = None
    crop: bool = False
    opened: Opened = field(default_factory=Opened)
    pictures: bool = True
    report: bool = True
    format: str | None = None
    overwrite: bool = False
    force: bool = False
    command: tuple[str, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Output:
        """What a run leaves behind, in the words of :mod:`rankfold.runs`."""
        return Output(
            pictures=self.pictures,
            format=self.format,
            report=_write_report if self.report else None,
            overwrite=self.overwrite,
        )

    @property
    def traced(self) -> dict[str, Any]:
        """Everything that a result depends on, as values that JSON knows.

        Options that are what they are by default are not in it, so that a result stays good if a
        later version has more of them, and if a command says what Python leaves out.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        kept = {name: value for name, value in values.items() if name not in WITHOUT_TRACE}
        kept["opened"] = vars(self.opened)
        known = inspect.signature(align).parameters
        kept["options"] = {
            name: value
            for name, value in self.options.items()
            if name not in UNTRACED_OPTIONS
            and (name not in known or _as_json(value) != _as_json(known[name].default))
        }
        traced: dict[str, Any] = _as_json(kept)
        return traced


def recipe_of(reading: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Recipe:
    """Sort the keywords of a call into a recipe, and refuse those that nobody knows.

    Parameters
    ----------
    reading : mapping, optional
        Fields of :class:`Opened`.
    options : mapping
        Fields of :class:`Recipe`, and arguments of :func:`rankfold.align`.

    Returns
    -------
    Recipe
    """
    own = {one.name for one in fields(Recipe)} - {"opened", "options"}
    known = set(inspect.signature(align).parameters) - set(NOT_FOR_MANY)
    for name in options:
        if name not in own | known:
            raise InputError(
                f"{name} is no option of many batches; choose from {', '.join(sorted(own | known))}"
            )
    how = dict(reading or {})
    unknown = set(how) - {one.name for one in fields(Opened)}
    if unknown:
        names = ", ".join(one.name for one in fields(Opened))
        raise InputError(f"{min(unknown)} is no way to read pictures; choose from {names}")
    chosen = {name: value for name, value in options.items() if name in own}
    init = chosen.get("init", "centred")
    if not isinstance(init, str):
        raise InputError(
            "init has to be a word or a path, because batches differ in their pictures; "
            "use 'centred', 'identity', a .csv file of points, or an earlier run"
        )
    if init not in NAMED_STARTS:
        # A worker may have another working folder.
        chosen["init"] = str(Path(init).absolute())
    further = {name: value for name, value in options.items() if name not in own}
    for checks, given in ((CHECKS, chosen), (CHECKS_OF_READING, how)):
        for name in checks.keys() & given.keys():
            checks[name](name, given[name])
    check_arguments(further)
    return Recipe(**chosen, opened=Opened(**how), options=further)


def _as_json(value: object) -> Any:
    """A value as it is when it was written to JSON and read again."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: object) -> object:
    """A value that JSON does not know, as one that it knows; a type of numbers by its name."""
    if isinstance(value, AlignSettings):
        return value.values()
    return np.dtype(value).name if isinstance(value, type) else str(value)


def _write_report(run: Run) -> None:
    """Write the report; matplotlib is loaded only now. A function that a process can import."""
    from rankfold.report import write_report

    write_report(run)
