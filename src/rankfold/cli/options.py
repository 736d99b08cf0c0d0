"""Options that several commands share: each is declared here, once.

Those that always come together are groups (see :mod:`rankfold.cli.grouping`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from rankfold import FAMILIES, METHODS, PROJECTORS
from rankfold.cli.app import Voice
from rankfold.cli.parsing import complete, one_of
from rankfold.errors import FormatError, InputError
from rankfold.io import FORMATS, Picture, Source, open_pictures
from rankfold.runs import Output, Run
from rankfold.scale import Needs

LEFT_OUT_SHOWN = 8  # names of files that were left out, before the list ends in dots


def check_size(value: str | None) -> str | None:
    """Refuse what is no number of bytes."""
    from rankfold.scale.limits import bytes_of

    if value is not None:
        try:
            bytes_of(value)
        except InputError as error:
            raise typer.BadParameter(f"{value!r} is not a size; write 500M or 2G") from error
    return value


def _schedules() -> list[str]:
    """What suits the method, and the rows of SCHEDULES."""
    from rankfold.admm import SCHEDULES

    return ["auto", *SCHEDULES]


def _check_schedule(value: str | None) -> str | None:
    """Refuse an unknown schedule; of one that is no more, say what took its place."""
    from rankfold.admm.schedules import FORMER

    if value in FORMER:
        raise typer.BadParameter(f"{value!r} is no more: {FORMER[value]}")
    return one_of("schedule", _schedules)(value)


def _starts() -> list[str]:
    """What suits the method, and the rows of ROUTES."""
    from rankfold.align.routes import ROUTES

    return ["auto", *ROUTES]


def _projectors() -> list[str]:
    """Rows of PROJECTORS, and none."""
    return [*PROJECTORS, "none"]


# Single options, by the name of what they give. Those with a check that looks into a table are
# here even if they belong to a group: inside a class, a lambda would not find the table.
Pictures = Annotated[
    str,
    typer.Argument(help="A folder, a pattern, a video, a TIFF stack, a .npy/.npz file or a zarr."),
]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="The run folder; NAME-run by default.")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="One that `rankfold methods` lists.",
        callback=one_of("method", lambda: METHODS),
        autocompletion=complete(lambda: METHODS),
    ),
]
Family = Annotated[
    str,
    typer.Option(
        "--family",
        "-t",
        help="What a picture may do; `rankfold families` lists them.",
        callback=one_of("family", lambda: FAMILIES),
        autocompletion=complete(lambda: FAMILIES),
    ),
]
Projector = Annotated[
    str | None,
    typer.Option(
        help="One that `rankfold projectors` lists, or none.",
        callback=one_of("projector", _projectors),
        autocompletion=complete(_projectors),
    ),
]
Surrogate = Annotated[
    str | None,
    typer.Option(
        help="nuclear or reweighted.",
        callback=one_of("rank surrogate", lambda: ["nuclear", "reweighted"]),
    ),
]
Schedule = Annotated[
    str,
    typer.Option(
        help="published: RASL and robust PCA as published, slower and without a proof.",
        callback=_check_schedule,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        help="How to find where to begin; `rankfold starts` lists them, auto tries several.",
        callback=one_of("start", _starts),
        autocompletion=complete(_starts),
    ),
]
Shared = Annotated[
    float | None,
    typer.Option(
        help="Largest share of the pictures that something in front of them may be on; 0.5 if "
        "not given, 0 keeps all.",
        min=0.0,
        max=0.5,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="Of the pictures written; as they came by default.",
        callback=one_of("format", lambda: FORMATS),
    ),
]
Reduce = Annotated[
    int | None,
    typer.Option(min=1, help="Read pictures so many times coarser; chosen if not given."),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with an interrupted run, and refuse to begin anew; the same command without "
        "it does either.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How pictures are opened."""

    grey: Annotated[bool, typer.Option("--grey", help="Turn colour into grey while reading.")] = (
        False
    )
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out pictures that cannot be used.")
    ] = False
    frames: Annotated[str | None, typer.Option(help="Which pictures: 100:300.")] = None
    stride: Annotated[int, typer.Option(min=1, help="Every so many of them.")] = 1
    select: Annotated[
        list[str] | None, typer.Option(help="Of a TIFF with named axes: C=0, Z=3, ...")
    ] = None
    key: Annotated[
        str | None, typer.Option(help="Of .npz and zarr groups: the name of the array.")
    ] = None
    isolate: Annotated[
        bool | None,
        typer.Option(
            "--isolate/--no-isolate",
            help="Decode in a process of its own, so that a bad file costs that file; by default "
            "for files of somebody else.",
        ),
    ] = None

    def open(self, pictures: str, voice: Voice, aligned: bool = False) -> Source:
        """Look at the pictures without reading them, and say which ones are left out.

        Parameters
        ----------
        pictures : str
            Where they are.
        voice : Voice
        aligned : bool
            Whether they will be aligned, for which a picture has to show something.
        """
        source = open_pictures(
            pictures,
            frames=self.frames,
            stride=self.stride,
            select=tuple(self.select or ()),
            key=self.key,
            isolate=self.isolate,
        )
        if self.grey:
            source = source.in_grey()
        if not self.skip_bad:
            source = _advising(source)
        if aligned:
            look = partial(Source.for_alignment, skip_bad=self.skip_bad)
            source = _looked_through(source, look, voice)
        elif self.skip_bad:
            source = _looked_through(source, Source.without_bad, voice)
        if source.left_out:
            shown = ", ".join(source.left_out[:LEFT_OUT_SHOWN])
            more = " ..." if len(source.left_out) > LEFT_OUT_SHOWN else ""
            voice.remark(f"left out: {shown}{more}")
        return source


