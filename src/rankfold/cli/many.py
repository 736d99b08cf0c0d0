"""align-many: batches in, a run folder each and one summary out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold import runs
from rankfold.cli.app import (
    FAILED,
    NOT_ALL_PLACED,
    Voice,
    app,
    errors,
    say_compiling,
    table_of,
)
from rankfold.cli.choices import Aligning
from rankfold.cli.forecast import shown_duration, shown_gib
from rankfold.cli.grouping import grouped
from rankfold.cli.options import Computing, Reading, Reduce, RunWriting
from rankfold.cli.parsing import repeat_command, shown_size, size_of
from rankfold.cli.wording import at_a_terminal, flags_of
from rankfold.errors import RankfoldError
from rankfold.interruptions import SIGNALS, Terminated
from rankfold.runs.many_tables import SUMMARY

# Options of this command that `rankfold align` does not have, or that each batch has its own of.
OF_MANY = (
    "batches",
    "out",
    "workers",
    "scheduler",
    "skip_existing",
    "plan",
    "json",
    "quiet",
    "overwrite",
)

Batches = Annotated[
    list[str],
    typer.Argument(
        help="Folders, videos, stacks or array files, one a batch; or a pattern in quotes."
    ),
]
OutOfMany = Annotated[
    Path, typer.Option("-o", "--out", help="The folder in which every batch gets its run folder.")
]
Workers = Annotated[
    int, typer.Option(min=1, help="Processes that run batches at a time; they share the cores.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Run batches on the workers of a Dask scheduler, as tcp://host:8786."),
]
SkipExisting = Annotated[
    bool,
    typer.Option("--skip-existing", help="Take run folders that are there, made the same way."),
]


@app.command("align-many")
@grouped
def align_many(
    ctx: typer.Context,
    batches: Batches,
    out: OutOfMany,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    skip_existing: SkipExisting = False,
    *,
    aligning: Aligning,
    reduce: Reduce = None,
    reading: Reading,
    writing: RunWriting,
    computing: Computing,
    voice: Voice,
) -> None:
    """Align many batches, each by itself; write a run folder each, and one page and table of all.

    Example: rankfold align-many subjects/* -o runs --workers 2
    """
    from rankfold import many
    from rankfold.cli.batch_bar import BatchBar
    from rankfold.cli.compiling import end_beside

    how = _how_to_read(reading)
    options = _options(ctx, aligning, reduce, writing, computing)
    if computing.plan:
        _say_plans(voice, many.find_batches(batches, out), many.recipe_of(how, options))
        return
    say_compiling(voice)
    bar = BatchBar(voice, flags_of(ctx.command.params))
    try:
        with bar, _client(scheduler, workers) as executor:
            summary = many.align_many(
                batches,
                out,
                workers=workers,
                executor=executor,
                skip_existing=skip_existing,
                reading=how,
                watch=bar,
                **options,
            )
    except (KeyboardInterrupt, Terminated) as error:
        end_beside()
        again = _go_on(ctx, skip_existing)
        kind = SIGNALS.cause_of(error)
        errors.say(f"{kind.words}; the batches that are done stay.")
        voice.remark(f"To go on from here: {again}")
        if voice.json and (out / SUMMARY).exists():
            typer.echo((out / SUMMARY).read_text(encoding="utf-8"), nl=False)
        raise typer.Exit(kind.code) from error
    _say_summary(ctx, voice, summary)
    code = _code(summary)
    if code:
        raise typer.Exit(code)


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    """Connect to a scheduler for the duration of the block; None where none is named."""
    if scheduler is None:
        yield None
        return
    if workers != 1:
        raise typer.BadParameter("--workers has no effect with --scheduler; leave it out")
    from rankfold.scale import Dask

    with Dask(scheduler) as cluster:
        yield cluster.client


def _how_to_read(reading: Reading) -> dict[str, Any]:
    """The options of reading in the words of :func:`rankfold.align_many`."""
    return {**vars(reading), "select": tuple(reading.select or ())}


def _options(
    ctx: typer.Context,
    aligning: Aligning,
    reduce: int | None,
    writing: RunWriting,
    computing: Computing,
) -> dict[str, Any]:
    """All other options in the words of :func:`rankfold.align_many`."""
    # The words that align one of the batches in the same way.
    none_of_those = dict.fromkeys(OF_MANY)
    command = shlex.split(repeat_command(ctx, **none_of_those))[2:]
    return {
        **aligning.keywords(),
        "frame": size_of(aligning.frame),
        "init": aligning.init,
        "reduction": reduce,
        "crop": aligning.crop is not None,
        "pictures": not writing.no_pictures,
        "report": not writing.no_report,
        "format": writing.format,
        "overwrite": writing.overwrite,
        "force": computing.force,
        **computing.keywords(),
        "command": tuple(command),
    }


def _say_plans(voice: Voice, found: Any, recipe: Any) -> None:
    """Print what every batch would take; one that cannot be opened has its error instead."""
    from rankfold.many import plan_batch

    for sentence in found.left_out:
        voice.remark(sentence)
    values: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    for batch in found.batches:
        try:
            _, choice, plan = plan_batch(batch, recipe)
        except (RankfoldError, OSError) as error:
            values.append({"name": batch.name, "path": batch.path, "error": str(error)})
            rows.append((batch.name, "–", "–", "–", "–"))
            voice.remark(f"{batch.name}: {error}")
            continue
        value = {
            "name": batch.name,
            "path": batch.path,
            "images": plan.images,
            "frame": list(plan.frame.shape),
            "reduction": choice.reduction,
            "memory_bytes": round(plan.memory),
            "seconds": round(plan.seconds, 1),
        }
        values.append(value)
        frame = shown_size(plan.frame.shape)
        memory = shown_gib(plan.memory)
        rows.append((batch.name, str(plan.images), frame, memory, shown_duration(plan.seconds)))
    voice.result(values, table_of(("batch", "pictures", "frame", "memory", "time"), rows))
    if any("error" in value for value in values):
        raise typer.Exit(FAILED)


def _say_summary(ctx: typer.Context, voice: Voice, summary: runs.ManySummary) -> None:
    """Print how it went, and what to open."""
    from rankfold.report.overview import OVERVIEW

    flags = flags_of(ctx.command.params)
    for remark in summary.remarks:
        voice.remark(at_a_terminal(remark, flags))
    page = summary.folder / OVERVIEW
    place = page if page.exists() else summary.folder
    voice.result(summary.as_dict(), f"{summary.sentence}\n{place}")


def _go_on(ctx: typer.Context, skip_existing: bool) -> str:
    """The command that goes on where this one was stopped."""
    again = repeat_command(ctx)
    return again if skip_existing else f"{again} --skip-existing"


def _code(summary: runs.ManySummary) -> int:
    """The exit code of many batches: that of the worst."""
    if any(row.is_useless for row in summary.rows):
        return FAILED
    if any(row.is_partly_lost for row in summary.rows):
        return NOT_ALL_PLACED
    return 0
