"""The command ``rankfold-lab``: evaluate, reproduce, bench, datasets."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from rankfold.cli.app import Commands, Json, Quiet, Voice, errors, table_of
from rankfold.errors import InputError
from rankfold_lab import __version__

app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode="rich")

VARIABLE = "RANKFOLD_DATA"


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", is_eager=True)
    ] = False,
) -> None:
    """Run the experiments behind rankfold's documentation."""
    if version:
        typer.echo(f"rankfold-lab {__version__}")
        raise typer.Exit


@app.command()
def evaluate(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="Folder for the log and the tables; a log there goes on."),
    ],
    data: Annotated[
        Path,
        typer.Option(
            envvar=VARIABLE,
            help="Folder with extended_yale_b; for retest also with usps/usps.h5 and rasl/, for "
            "places with lfw, oxford_affine, windows and windows_occluded, for inpainting with the "
            "last two, for masks with cdnet_NAME and decolor.",
        ),
    ],
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="P1, P2, ..., retest, places, masks or inpainting; several may be given; all on "
            "faces by default."
        ),
    ] = None,
    subjects: Annotated[str, typer.Option(help="As 1-10 or 3,5,8.")] = "1-10",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trials of a subject; for retest, pairs of random starts. 2 by default, 1 for "
            "inpainting.",
        ),
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option(help="A row of the ablation; all by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare the methods on faces with known truth; a killed run goes on where it was.

    The protocol retest has no truth: it aligns digits and dummy heads from two random starts and
    says how far the answers differ. The protocol places aligns everything with a truth in good and
    poor ways, and says how many lost pictures the verdicts find. The protocol masks compares masks
    of what moves with labelled frames, the protocol inpainting what is filled in with what is
    behind, both beside what OpenCV and others make.

    Example: rankfold-lab evaluate -o evaluation --protocol P1 --protocol P2 --jobs 2
    """
    from rankfold_lab.evaluate import ablation, retest, tables
    from rankfold_lab.evaluate.faces import PROTOCOLS
    from rankfold_lab.evaluate.protocols import LOGGED, SEEDS, Asked

    voice = Voice(json, quiet)
    names = protocol or list(PROTOCOLS)
    known = [*PROTOCOLS, retest.NAME, *LOGGED]
    for name in names:
        if name not in known:
            raise InputError(f"unknown protocol {name!r}; choose from {', '.join(known)}")
    on_faces = [name for name in names if name in PROTOCOLS]
    asked = Asked(data, _numbers(subjects), seeds, jobs)
    trials = SEEDS if seeds is None else seeds
    records: list[dict[str, Any]] = []
    pages = []
    if on_faces:
        log = out / "log.jsonl"
        todo = ablation.cells(on_faces, asked.subjects, trials)
        rows = row or list(ablation.ROWS)
        found = _logged(voice, "trials", log, ablation.run(data, log, todo, rows, jobs))
        records += found
        pages.append(_written(out / "tables.md", tables.page(found, on_faces)))
    if retest.NAME in names:
        measured = list(retest.run(data, trials))
        records += measured
        pages.append(_written(out / "retest.md", retest.table(measured)))
    for kind in LOGGED.values():
        if kind.name in names:
            log = out / f"{kind.name}.jsonl"
            found = _logged(voice, kind.unit, log, kind.run(asked, log))
            records += found
            pages.append(_written(out / f"{kind.name}.md", kind.page(found)))
    voice.result(records, "\n".join(pages))


@app.command()
def reproduce(
    what: Annotated[
        list[str], typer.Argument(help="table2, yale, ar, usps, windows, real, speed, or all.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Folder for logs, pictures and pages; what is there goes on."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            envvar=VARIABLE, help="Folder with the data sets; generated stand-ins without."
        ),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Also copy page and pictures to this folder.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time.")] = 2,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's table, figures and claims again; a killed run goes on where it was.

    Example: rankfold-lab reproduce all --data data -o out
    """
    from rankfold_lab import reproduce as room

    voice = Voice(json, quiet)
    if data is not None and not data.is_dir():
        raise InputError(
            f"{data} is not a folder; give the one with extended_yale_b, ar, usps, windows, ..."
        )
    chosen = room.experiments(None if "all" in what else what)
    counter = TextColumn("{task.completed:.0f} of {task.total}")
    columns = (TextColumn("cells"), BarColumn(), counter, TimeElapsedColumn())
    steps = room.run(chosen, data, out, jobs)
    with _kept(out), closing(steps), _bar(voice, *columns) as (bar, task):
        bar.update(task, total=sum(len(experiment.cells) for experiment in chosen))
        for done, total in steps:
            bar.update(task, completed=done, total=total)
    summary = room.write_pages(out, chosen)
    if docs is not None:
        room.copy_to_docs(out, docs)
    shown = f"{room.markdown(summary)}\n\n{out / 'reproduction.html'}"
    if data is None:
        shown = f"{room.STANDIN_NOTE}\n\n{shown}"
    headings, rows = summary
    voice.result([dict(zip(headings, row, strict=True)) for row in rows], shown)


@app.command()
def bench(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="Folder for bench.json and the page; cases there are kept."
        ),
    ],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="rpca, rasl, defaults, iteration, growth, start, profile; all by default."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar=VARIABLE, help="Folder with video/demo.avi, rasl/ and windows/."),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Also write the page and its figure to this folder.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Rounds in which all take turns; 3 by default.")
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            help="A Python that has pyrpca, sporco, tensorly, rasl, pystackreg; or this one."
        ),
    ] = None,
    octave_rasl: Annotated[
        Path | None, typer.Option(help="A copy of the published RASL toolbox, run by octave.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option(help="A checkout of an earlier version, to compare with.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small generated sizes, one run, no peers: a trial.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast it is: against other packages, against the machine, one thread and all.

    Example: rankfold-lab bench rpca rasl --data data -o out --peers peers/bin/python
    """
    from rankfold_lab import bench as room

    voice = Voice(json, quiet)
    chosen = room.cases(what)
    setting = room.setting_for(data, repeats, quick, peers, octave_rasl, earlier)
    counter = TextColumn("{task.completed:.0f} of {task.total}")
    label = TextColumn("{task.description}")
    columns = (BarColumn(), counter, TimeElapsedColumn(), label)
    with _kept(out, "name the other cases to go on"), _bar(voice, *columns) as (bar, task):
        for text, done, total in room.run(chosen, setting, out):
            bar.update(task, description=text, completed=done, total=total)
    records = room.store.read(out)
    page = room.write_page(records, out, docs)
    if json:
        voice.result(records, "")
        return
    for title, content in room.tables_of(records, chosen):
        table = table_of(*content, title=title)
        for column in table.columns:
            # There are many columns: rather two lines than a number cut short.
            column.overflow = "fold"
        voice.result(None, table)
    voice.remark(f"{page}")


@app.command()
def datasets(json: Json = False, quiet: Quiet = False) -> None:
    """List the data sets that the lab reads from the data folder, and where to get them.

    Example: rankfold-lab datasets
    """
    from rankfold_lab.readers import READERS

    rows = {name: reader.summary for name, reader in READERS.items()}
    value = [{"name": name, "summary": text} for name, text in rows.items()]
    Voice(json, quiet).result(value, table_of(("data set", "what it is"), rows.items()))


@contextmanager
def _bar(voice: Voice, *columns: ProgressColumn) -> Iterator[tuple[Progress, TaskID]]:
    """Show a progress bar on a terminal, and nothing where remarks are unwanted."""
    disabled = voice.silent or not errors.is_terminal
    with Progress(*columns, console=errors, disable=disabled) as progress:
        yield progress, progress.add_task("reading", total=None)


def _logged(
    voice: Voice, what: str, log: Path, steps: Generator[tuple[int, int], None, None]
) -> list[dict[str, Any]]:
    """Do all steps under a progress bar, and return what is in the log then."""
    from rankfold_lab.evaluate.logs import read_log

    columns = (TextColumn(what), BarColumn(), TimeElapsedColumn())
    with _kept(log), closing(steps), _bar(voice, *columns) as (bar, task):
        for done, total in steps:
            bar.update(task, completed=done, total=total)
    return read_log(log)


@contextmanager
def _kept(place: Path, how: str = "the same command goes on from there") -> Iterator[None]:
    """Say, if the block is interrupted, that what is done stays, and how to go on."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"what is done is in {place}; {how}.")
        raise


def _written(path: Path, text: str) -> str:
    """Write a page and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list: 1-3,7 gives [1, 2, 3, 7]."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        try:
            found += range(int(first), int(last or first) + 1)
        except ValueError as error:
            raise typer.BadParameter(
                f"{text!r} is not a list of numbers like 1-10 or 3,5,8"
            ) from error
    return found