@dataclass(frozen=True)
class Writing:
    """How pictures are written."""

    format: Format = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run folder if it is there.")
    ] = False


@dataclass(frozen=True)
class RunWriting(Writing):
    """What a run folder gets."""

    no_pictures: Annotated[
        bool, typer.Option("--no-pictures", help="Write the result only, no pictures.")
    ] = False
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = (
        False
    )

    @property
    def output(self) -> Output:
        """The same in the words of :mod:`rankfold.runs`."""
        return Output(
            pictures=not self.no_pictures,
            format=self.format,
            report=None if self.no_report else _write_report,
            overwrite=self.overwrite,
        )


@dataclass(frozen=True)
class Computing:
    """With what a run is computed, and whether it is."""

    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")] = -1
    float32: Annotated[bool, typer.Option("--float32", help="Compute in single precision.")] = False
    max_memory: Annotated[
        str | None,
        typer.Option(
            help="As 2G; what needs more keeps its arrays on disk. 60 % of what is free if not "
            "given.",
            callback=check_size,
        ),
    ] = None
    scratch: Annotated[
        Path | None, typer.Option(help="The folder for arrays on disk; the system's if not given.")
    ] = None
    plan: Annotated[bool, typer.Option("--plan", help="Say frame, memory and time, and stop.")] = (
        False
    )
    force: Annotated[
        bool, typer.Option("--force", help="Start even if memory and disk will not suffice.")
    ] = False

    def keywords(self, needs: Needs | None = None) -> dict[str, Any]:
        """The same as arguments of :func:`rankfold.align` and :func:`rankfold.decompose`.

        ``needs`` are those of the run, where they are known.
        """
        limit: int | str | None = self.max_memory
        if self.force and needs is not None and self.complaint(needs) is not None:
            # What is forced starts in memory, however little there is.
            limit = sys.maxsize
        return {
            "n_jobs": self.jobs,
            "dtype": self.dtype,
            "memory_limit": limit,
            "scratch": self.scratch,
        }

    def complaint(self, needs: Needs) -> str | None:
        """Say why a run fits neither into memory nor on disk; None if it does."""
        from rankfold.scale import store_for

        try:
            store_for(needs, self.max_memory, self.scratch)
        except InputError as error:
            return str(error)
        return None

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Precision of the computation."""
        return np.float32 if self.float32 else np.float64


@dataclass(frozen=True)
class Cluster:
    """Other processes and machines that take part."""

    scheduler: Annotated[
        str | None,
        typer.Option(help="The address of a Dask scheduler, as tcp://host:8786."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Begin so many Dask workers on this machine.")
    ] = None

    @contextmanager
    def joined(self, computing: Computing, needs: Needs) -> Iterator[dict[str, Any]]:
        """Give the arguments of a run that say who computes it, and where arrays are kept."""
        keywords = computing.keywords(needs)
        if self.scheduler is None and self.workers is None:
            yield keywords
            return
        from rankfold.scale import Dask, executor_for, store_for

        # What stays here has the threads and the memory that were asked for.
        store = store_for(needs, keywords["memory_limit"], keywords["scratch"])
        with (
            executor_for(None, computing.jobs, store) as here,
            Dask(self.scheduler, workers=self.workers, here=here) as cluster,
        ):
            yield {"dtype": computing.dtype, "executor": cluster}


def _write_report(run: Run) -> None:
    """Write the report; matplotlib is loaded only now."""
    from rankfold.report import write_report

    write_report(run)


def _looked_through(source: Source, look: Callable[..., Source], voice: Voice) -> Source:
    """Leave some pictures out, for which every one may have to be read before anything else."""
    from rankfold.cli.progress import counting

    with counting("looking for pictures that cannot be used", len(source), voice.silent) as watch:
        return look(source, watch=watch)


def _advising(source: Source) -> Source:
    """Let the error of a picture that cannot be read name the flag that leaves it out."""

    def advised(item: Picture | FormatError) -> Picture | FormatError:
        return _with_remedy(item) if isinstance(item, FormatError) else item

    return source.changed(advised)


def _with_remedy(error: FormatError) -> FormatError:
    """Add --skip-bad to the sentence of an error that does not speak of it in any words."""
    text = str(error)
    if "--skip-bad" in text or "skip bad pictures" in text:
        return error
    return FormatError(f"{text}; --skip-bad leaves out what cannot be read")
