"""apply, report, export: what can be done with a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold.cli.app import Json, Quiet, Voice, app, check_apart
from rankfold.cli.options import (
    Format,
    Frames,
    Grey,
    Key,
    Overwrite,
    Pictures,
    Select,
    SkipBad,
    Stride,
    open_source,
)

RunFolder = Annotated[Path, typer.Argument(help="The folder that align made.")]


@app.command()
def apply(
    run: RunFolder,
    pictures: Pictures,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the pictures.")],
    scale: Annotated[
        float, typer.Option(min=0.01, help="Pixels for one pixel of the frame.")
    ] = 1.0,
    full: Annotated[bool, typer.Option("--full", help="As fine as the pictures are.")] = False,
    grey: Grey = False,
    skip_bad: SkipBad = False,
    frames: Frames = None,
    stride: Stride = 1,
    select: Select = None,
    key: Key = None,
    format: Format = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Bring other pictures of the same views, or the originals at full size, into the frame of a run.

    Example: rankfold apply run photos --full -o aligned
    """
    import numpy as np

    from rankfold import Alignment, InputError, load
    from rankfold.cli.progress import Watcher
    from rankfold.io import write_pictures
    from rankfold.storage import whole_or_nothing
    from rankfold.warp.sampling import source_pixels_per_pixel

    voice = Voice(json, quiet)
    result = load(run)
    if not isinstance(result, Alignment):
        raise InputError(f"{run} is a decomposition and has no transforms; use a run of align")
    source = open_source(voice, pictures, frames, stride, select, key, grey, skip_bad)
    check_apart(pictures, out)
    order = _order(source.names, result.names, str(run))
    if len(source) != len(result.names):
        raise InputError(
            f"{pictures} has {len(source)} pictures, {run} {len(result.names)} transforms; they must agree"
        )
    if full:
        scale = float(
            np.median([source_pixels_per_pixel(T, result.frame) for T in result.transforms])
        )
    with whole_or_nothing(out, overwrite) as draft, Watcher(voice.silent) as watch:
        watch.say("applying", len(source))

        def warped() -> Iterator[Any]:
            for index, picture in enumerate(source.pictures()):
                yield result.apply_one(order[index], picture.values, scale=scale, mask=picture.mask)
                watch.advance()
                if watch.stop:
                    raise KeyboardInterrupt

        name = write_pictures(draft / "aligned", source.names, warped(), source, format).name
    written = out / name
    voice.result(
        {"written": str(written), "images": len(source)}, f"{len(source)} pictures in {written}"
    )


def _order(names: tuple[str, ...], known: tuple[str, ...], run: str) -> list[int]:
    """Which transform belongs to which picture: by name where the names are the same, by order where none is."""
    if set(names) == set(known):
        return [known.index(name) for name in names]
    strangers = [name for name in names if name not in known]
    if len(strangers) < len(names):
        from rankfold import InputError

        raise InputError(
            f"{strangers[0]} is not among the pictures of {run}, though others are; give the same ones"
        )
    return list(range(len(names)))


@app.command()
def report(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Another file than RUN/report.html.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a picture of some rows instead: sheet.png.")
    ] = None,
    columns: Annotated[int, typer.Option(min=1, help="Pictures on the sheet.")] = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a run again, as one HTML file that needs no network.

    Example: rankfold report run
    """
    from rankfold.report import write_report, write_sheet

    path = write_report(run, out) if sheet is None else write_sheet(run, sheet, columns)
    Voice(json, quiet).result({"report": str(path)}, str(path))


@app.command()
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Option("-o", "--out", help="A .json or .csv file.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it is there.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the transforms of a run as JSON or CSV.

    Example: rankfold export run -o transforms.csv
    """
    from rankfold import Alignment, InputError, load

    result = load(run)
    if not isinstance(result, Alignment):
        raise InputError(f"{run} is a decomposition and has no transforms; use a run of align")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; choose another name, or --overwrite it")
    result.export_transforms(out)
    value = {"written": str(out), "images": len(result.names)}
    Voice(json, quiet).result(value, f"{len(result.names)} transforms in {out}")
