"""methods, stages, starts, settings, families, projectors, formats, datasets: what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold.cli.app import Voice, app, table_of
from rankfold.cli.grouping import grouped
from rankfold.cli.parsing import one_of


@app.command()
@grouped
def methods(voice: Voice) -> None:
    """List the methods.

    Example: rankfold methods
    """
    from rankfold import METHODS

    _list(voice, "method", {name: method.summary for name, method in METHODS.items()})


@app.command()
@grouped
def stages(voice: Voice) -> None:
    """List what an alignment does, in order.

    Example: rankfold stages
    """
    from rankfold import STAGES

    _list(voice, "stage", {name: stage.sentence for name, stage in STAGES.items()})


@app.command()
@grouped
def starts(voice: Voice) -> None:
    """List the ways to find where to begin, in the order in which --start auto tries them.

    Example: rankfold starts
    """
    from rankfold.align.routes import ROUTES

    _list(voice, "start", {name: route.sentence for name, route in ROUTES.items()})


@app.command()
@grouped
def settings(voice: Voice) -> None:
    """List every tuned number, with its unit and where it came from.

    Example: rankfold settings
    """
    from rankfold import AlignSettings, OutputSettings
    from rankfold.align import setting_rows

    lines: list[str] = []
    values: dict[str, Any] = {}
    for settings in (AlignSettings(), OutputSettings()):
        group = ""
        for row in setting_rows(settings):
            if row.group != group:
                group = row.group
                about = _first_line(getattr(settings, group))
                lines += ["", f"{group}: {about}"]
            lines += [f"  {group}.{row.name} = {row.shown} ({row.unit})", f"      {row.why}"]
        values |= settings.values()
    voice.result(values, "\n".join(lines[1:]))


@app.command()
@grouped
def families(voice: Voice) -> None:
    """List the families of transforms.

    Example: rankfold families
    """
    from rankfold import FAMILIES

    rows = {
        name: f"{family.size} parameters. {family.__doc__}" for name, family in FAMILIES.items()
    }
    _list(voice, "family", rows)


@app.command()
@grouped
def projectors(voice: Voice) -> None:
    """List the manifolds that MeADMM can hold pictures on.

    Example: rankfold projectors
    """
    from rankfold import PROJECTORS

    rows = {name: _first_line(projector) for name, projector in PROJECTORS.items()}
    _list(voice, "projector", rows)


@app.command()
@grouped
def formats(voice: Voice) -> None:
    """List what pictures can be read from and written to.

    Example: rankfold formats --json
    """
    from rankfold.io import FORMATS

    _list(voice, "format", {name: row.summary for name, row in FORMATS.items()})


def _dataset_names() -> list[str]:
    """Return the names of the data sets."""
    from rankfold.datasets import DATASETS

    return list(DATASETS)


@app.command()
@grouped
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The one that is to be written.", callback=one_of("data set", _dataset_names)
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for its pictures.")
    ] = None,
    images: Annotated[int, typer.Option(min=2, help="How many pictures.")] = 20,
    seed: Annotated[int, typer.Option(help="Another seed gives other pictures.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is there.")
    ] = False,
    *,
    voice: Voice,
) -> None:
    """List the data sets that can be generated, or write pictures of one.

    Example: rankfold datasets facade -o photos --images 12
    """
    from rankfold.datasets import DATASETS, write_batch

    if name is None:
        _list(voice, "data set", {key: row.summary for key, row in DATASETS.items()})
        return
    if out is None:
        raise typer.BadParameter(f"say where to write {name}: rankfold datasets {name} -o FOLDER")
    batch = DATASETS[name].make(images, seed)
    write_batch(batch, out, overwrite)
    voice.result({"written": str(out), "images": images}, f"{images} pictures in {out}")


def _list(voice: Voice, heading: str, rows: dict[str, str]) -> None:
    """Print names and summaries."""
    value = [{"name": name, "summary": text} for name, text in rows.items()]
    voice.result(value, table_of((heading, "what it is"), rows.items()))


def _first_line(thing: object) -> str:
    """Take the first line of a docstring."""
    return (thing.__doc__ or "").split("\n")[0]
