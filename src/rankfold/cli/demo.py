"""demo: the whole job on rendered heads, with the truth beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold.cli.app import Json, Quiet, Voice, app, errors, repeat_command, table_of

HEADINGS = ("", "eyes, px", "at most", "clean", "hidden", "rank", "failed", "seconds")


@app.command()
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Render misaligned heads, align them with RASL and MeADMM, compare with the truth, write a report.

    Example: rankfold demo --images 40
    """
    from rankfold import align, runs
    from rankfold.cli.progress import Watcher
    from rankfold.datasets import rendered_heads
    from rankfold.report import write_report
    from rankfold.stack import Stack
    from rankfold.storage import whole_or_nothing

    voice = Voice(json, quiet)
    with (
        whole_or_nothing(out, overwrite) as draft,
        Watcher(voice.silent, ("features", "pixels")) as watch,
    ):
        if not (voice.silent or errors.is_terminal):
            voice.remark("compiling (the first start only), rendering, aligning ...")
        watch.say("compiling (the first start only)")
        tiny = rendered_heads(6, frame=(16, 15), seed=1)
        for method in ("rasl", "meadmm"):
            align(
                tiny.images,
                method=method,
                frame=tiny.frame,
                init=tiny.start,
                max_outer=1,
                n_jobs=-1,
            )
        watch.say("rendering")
        batch = rendered_heads(images, occluded=0.3, seed=seed)
        stack = Stack.of(batch.images, names=[f"head-{k:02d}" for k in range(images)])
        results, metrics = {}, {"before": _before(batch)}
        for method in ("rasl", "meadmm"):
            began = time.perf_counter()
            options: dict[str, Any] = {
                "frame": batch.frame,
                "init": batch.start,
                "n_jobs": -1,
                "observe": watch,
            }
            results[method] = align(stack, method=method, **options)
            metrics[method] = _measure(results[method], batch) | {
                "seconds": time.perf_counter() - began
            }
            if watch.stop:
                raise KeyboardInterrupt
        watch.say("writing the report")
        config = {
            "title": f"{images} rendered heads",
            "command": repeat_command(ctx),
            "options": {"method": "meadmm", "images": images, "seed": seed},
            "seconds": round(metrics["meadmm"]["seconds"], 2),
        }
        runs.fill(draft, results["meadmm"], stack, None, config, metrics)
        write_report(draft)
    hidden = sum(bool(h.any()) for h in batch.hidden)
    rows = [(name, *_cells(one)) for name, one in metrics.items()]
    voice.result(
        metrics, table_of(HEADINGS, rows, f"{images} rendered heads, {hidden} partly hidden")
    )
    if not voice.silent:
        typer.echo(
            "eyes: mean distance from where they should be; clean, hidden: relative error of the clean pictures"
        )
        typer.echo(f"MeADMM {results['meadmm'].status.value} ({results['meadmm'].stop_rule})")
        typer.echo(f"Report: {out / 'report.html'}")


def _before(batch: Any) -> dict[str, Any]:
    """How far off the start is."""
    from rankfold.metrics import alignment_error

    error = alignment_error(batch.start, batch.truth, batch.points)
    return {"eyes": error.mean, "eyes_max": error.max}


def _measure(result: Any, batch: Any) -> dict[str, Any]:
    """A result against the truth."""
    from rankfold.metrics import alignment_error, recovery_error

    error = alignment_error(result.transforms, batch.truth, batch.points)
    clean = result.apply(batch.clean)
    seen = result.valid & (clean == clean)  # not NaN at a source's edge
    hidden = seen & (result.apply([h.astype(float) for h in batch.hidden]) > 0.5)
    return {
        "eyes": error.mean,
        "eyes_max": error.max,
        "recovery": recovery_error(result.low_rank, clean, seen),
        "recovery_hidden": recovery_error(result.low_rank, clean, hidden) if hidden.any() else None,
        "rank": result.rank,
        "failed": int(result.failed.sum()),
    }


def _cells(one: dict[str, Any]) -> list[str]:
    """Numbers as text."""
    styles = {
        "eyes": ".2f",
        "eyes_max": ".2f",
        "recovery": ".0%",
        "recovery_hidden": ".0%",
        "rank": "d",
        "failed": "d",
    }
    styles["seconds"] = ".1f"
    return [
        "" if one.get(key) is None else format(one[key], style) for key, style in styles.items()
    ]
