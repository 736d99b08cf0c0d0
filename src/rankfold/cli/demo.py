"""demo: the whole job on rendered heads, with the truth beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold.cli.app import Voice, app, errors, say_compiling, table_of
from rankfold.cli.grouping import grouped
from rankfold.cli.parsing import repeat_command

METHODS = ("rasl", "meadmm")  # are compared; the folder and the report are those of the last
OCCLUDED = 0.3  # share of the heads that are partly hidden

# Every measure with its heading and the format of its numbers.
COLUMNS = {
    "eyes": ("eyes, px", ".2f"),
    "eyes_max": ("at most", ".2f"),
    "recovery": ("clean", ".0%"),
    "recovery_hidden": ("hidden", ".0%"),
    "rank": ("rank", "d"),
    "failed": ("failed", "d"),
    "seconds": ("seconds", ".1f"),
}
LEGEND = (
    "eyes: mean distance from where they should be; "
    "clean, hidden: relative error of the clean pictures"
)


@app.command()
@grouped
def demo(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder.")] = Path("demo-run"),
    images: Annotated[int, typer.Option(min=5, max=200, help="How many pictures to render.")] = 30,
    seed: Annotated[
        int, typer.Option(help="Another seed gives other lamps, turns and occluders.")
    ] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run folder if it is there.")
    ] = False,
    *,
    voice: Voice,
) -> None:
    """Align rendered heads with RASL and MeADMM, compare with the truth, and write a report.

    Example: rankfold demo --images 40
    """
    from rankfold import runs
    from rankfold.cli.progress import Watcher
    from rankfold.datasets import rendered_heads
    from rankfold.report import write_report
    from rankfold.stack import Stack
    from rankfold.storage import whole_or_nothing

    with whole_or_nothing(out, overwrite) as draft, Watcher(voice.silent) as watch:
        if not errors.is_terminal:
            voice.remark("rendering and aligning ...")
        say_compiling(voice)
        _compile(watch)
        watch.say("rendering")
        batch = rendered_heads(images, occluded=OCCLUDED, seed=seed)
        stack = Stack.of(batch.images, names=[f"head-{k:02d}" for k in range(images)])
        metrics = {"before": _before(batch)}
        # After the loop, result and method are those of the last method.
        for method in METHODS:
            result, metrics[method] = _align(stack, batch, method, watch)
        watch.say("writing the report")
        config = {
            "title": f"{images} rendered heads",
            "command": repeat_command(ctx),
            "options": {"method": method, "images": images, "seed": seed},
            "seconds": round(metrics[method]["seconds"], 2),
        }
        run = runs.fill(draft, result, stack, None, config, metrics)
        write_report(run)
    hidden = sum(bool(mask.any()) for mask in batch.hidden)
    title = f"{images} rendered heads, {hidden} partly hidden"
    headings = ("", *(heading for heading, _ in COLUMNS.values()))
    rows = [(name, *_cells(measures)) for name, measures in metrics.items()]
    voice.result(metrics, table_of(headings, rows, title))
    if not voice.silent:
        typer.echo(LEGEND)
        typer.echo(f"MeADMM: {result.outcome}")
        typer.echo(f"MeADMM {result.status.value} ({result.stop_rule})")
        typer.echo(f"Report: {out / 'report.html'}")


def _compile(watch: Any) -> None:
    """Run both methods on tiny pictures, so that no time measured later is that of numba."""
    from rankfold import align
    from rankfold.datasets import rendered_heads

    watch.say("compiling, or loading what is compiled")
    tiny = rendered_heads(20, frame=(16, 15), seed=1)
    words: dict[str, Any] = {"frame": tiny.frame, "init": tiny.start, "max_outer": 1, "n_jobs": -1}
    for method in METHODS:
        align(tiny.images, method=method, **words)


def _align(stack: Any, batch: Any, method: str, watch: Any) -> tuple[Any, dict[str, Any]]:
    """Align the heads; return the result and its measures, with the seconds that it took."""
    from rankfold import align

    began = time.perf_counter()
    result = align(
        stack, method=method, frame=batch.frame, init=batch.start, n_jobs=-1, observe=watch
    )
    measures = _measure(result, batch)
    measures["seconds"] = time.perf_counter() - began
    # A comparison of half a result would mislead: Ctrl-C leaves nothing behind.
    if watch.stop:
        raise KeyboardInterrupt
    return result, measures


def _before(batch: Any) -> dict[str, Any]:
    """Measure how far off the start is."""
    from rankfold.metrics import alignment_error

    error = alignment_error(batch.start, batch.truth, batch.points)
    return {"eyes": error.mean, "eyes_max": error.max}


def _measure(result: Any, batch: Any) -> dict[str, Any]:
    """Compare a result with the truth."""
    from rankfold.metrics import alignment_error, recovery_error

    error = alignment_error(result.transforms, batch.truth, batch.points)
    clean = result.apply(batch.clean)
    # NaN, which marks what a picture does not show, is the one value that differs from itself.
    seen = result.valid & (clean == clean)
    covered = result.apply([mask.astype(float) for mask in batch.hidden]) > 0.5
    hidden = seen & covered
    recovery_hidden = recovery_error(result.low_rank, clean, hidden) if hidden.any() else None
    return {
        "eyes": error.mean,
        "eyes_max": error.max,
        "recovery": recovery_error(result.low_rank, clean, seen),
        "recovery_hidden": recovery_hidden,
        "rank": result.rank,
        "failed": int(result.failed.sum()),
    }


def _cells(measures: dict[str, Any]) -> list[str]:
    """Write measures as text; what was not measured is left empty."""
    return [
        "" if measures.get(name) is None else format(measures[name], style)
        for name, (_, style) in COLUMNS.items()
    ]
