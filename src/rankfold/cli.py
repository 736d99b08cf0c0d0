"""Commands: each a few lines over the public API."""

from __future__ import annotations

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
    """Render misaligned heads, align them with RASL and compare with the truth.

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
                text = f"iteration {record.outer + 1}: objective {record.objective:.3f}, rank {record.rank}"
                progress.update(task, description=text)

        result = align(batch.images, frame=batch.frame, init=batch.start, n_jobs=-1, observe=watch)

    start = alignment_error(batch.start, batch.truth, batch.points)
    end = alignment_error(result.transforms, batch.truth, batch.points)
    table = Table(title=f"{images} rendered heads, {sum(h.any() for h in batch.hidden)} of them partly hidden")
    for heading in ("eyes off by (frame px)", "mean", "max"):
        table.add_column(heading, justify="right" if heading != "eyes off by (frame px)" else "left")
    table.add_row("before", f"{start.mean:.2f}", f"{start.max:.2f}")
    table.add_row("after RASL", f"{end.mean:.2f}", f"{end.max:.2f}")
    console.print(table)
    clean = result.apply(batch.clean)
    # resampling at a source's edge can leave NaN in one and not in the other
    seen = result.valid & ~(clean != clean)
    hidden = result.apply([h.astype(float) for h in batch.hidden]) > 0.5
    everywhere = recovery_error(result.low_rank, clean, seen)
    console.print(f"clean pictures off by {everywhere:.0%}", end="")
    if (seen & hidden).any():
        console.print(
            f", by {recovery_error(result.low_rank, clean, seen & hidden):.0%} where they were hidden", end=""
        )
    console.print()
    console.print(f"rank {result.rank} of {images}, {int(result.failed.sum())} pictures failed")
    console.print(f"{result.status.value} ({result.stop_rule})")


if __name__ == "__main__":
    app()
