"""methods, families, projectors, formats, datasets: what there is to choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfold.cli.app import Json, Quiet, Voice, app, one_of, table_of


@app.command()
def methods(json: Json = False, quiet: Quiet = False) -> None:
    """List the methods.

    Example: rankfold methods
    """
    from rankfold import METHODS

    _list(Voice(json, quiet), "method", {name: method.summary for name, method in METHODS.items()})


@app.command()
def families(json: Json = False, quiet: Quiet = False) -> None:
    """List the families of transforms.

    Example: rankfold families
    """
    from rankfold import FAMILIES

    rows = {name: f"{f.size} parameters. {f.__doc__}" for name, f in FAMILIES.items()}
    _list(Voice(json, quiet), "family", rows)


@app.command()
def projectors(json: Json = False, quiet: Quiet = False) -> None:
    """List the manifolds that MeADMM can hold pictures on.

    Example: rankfold projectors
    """
    from rankfold import PROJECTORS

    rows = {name: (p.__doc__ or "").split("\n")[0] for name, p in PROJECTORS.items()}
    _list(Voice(json, quiet), "projector", rows)


@app.command()
def formats(json: Json = False, quiet: Quiet = False) -> None:
    """List what pictures can be read from and written to.

    Example: rankfold formats --json
    """
    from rankfold.io import FORMATS

    _list(Voice(json, quiet), "format", {name: row.summary for name, row in FORMATS.items()})


def _dataset_names() -> list[str]:
    """Return the names of the data sets."""
    from rankfold.datasets import DATASETS

    return list(DATASETS)


@app.command()
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the data sets that can be generated, or write pictures of one.

    Example: rankfold datasets facade -o photos --images 12
    """
    from rankfold.datasets import DATASETS, write_batch

    voice = Voice(json, quiet)
    if name is None:
        _list(voice, "data set", {key: row.summary for key, row in DATASETS.items()})
        return
    if out is None:
        raise typer.BadParameter(f"say where to write {name}: rankfold datasets {name} -o FOLDER")
    batch = DATASETS[name].make(images, seed)
    write_batch(batch, out, overwrite)
    voice.result({"written": str(out), "images": images}, f"{images} pictures in {out}")


def _list(voice: Voice, heading: str, rows: dict[str, str]) -> None:
    """Two columns."""
    value = [{"name": name, "summary": text} for name, text in rows.items()]
    voice.result(value, table_of((heading, "what it is"), rows.items()))
