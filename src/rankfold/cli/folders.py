"""apply, report, export: what can be done with a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfold import runs
from rankfold.cli.app import Voice, app
from rankfold.cli.grouping import grouped
from rankfold.cli.options import Pictures, Reading, Writing
from rankfold.cli.parsing import check_apart
from rankfold.errors import InputError

RunFolder = Annotated[Path, typer.Argument(help="The folder that align made.")]


@app.command()
@grouped
def apply(
    run: RunFolder,
    pictures: Pictures,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the pictures.")],
    scale: Annotated[
        float, typer.Option(min=0.01, help="Pixels for one pixel of the frame.")
    ] = 1.0,
    full: Annotated[bool, typer.Option("--full", help="As fine as the pictures are.")] = False,
    *,
    reading: Reading,
    writing: Writing,
    voice: Voice,
) -> None:
    """Bring other pictures of the same views, or the originals at full size, into a run's frame.

    Example: rankfold apply run photos --full -o aligned
    """
    from rankfold.cli.progress import Watcher

    source = reading.open(pictures, voice)
    check_apart(pictures, out)
    with Watcher(voice.silent) as watch:
        watch.say("applying", len(source))

        def done() -> None:
            watch.advance()
            # Half of the pictures would be of no use: Ctrl-C leaves nothing behind.
            if watch.stop:
                raise KeyboardInterrupt

        written = runs.apply_run(
            run,
            source,
            out,
            scale=None if full else scale,
            format=writing.format,
            overwrite=writing.overwrite,
            done=done,
        )
    count = len(source)
    value = {"written": str(written), "images": count}
    voice.result(value, f"{count} pictures in {written}")


@app.command()
@grouped
def report(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Another file than RUN/report.html.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a picture of some rows instead: sheet.png.")
    ] = None,
    columns: Annotated[int, typer.Option(min=1, help="Pictures on the sheet.")] = 10,
    *,
    voice: Voice,
) -> None:
    """Write the report of a run again, as one HTML file that needs no network.

    Example: rankfold report run
    """
    from rankfold.report import write_report, write_sheet

    path = write_report(run, out) if sheet is None else write_sheet(run, sheet, columns)
    voice.result({"report": str(path)}, str(path))


@app.command()
@grouped
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Option("-o", "--out", help="A .json or .csv file.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it is there.")
    ] = False,
    *,
    voice: Voice,
) -> None:
    """Write the transforms of a run as JSON or CSV.

    Example: rankfold export run -o transforms.csv
    """
    result = runs.load_alignment(run)
    # A single file has no mark that rankfold wrote it, so --overwrite replaces any.
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; choose another name, or --overwrite it")
    result.export_transforms(out)
    count = len(result.names)
    value = {"written": str(out), "images": count}
    voice.result(value, f"{count} transforms in {out}")
