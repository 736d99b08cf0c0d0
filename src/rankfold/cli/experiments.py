"""evaluate, reproduce, bench, speed, retest, windows: the measurements behind the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rankfold.cli.app import Json, Quiet, Voice, app, errors, table_of


@app.command()
def evaluate(
    data: Annotated[Path, typer.Option(help="Folder with yaleB01, yaleB02, ...")],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="Folder for the log and the tables; a log there goes on."),
    ],
    protocol: Annotated[
        list[str] | None, typer.Option(help="P1, P2, ...; several may be given.")
    ] = None,
    subjects: Annotated[str, typer.Option(help="As 1-10 or 3,5,8.")] = "1-10",
    seeds: Annotated[int, typer.Option(min=1)] = 2,
    row: Annotated[
        list[str] | None, typer.Option(help="A row of the ablation; all by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare the methods on faces with known truth; can be killed and goes on where it was.

    Example: rankfold evaluate --data extended_yale_b -o evaluation --protocol P1 --protocol P2 --jobs 2
    """
    from rankfold.experiments import ablation
    from rankfold.experiments.faces import PROTOCOLS

    voice, names = Voice(json, quiet), protocol or list(PROTOCOLS)
    todo = ablation.cells(names, _numbers(subjects), seeds)
    columns = TextColumn("trials"), BarColumn(), TimeElapsedColumn()
    with Progress(
        *columns, console=errors, disable=voice.silent or not errors.is_terminal
    ) as progress:
        task = progress.add_task("trials", total=None)
        for done, total in ablation.run(
            data, out / "log.jsonl", todo, row or list(ablation.ROWS), jobs
        ):
            progress.update(task, completed=done, total=total)
    records = ablation.read_log(out / "log.jsonl")
    page = ablation.page(records, names)
    (out / "tables.md").write_text(page, encoding="utf-8")
    voice.result(records, page)


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
        Path | None, typer.Option(help="Folder with the data sets; generated stand-ins without.")
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Also copy page and pictures to this folder.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time.")] = 2,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's table, figures and claims again; can be killed and goes on where it was.

    Example: rankfold reproduce all --data data -o out
    """
    from rankfold.errors import InputError
    from rankfold.experiments import reproduce as room
    from rankfold.experiments.reproduce.page import copy_to_docs

    voice = Voice(json, quiet)
    if data is not None and not data.is_dir():
        raise InputError(
            f"{data} is not a folder; give the one with extended_yale_b, ar, usps, windows, ..."
        )
    chosen = room.experiments(None if "all" in what else what)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=errors, disable=voice.silent or not errors.is_terminal
    ) as progress:
        task = progress.add_task("cells", total=sum(len(e.cells) for e in chosen))
        for done, total in room.run(chosen, data, out, jobs):
            progress.update(task, completed=done, total=total)
    summary = room.write_pages(out, chosen)
    if docs is not None:
        copy_to_docs(out, docs)
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in summary.splitlines()
    ]
    label = (
        ""
        if data is not None
        else "Generated stand-ins, not the paper's data: this says nothing about the paper.\n\n"
    )
    shown = f"{label}{summary}\n\n{out / 'reproduction.html'}"
    voice.result([dict(zip(rows[0], row, strict=True)) for row in rows[2:]], shown)


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
        typer.Argument(help="rpca, rasl, iteration, growth, start, profile; all by default."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="RANKFOLD_DATA", help="Folder with video/demo.avi, rasl/ and windows/."
        ),
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
            help="A Python that has pyrpca, sporco, tensorly and rasl; this one by default."
        ),
    ] = None,
    octave_rasl: Annotated[
        Path | None, typer.Option(help="A copy of the published RASL toolbox, run by octave.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small generated sizes, one run, no peers: a trial.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast it is: against other packages, against the machine, one thread and all.

    Example: rankfold bench rpca rasl --data data -o out --peers peers/bin/python
    """
    import sys

    from rankfold.errors import InputError
    from rankfold.experiments import bench as room
    from rankfold.experiments.bench.declared import declared
    from rankfold.experiments.bench.tables import TABLES, verdict_table

    voice, chosen = Voice(json, quiet), room.cases(what)
    for folder, option in ((data, "--data"), (octave_rasl, "--octave-rasl")):
        if folder is not None and not folder.is_dir() and not quick:
            raise InputError(f"{folder} is not a folder; give {option} one that is there")
    setting = room.Setting(
        data=None if quick else data,
        repeats=repeats or (1 if quick else declared()["repeats"]),
        quick=quick,
        peers=peers or Path(sys.executable),
        octave_rasl=octave_rasl,
    )
    columns = (
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(
        *columns, console=errors, disable=voice.silent or not errors.is_terminal
    ) as progress:
        task = progress.add_task("reading", total=None)
        for label, done, total in room.run(chosen, setting, out):
            progress.update(task, description=label, completed=done, total=total)
    records = room.store.read(out)
    page = room.write_page(records, out, docs)
    if json:
        voice.result(records, "")
        return
    shown = [
        (title, build(records[case]["rows"])) for case in chosen for title, build in TABLES[case]
    ]
    for title, content in [*shown, ("Bars", verdict_table(records))]:
        table = table_of(*content, title=title)
        for column in table.columns:
            column.overflow = "fold"  # many columns: rather two lines than a number cut short
        voice.result(None, table)
    voice.remark(f"{page}")


@app.command()
def speed(
    repeats: Annotated[int, typer.Option(min=1)] = 7,
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time an inner iteration of RASL and MeADMM, side by side.

    Example: rankfold speed --repeats 11
    """
    from rankfold.experiments.speed import iteration_times

    timings = iteration_times(repeats, jobs)
    rows = timings.items()
    value = [
        {"shape": shape, "rasl_ms": t.rasl, "meadmm_ms": t.meadmm, "ratio": t.ratio}
        for shape, t in rows
    ]
    lines = [
        f"{shape}: RASL {t.rasl:.2f} ms, MeADMM {t.meadmm:.2f} ms, ratio {t.ratio:.2f}"
        for shape, t in rows
    ]
    Voice(json, quiet).result(value, "\n".join(lines))


@app.command()
def retest(
    data: Annotated[Path, typer.Option(help="Folder with usps/usps.h5 and rasl/.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of random starts.")] = 2,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Align digits and dummy heads from two random starts and print how far the answers differ (px).

    Example: rankfold retest --data data
    """
    from rankfold.experiments.retest import retest_table

    lines = list(retest_table(data, pairs))
    Voice(json, quiet).result(lines, "\n".join(lines))


@app.command()
def windows(
    data: Annotated[Path, typer.Option(help="Folder with windows and windows_occluded.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the pictures.")],
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Align the facade windows with RASL and MeADMM, clean and occluded, and write contact sheets.

    Example: rankfold windows --data data -o pictures
    """
    from rankfold.experiments import windows as experiment
    from rankfold.io import write_picture

    photographs = experiment.read_windows(data)
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for name, occluded in (("windows", False), ("windows_occluded", True)):
        results = [
            experiment.run_windows(photographs, m, occluded, jobs) for m in ("rasl", "meadmm")
        ]
        write_picture(out / f"{name}.jpg", experiment.contact_sheet(results))
        for result in results:
            row = {
                "set": name,
                "method": result.method,
                "worst": float(result.scores.max()),
                "rank": result.rank,
            }
            if occluded:
                row["changed"], row["all"] = experiment.occluded_recovery(photographs, result)
            rows.append(row)
    lines = [
        f"{r['set']} {r['method']}: worst score {r['worst']:.2f}, rank {r['rank']}"
        + (
            f", error on changed pixels {r['changed']:.4f}, on all {r['all']:.4f}"
            if "changed" in r
            else ""
        )
        for r in rows
    ]
    Voice(json, quiet).result(rows, "\n".join(lines))


def _numbers(text: str) -> list[int]:
    """1-3,7 -> [1, 2, 3, 7]."""
    try:
        parts = [part.split("-") for part in text.split(",")]
        return [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers like 1-10 or 3,5,8") from error
