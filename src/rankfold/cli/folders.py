"""apply, report, export: what can be done with a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfold import runs
from rankfold.cli.app import Voice, app
from rankfold.cli.grouping import grouped
from rankfold.cli.options import Pictures, Reading, Writing

RunFolder = Annotated[Path, typer.Argument(help="The folder that align made.")]
# A single file has no mark that rankfold wrote it, so this replaces any but a part of a run.
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")]


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
    count = 0
    with Watcher(voice.silent) as watch:

        def step(done: int, total: int) -> None:
            nonlocal count
            count = done
            if done == 1:
                watch.say("applying", total)
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
            step=step,
        )
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
    overwrite: Overwrite = False,
    *,
    voice: Voice,
) -> None:
    """Write the report of a run again, as one HTML file that needs no network.

    Example: rankfold report run
    """
    from rankfold.report import write_report, write_sheet

    if sheet is None:
        path = write_report(run, out, overwrite)
    else:
        path = write_sheet(run, sheet, columns, overwrite=overwrite)
    voice.result({"report": str(path)}, str(path))


@app.command()
@grouped
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Option("-o", "--out", help="A .json or .csv file.")],
    overwrite: Overwrite = False,
    *,
    voice: Voice,
) -> None:
    """Write the transforms of a run as JSON or CSV.

    Example: rankfold export run -o transforms.csv
    """
    result = runs.load_alignment(run)
    result.export_transforms(out, overwrite)
    count = len(result.names)
    value = {"written": str(out), "images": count}
    voice.result(value, f"{count} transforms in {out}")
