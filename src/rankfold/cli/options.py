"""Options that several commands share, and how the pictures they name are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfold.cli.app import Voice, complete, one_of
from rankfold.io import Source, open_pictures


def _methods() -> list[str]:
    """Rows of METHODS."""
    from rankfold import METHODS

    return list(METHODS)


def _families() -> list[str]:
    """Rows of FAMILIES."""
    from rankfold import FAMILIES

    return list(FAMILIES)


def _projectors() -> list[str]:
    """Rows of PROJECTORS, or none."""
    from rankfold import PROJECTORS

    return [*PROJECTORS, "none"]


def _formats() -> list[str]:
    """Rows of FORMATS."""
    from rankfold.io import FORMATS

    return list(FORMATS)


Pictures = Annotated[
    str,
    typer.Argument(help="A folder, a pattern, a video, a TIFF stack, a .npy/.npz file or a zarr."),
]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="The run folder; NAME-run by default.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the run folder if it is there.")
]
Frames = Annotated[str | None, typer.Option(help="Of a video: 100:300.")]
Stride = Annotated[int, typer.Option(min=1, help="Of a video: every so many frames.")]
Select = Annotated[list[str] | None, typer.Option(help="Of a TIFF with named axes: C=0, Z=3, ...")]
Key = Annotated[str | None, typer.Option(help="Of .npz and zarr groups: the name of the array.")]
Grey = Annotated[bool, typer.Option("--grey", help="Turn colour into grey while reading.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out pictures that cannot be read.")
]
Reduce = Annotated[
    int | None,
    typer.Option(min=1, help="Read pictures so many times coarser; chosen if not given."),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="Of the pictures written; as they came by default.",
        callback=one_of("format", _formats),
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method", "-m", callback=one_of("method", _methods), autocompletion=complete(_methods)
    ),
]
Family = Annotated[
    str,
    typer.Option(
        "--family", "-t", callback=one_of("family", _families), autocompletion=complete(_families)
    ),
]
Projector = Annotated[
    str | None,
    typer.Option(callback=one_of("projector", _projectors), autocompletion=complete(_projectors)),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")]
Single = Annotated[bool, typer.Option("--float32", help="Compute in single precision.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
NoPictures = Annotated[
    bool, typer.Option("--no-pictures", help="Write the result only, no pictures.")
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Say frame, memory and time, and stop.")]
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
        help="quick: RASL and robust PCA nearly as good, several times faster.",
        callback=one_of("schedule", lambda: ["balanced", "quick"]),
    ),
]


def open_source(
    voice: Voice,
    pictures: str,
    frames: str | None,
    stride: int,
    select: list[str] | None,
    key: str | None,
    grey: bool,
    skip_bad: bool,
) -> Source:
    """Look at the input and say what is left out."""
    source = open_pictures(
        pictures, frames=frames, stride=stride, select=tuple(select or ()), key=key
    )
    source = source.in_grey() if grey else source
    source = source.without_bad() if skip_bad else source
    if source.left_out:
        voice.remark(
            f"left out: {', '.join(source.left_out[:8])}{' ...' if len(source.left_out) > 8 else ''}"
        )
    return source
