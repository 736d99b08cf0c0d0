"""align and decompose: pictures in, a run folder out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from rankfold import runs
from rankfold.cli.app import (
    FAILED,
    NOT_ALL_PLACED,
    Voice,
    app,
    errors,
    say_compiling,
)
from rankfold.cli.choices import Aligning, Decomposing
from rankfold.cli.forecast import check_memory, say_choice, say_plan, say_sizes
from rankfold.cli.grouping import grouped
from rankfold.cli.options import (
    Cluster,
    Computing,
    Out,
    Pictures,
    Reading,
    Reduce,
    Resume,
    RunWriting,
)
from rankfold.cli.parsing import repeat_command, run_name, size_of
from rankfold.cli.wording import at_a_terminal, flags_of
from rankfold.errors import WriteError
from rankfold.interruptions import SIGNALS, STOPPED, Terminated
from rankfold.status import Status
from rankfold.verdicts import BatchVerdict


@app.command()
@grouped
def align(
    ctx: typer.Context,
    pictures: Pictures,
    out: Out = None,
    *,
    aligning: Aligning,
    reduce: Reduce = None,
    resume: Resume = False,
    reading: Reading,
    writing: RunWriting,
    computing: Computing,
    cluster: Cluster,
    voice: Voice,
) -> None:
    """Align pictures of one thing; write transforms, clean pictures, what did not belong, a report.

    Example: rankfold align photos -o run
    """
    from rankfold.cli.progress import Watcher

    method = aligning.method
    family = aligning.family
    # What there is, what is chosen, and what that will take.
    source = reading.open(pictures, voice, aligned=True)
    keywords = aligning.keywords(source.names)
    is_cropped = aligning.crop is not None
    sample = runs.sample_in(source, keywords["sample"], keywords.get("settings"), is_cropped)
    choice = runs.choose(source, size_of(aligning.frame), aligning.init, reduce, family, sample)
    say_choice(voice, source, choice, method, family)
    if sample is not None:
        voice.remark(
            f"{len(sample)} of them are aligned, the others placed against them (--sample)"
        )
    plan = runs.plan_run(
        sample or source,
        choice,
        method,
        family,
        start=aligning.start,
        coarse=aligning.coarse,
        frame_of=aligning.frame_of,
        dtype=computing.dtype,
        others=0 if sample is None else len(source) - len(sample),
    )
    remedies = "a smaller --frame, --reduce, --float32 or fewer pictures"
    if _is_only_planned(voice, plan, choice, computing, remedies):
        return
    # The run itself.
    target = out or run_name(pictures)
    say_compiling(voice)
    again = repeat_command(ctx, resume=None)
    with (
        _saying_how_to_go_on(target, again),
        cluster.joined(computing, plan.needs) as computed,
        Watcher(voice.silent) as watch,
    ):
        summary = runs.run_align(
            target,
            source,
            choice,
            crop=is_cropped,
            output=writing.output,
            config=_config(ctx, {**aligning.recorded(), "init": aligning.init}),
            watch=watch,
            resume=resume,
            **computed,
            **keywords,
        )
    # How it went. A stopped run goes on from its own folder into a new one.
    go_on = repeat_command(ctx, **_going_on(target, aligning))
    _say_summary(ctx, voice, summary, go_on=go_on)
    _leave(voice, summary, f"To go on from here: {go_on}")


@app.command()
@grouped
def decompose(
    ctx: typer.Context,
    pictures: Pictures,
    out: Out = None,
    *,
    decomposing: Decomposing,
    reduce: Reduce = None,
    reading: Reading,
    writing: RunWriting,
    computing: Computing,
    cluster: Cluster,
    voice: Voice,
) -> None:
    """Split pictures from a fixed camera into background and what did not belong, as they lie.

    Example: rankfold decompose escalator.avi -o run
    """
    from rankfold.cli.progress import Watcher

    # What there is, what is chosen, and what that will take.
    source = reading.open(pictures, voice)
    choice = runs.choose_as_they_lie(source, reduce)
    say_sizes(voice, source, choice)
    plan = runs.plan_run(source, choice, decomposing.method, moves=False, dtype=computing.dtype)
    remedies = "--reduce, --float32 or fewer pictures"
    if _is_only_planned(voice, plan, choice, computing, remedies):
        return
    # The run itself.
    target = out or run_name(pictures)
    keywords = decomposing.keywords()
    with cluster.joined(computing, plan.needs) as computed, Watcher(voice.silent) as watch:
        summary = runs.run_decompose(
            target,
            source,
            choice,
            output=writing.output,
            config=_config(ctx, keywords),
            watch=watch,
            **computed,
            **keywords,
        )
    _say_summary(ctx, voice, summary)
    again = repeat_command(ctx, out=f"{target}-2")
    _leave(voice, summary, f"Stopped before it had converged; to have all of it: {again}")


@contextmanager
def _saying_how_to_go_on(target: Path, command: str) -> Iterator[None]:
    """Say how to go on with a run that is interrupted, and end with its exit code."""
    from rankfold.cli.compiling import end_beside

    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        place = runs.unfinished(target)
        if not runs.can_go_on(target):
            raise
        # What has been done is worth a sentence even where remarks are unwanted.
        kind = SIGNALS.cause_of(error)
        errors.say(f"{kind.words}; {place} has what is needed to go on: {command}")
        end_beside()
        raise typer.Exit(kind.code) from error
    except WriteError as error:
        place = runs.unfinished(target)
        if not runs.can_go_on(target):
            raise
        raise WriteError(f"{error}; {place} has what is needed to go on: {command}") from error


def _is_only_planned(
    voice: Voice, plan: Any, choice: runs.Choice, computing: Computing, remedies: str
) -> bool:
    """Say the plan where it is asked for, and refuse what cannot fit; True if that is all."""
    if computing.plan:
        say_plan(voice, plan, choice, computing)
    check_memory(plan, computing, remedies)
    return computing.plan


def _config(ctx: typer.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Say how to repeat this command: what was typed, where, and what it meant."""
    return {
        # The same command gives this result again, also where there is nothing to go on from.
        "command": repeat_command(ctx, resume=None),
        "directory": str(Path.cwd()),
        "options": options,
    }


