"""Commands: each a few lines over the public API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Align and clean pictures of one thing.")
console = Console()


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Align misaligned, unevenly lit, partly hidden pictures of one thing."""
    if version:
        from rankfold import __version__

        console.print(f"rankfold {__version__}")
        raise typer.Exit


@app.command()
def demo(
    images: Annotated[int, typer.Option(min=5, max=200, help="How many pictures to render.")] = 30,
    seed: Annotated[int, typer.Option(help="Another seed gives other lamps, turns and occluders.")] = 0,
) -> None:
    """Render misaligned heads, align them with RASL and MeADMM and compare with the truth.

    Example: rankfold demo --images 40
    """
    from rankfold import align
    from rankfold.datasets import rendered_heads
    from rankfold.metrics import alignment_error, recovery_error
    from rankfold.status import OuterRecord, Record

    columns = TextColumn("[progress.description]{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("rendering and compiling (the first run takes longer)", total=None)
        batch = rendered_heads(images, occluded=0.3, seed=seed)

        def watch(record: Record) -> None:
            if isinstance(record, OuterRecord):
                text = f"{method}, {record.stage} {record.outer + 1}: objective {record.objective:.3f}"
                progress.update(task, description=text)

        results = {}
        for method in ("rasl", "meadmm"):
            results[method] = align(
                batch.images, method=method, frame=batch.frame, init=batch.start, n_jobs=-1, observe=watch
            )

    hidden_in = sum(bool(h.any()) for h in batch.hidden)
    table = Table(title=f"{images} rendered heads, {hidden_in} partly hidden")
    for heading in ("", "eyes off by, px", "at most", "clean pictures off by", "where hidden", "rank", "failed"):
        table.add_column(heading, justify="right" if heading else "left")
    start = alignment_error(batch.start, batch.truth, batch.points)
    table.add_row("before", f"{start.mean:.2f}", f"{start.max:.2f}", "", "", "", "")
    for method, result in results.items():
        error = alignment_error(result.transforms, batch.truth, batch.points)
        clean = result.apply(batch.clean)
        seen = result.valid & (clean == clean)  # not NaN at a source's edge
        hidden = seen & (result.apply([h.astype(float) for h in batch.hidden]) > 0.5)
        everywhere = f"{recovery_error(result.low_rank, clean, seen):.0%}"
        behind = f"{recovery_error(result.low_rank, clean, hidden):.0%}" if hidden.any() else "-"
        failed = str(int(result.failed.sum()))
        row = (f"{error.mean:.2f}", f"{error.max:.2f}", everywhere, behind, str(result.rank), failed)
        table.add_row(method, *row)
    console.print(table)
    console.print(f"MeADMM {results['meadmm'].status.value} ({results['meadmm'].stop_rule})")


@app.command()
def methods() -> None:
    """List the methods.

    Example: rankfold methods
    """
    from rankfold import METHODS

    _print_table("method", {name: method.summary for name, method in METHODS.items()})


@app.command()
def families() -> None:
    """List the families of transforms.

    Example: rankfold families
    """
    from rankfold import FAMILIES

    _print_table("family", {name: f"{f.size} parameters. {f.__doc__}" for name, f in FAMILIES.items()})


@app.command()
def projectors() -> None:
    """List the manifolds that MeADMM can hold pictures on.

    Example: rankfold projectors
    """
    from rankfold import PROJECTORS

    _print_table("projector", {name: (p.__doc__ or "").split("\n")[0] for name, p in PROJECTORS.items()})


@app.command()
def evaluate(
    data: Annotated[Path, typer.Option(help="Folder with yaleB01, yaleB02, ...")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the log and the tables; a log there goes on.")],
    protocol: Annotated[list[str] | None, typer.Option(help="P1, P2, ...; several may be given.")] = None,
    subjects: Annotated[str, typer.Option(help="As 1-10 or 3,5,8.")] = "1-10",
    seeds: Annotated[int, typer.Option(min=1)] = 2,
    row: Annotated[list[str] | None, typer.Option(help="A row of the ablation; all by default.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 1,
) -> None:
    """Compare the methods on faces with known truth; can be killed and goes on where it was.

    Example: rankfold evaluate --data extended_yale_b -o evaluation --protocol P1 --protocol P2 --jobs 2
    """
    from rankfold.experiments import ablation
    from rankfold.experiments.faces import PROTOCOLS

    names = protocol or list(PROTOCOLS)
    todo = ablation.cells(names, _numbers(subjects), seeds)
    with Progress(TextColumn("trials"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("trials", total=None)
        for done, total in ablation.run(data, out / "log.jsonl", todo, row or list(ablation.ROWS), jobs):
            progress.update(task, completed=done, total=total)
    records = ablation.read_log(out / "log.jsonl")
    page = ablation.page(records, names)
    (out / "tables.md").write_text(page, encoding="utf-8")
    typer.echo(page)


@app.command()
def speed(
    repeats: Annotated[int, typer.Option(min=1)] = 7, jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1
) -> None:
    """Time an inner iteration of RASL and MeADMM, side by side.

    Example: rankfold speed --repeats 11
    """
    from rankfold.experiments.speed import iteration_times

    for timing in iteration_times(repeats, jobs):
        typer.echo(
            f"{timing.shape}: RASL {timing.rasl:.2f} ms, MeADMM {timing.meadmm:.2f} ms, ratio {timing.ratio:.2f}"
        )


@app.command()
def retest(
    data: Annotated[Path, typer.Option(help="Folder with usps/usps.h5 and rasl/.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of random starts.")] = 2,
) -> None:
    """Align digits and dummy heads from two random starts and print how far the answers differ (px).

    Example: rankfold retest --data data
    """
    from rankfold.experiments.retest import retest_table

    for line in retest_table(data, pairs):
        typer.echo(line)


@app.command()
def windows(
    data: Annotated[Path, typer.Option(help="Folder with windows and windows_occluded.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the pictures.")],
    jobs: Annotated[int, typer.Option(min=1, help="Threads.")] = 1,
) -> None:
    """Align the facade windows with RASL and MeADMM, clean and occluded, and write contact sheets.

    Example: rankfold windows --data data -o pictures
    """
    from rankfold.experiments import windows as experiment
    from rankfold.io import write_picture

    photographs = experiment.read_windows(data)
    out.mkdir(parents=True, exist_ok=True)
    for name, occluded in (("windows", False), ("windows_occluded", True)):
        results = [experiment.run_windows(photographs, m, occluded, jobs) for m in ("rasl", "meadmm")]
        write_picture(out / f"{name}.jpg", experiment.contact_sheet(results))
        for result in results:
            line = f"{name} {result.method}: worst score {result.scores.max():.2f}, rank {result.rank}"
            if occluded:
                changed, every = experiment.occluded_recovery(photographs, result)
                line += f", error on changed pixels {changed:.4f}, on all {every:.4f}"
            typer.echo(line)


def _numbers(text: str) -> list[int]:
    """1-3,7 -> [1, 2, 3, 7]."""
    try:
        parts = [part.split("-") for part in text.split(",")]
        return [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers like 1-10 or 3,5,8") from error


def _print_table(heading: str, rows: dict[str, str]) -> None:
    """Two columns."""
    table = Table(heading, "what it is")
    for name, text in rows.items():
        table.add_row(name, text)
    console.print(table)


if __name__ == "__main__":
    app()