def _say_summary(ctx: typer.Context, voice: Voice, summary: runs.Summary, **further: str) -> None:
    """Print remarks, how it went, and what to open."""
    flags = flags_of(ctx.command.params)
    for remark in summary.remarks:
        voice.remark(at_a_terminal(remark, flags))
    sentence = at_a_terminal(summary.sentence, flags)
    voice.result({**summary.as_dict(), **further}, f"{sentence}\n{summary.place}")


def _leave(voice: Voice, summary: runs.Summary, when_stopped: str) -> None:
    """End with the exit code that the outcome has; nothing to do where all is well."""
    if summary.status is Status.STOPPED:
        voice.remark(when_stopped)
        raise typer.Exit(STOPPED)
    # A run at its iteration limit has a result that can be used; one of NaN has none.
    if summary.status is Status.NON_FINITE:
        raise typer.Exit(FAILED)
    if isinstance(summary, runs.AlignmentSummary):
        code = _code(summary)
        if code:
            raise typer.Exit(code)


def _going_on(target: Path, aligning: Aligning) -> dict[str, str | None]:
    """Options of the command that goes on where this run ends; None leaves one out."""
    changed: dict[str, str | None] = {"init": str(target), "out": f"{target}-2"}
    if aligning.start == "match" or aligning.frame_of is not None:
        # Matching once more would begin anew.
        changed |= {"start": "given", "frame_of": None}
    return changed


def _code(summary: runs.AlignmentSummary) -> int:
    """The exit code of an alignment, by the verdicts; pictures that are only doubtful are good."""
    verdict = BatchVerdict(summary.verdict)
    if verdict is BatchVerdict.FAILED:
        return FAILED
    if verdict is BatchVerdict.ROUGH or summary.failed:
        return NOT_ALL_PLACED
    return 0
