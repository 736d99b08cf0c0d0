"""align and decompose: pictures in, a run folder out."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from rankfold.cli.app import (
    SOME_FAILED,
    STOPPED,
    Json,
    Quiet,
    Voice,
    app,
    check_apart,
    one_of,
    plain,
    repeat_command,
    run_name,
    size_of,
    table_of,
)
from rankfold.cli.options import (
    Family,
    Format,
    Frames,
    Grey,
    Jobs,
    Key,
    Method,
    NoPictures,
    NoReport,
    Out,
    Overwrite,
    Pictures,
    PlanOnly,
    Projector,
    Reduce,
    Schedule,
    Select,
    Single,
    SkipBad,
    Stride,
    Surrogate,
    open_source,
)


@app.command()
def align(
    ctx: typer.Context,
    pictures: Pictures,
    out: Out = None,
    method: Method = "meadmm",
    family: Family = "similarity",
    frame: Annotated[
        str | None,
        typer.Option(help="Height x width of the common grid; from the pictures if not given."),
    ] = None,
    init: Annotated[
        str, typer.Option(help="centred, identity, a points.csv, or an earlier run.")
    ] = "centred",
    coarse: Annotated[
        bool | None, typer.Option("--coarse/--no-coarse", help="Start with blurred pictures.")
    ] = None,
    features: Annotated[
        bool | None, typer.Option("--features/--no-features", help="Align contrast first.")
    ] = None,
    rescue: Annotated[
        bool | None, typer.Option("--rescue/--no-rescue", help="Look for lost pictures.")
    ] = None,
    sparsity_weight: Annotated[
        float, typer.Option(help="Below one where much is hidden: 0.6.")
    ] = 1.0,
    projector: Projector = None,
    neighbors: Annotated[int | None, typer.Option(min=1, help="K of the projector.")] = None,
    rank_surrogate: Surrogate = None,
    gauge: Annotated[
        str, typer.Option(help="mean, none, or the number of the picture that is held.")
    ] = "mean",
    channels: Annotated[
        str,
        typer.Option(
            help="luminance or joint: where transforms come from.",
            callback=one_of("channels", lambda: ["luminance", "joint"]),
        ),
    ] = "luminance",
    max_outer: Annotated[int, typer.Option(min=1, help="Linearisations a stage at most.")] = 50,
    schedule: Schedule = "balanced",
    crop: Annotated[
        str | None, typer.Option(help="common: cut to what all pictures cover.")
    ] = None,
    reduce: Reduce = None,
    grey: Grey = False,
    skip_bad: SkipBad = False,
    frames: Frames = None,
    stride: Stride = 1,
    select: Select = None,
    key: Key = None,
    format: Format = None,
    jobs: Jobs = -1,
    float32: Single = False,
    overwrite: Overwrite = False,
    no_pictures: NoPictures = False,
    no_report: NoReport = False,
    plan: PlanOnly = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Align pictures of one thing; write transforms, clean pictures, what did not belong, and a report.

    Example: rankfold align photos -o run
    """
    from rankfold import runs
    from rankfold.cli.progress import Watcher
    from rankfold.status import Status
    from rankfold.storage import whole_or_nothing

    voice = Voice(json, quiet)
    if not gauge.isdecimal() and gauge not in ("mean", "none"):
        raise typer.BadParameter(
            f"--gauge {gauge} is unknown; use mean, none, or the number of a picture"
        )
    if crop not in (None, "common"):
        raise typer.BadParameter(f"--crop {crop} is unknown; the only choice is common")
    source = open_source(voice, pictures, frames, stride, select, key, grey, skip_bad)
    choice = runs.choose(source, size_of(frame), init, reduce, family)
    if plan:
        _say_plan(voice, source, choice, method, family)
        return
    target = out or run_name(pictures)
    check_apart(pictures, target)
    options: dict[str, Any] = plain(
        {
            "method": method,
            "family": family,
            "coarse": coarse,
            "rescue": rescue,
            "features": None if features is None else "contrast" if features else "off",
            "sparsity_weight": sparsity_weight,
            "projector": projector,
            "n_neighbors": neighbors,
            "rank_surrogate": rank_surrogate,
            "gauge": int(gauge) if gauge.isdecimal() else gauge,
            "schedule": schedule,
            "channels": channels,
            "max_outer": max_outer,
        }
    )
    config = {
        "command": repeat_command(ctx),
        "directory": str(Path.cwd()),
        "options": {**options, "init": init},
    }
    for name, off in (("features", "off"), ("projector", "none")):
        if options.get(name) == off:
            options[name] = None
    _say_choice(voice, source, choice, method, family)
    began = time.perf_counter()
    watcher = Watcher(voice.silent, _stages(method, options, init))
    with whole_or_nothing(target, overwrite) as draft, watcher as watch:
        watch.say("reading", len(source))
        dtype = np.float32 if float32 else np.float64
        extra = {"n_jobs": jobs, "observe": watch, "dtype": dtype}
        result = runs.run_align(
            draft,
            source,
            choice,
            {**options, **extra},
            {**config, "frame": list(choice.frame.shape)},
            crop=crop is not None,
            reading=watch.advance,
        )
        _finish(draft, result, source, format, no_pictures, no_report, voice, watch)
    failed = [name for name, bad in zip(result.names, result.failed, strict=True) if bad]
    summary = {
        "run": str(target),
        "status": result.status.name,
        "sentence": result.status.value,
        "stop_rule": result.stop_rule,
        "images": len(result.names),
        "failed": failed,
        "rescued": [name for name, was in zip(result.names, result.rescued, strict=True) if was],
        "rank": result.rank,
        "objective": result.objective,
        "frame": list(result.frame.shape),
        "left_out": list(source.left_out),
        "go_on": repeat_command(ctx, init=str(target), out=f"{target}-2"),
        "seconds": round(time.perf_counter() - began, 2),
    }
    if crop and not result.valid[~result.failed].all():
        voice.remark("The pictures have no area in common, so nothing was cropped.")
    where = target if no_report or not (target / "report.html").exists() else target / "report.html"
    good = f"{len(result.names) - len(failed)} of {len(result.names)} pictures found their place, rank {result.rank}"
    lost = f"\nfailed: {', '.join(failed)}" if failed else ""
    voice.result(summary, f"{good}; {result.status.value} ({result.stop_rule}).{lost}\n{where}")
    if result.status is Status.STOPPED:
        voice.remark(f"To go on from here: {summary['go_on']}")
        raise typer.Exit(STOPPED)
    if failed:
        raise typer.Exit(SOME_FAILED)
    if not result.status.good and result.status is Status.NON_FINITE:
        raise typer.Exit(1)


@app.command()
def decompose(
    ctx: typer.Context,
    pictures: Pictures,
    out: Out = None,
    method: Method = "rpca",
    sparsity_weight: Annotated[
        float, typer.Option(help="Larger keeps more in the clean picture.")
    ] = 1.0,
    rank_surrogate: Surrogate = None,
    tol: Annotated[float, typer.Option(help="Relative residual at which to stop.")] = 1e-5,
    schedule: Schedule = "balanced",
    reduce: Reduce = None,
    grey: Grey = False,
    skip_bad: SkipBad = False,
    frames: Frames = None,
    stride: Stride = 1,
    select: Select = None,
    key: Key = None,
    format: Format = None,
    jobs: Jobs = -1,
    float32: Single = False,
    overwrite: Overwrite = False,
    no_pictures: NoPictures = False,
    no_report: NoReport = False,
    plan: PlanOnly = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Split pictures from a fixed camera into background and what did not belong, as they lie.

    Example: rankfold decompose escalator.avi -o run
    """
    from rankfold import Frame, runs
    from rankfold.align.plan import batch_reduction
    from rankfold.cli.progress import Watcher
    from rankfold.status import Status
    from rankfold.storage import whole_or_nothing

    voice = Voice(json, quiet)
    source = open_source(voice, pictures, frames, stride, select, key, grey, skip_bad)
    reduction = reduce or batch_reduction(len(source), source.shapes[0])
    height, width = (size // reduction for size in source.shapes[0][:2])
    coarser = f", read {reduction} times coarser (--reduce)" if reduction > 1 else ""
    voice.remark(
        f"{len(source)} {'colour' if source.channels > 1 else 'grey'} pictures, {width}x{height}{coarser}"
    )
    if plan:
        _say_plan(
            voice,
            source,
            runs.Choice(Frame(height, width), reduction, "identity"),
            method,
            "translation",
            False,
        )
        return
    target = out or run_name(pictures)
    check_apart(pictures, target)
    choices = {
        "method": method,
        "sparsity_weight": sparsity_weight,
        "rank_surrogate": rank_surrogate,
    }
    options = plain({**choices, "tol": tol, "schedule": schedule})
    config = {"command": repeat_command(ctx), "directory": str(Path.cwd()), "options": options}
    began = time.perf_counter()
    with whole_or_nothing(target, overwrite) as draft, Watcher(voice.silent, ()) as watch:
        watch.say("reading", len(source))
        extra = {"n_jobs": jobs, "observe": watch, "dtype": np.float32 if float32 else np.float64}
        result = runs.run_decompose(
            draft, source, reduction, {**options, **extra}, config, watch.advance
        )
        _finish(draft, result, source, format, no_pictures, no_report, voice, watch)
    summary = {
        "run": str(target),
        "status": result.status.name,
        "sentence": result.status.value,
        "images": len(source),
        "rank": result.rank,
        "objective": result.objective,
        "seconds": round(time.perf_counter() - began, 2),
    }
    report = target / "report.html"
    text = f"{len(source)} pictures, rank {result.rank}; {result.status.value}."
    voice.result(summary, f"{text}\n{report if report.exists() else target}")
    if result.status is Status.STOPPED:
        voice.remark(
            f"Stopped before it had converged; to have all of it: {repeat_command(ctx, out=f'{target}-2')}"
        )
        raise typer.Exit(STOPPED)


def _say_choice(voice: Voice, source: Any, choice: Any, method: str, family: str) -> None:
    """What was chosen."""
    sizes = sorted({f"{s[1]}x{s[0]}" for s in source.shapes})
    size = sizes[0] if len(sizes) == 1 else f"{len(sizes)} sizes"
    coarser = (
        f", the pictures read {choice.reduction} times coarser (--frame, --reduce)"
        if choice.reduction > 1
        else ""
    )
    start = choice.init if isinstance(choice.init, str) else "given"
    voice.remark(
        f"{len(source)} {'colour' if source.channels > 1 else 'grey'} pictures of {size}, {source.dtype}"
    )
    voice.remark(
        f"method {method}, family {family}, frame {choice.frame.width}x{choice.frame.height}{coarser}, start {start}"
    )


def _say_plan(
    voice: Voice, source: Any, choice: Any, method: str, family: str, moves: bool = True
) -> None:
    """Say what a run would take."""
    from rankfold.align.plan import plan

    estimate = plan(len(source), choice.frame, source.channels, method, family, moves)
    cores = min(os.cpu_count() or 1, 2)
    seconds = estimate.seconds / (1 + 0.6 * (cores - 1))
    value = {
        "images": len(source),
        "frame": list(choice.frame.shape),
        "reduction": choice.reduction,
        "channels": source.channels,
        "method": method,
        "family": family,
        "memory_bytes": round(estimate.memory),
        "seconds": round(seconds, 1),
    }
    if moves:
        _say_choice(voice, source, choice, method, family)
    shown = table_of(
        ("", ""),
        (
            ("frame", f"{choice.frame.width} x {choice.frame.height} (width x height)"),
            ("memory", f"{estimate.memory / 2**30:.2f} GiB"),
            (
                "time",
                f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min",
            ),
        ),
    )
    voice.result(value, shown)


def _stages(method: str, options: dict[str, Any], init: str) -> tuple[str, ...]:
    """Which stages will run, for the progress bar."""
    from rankfold import METHODS

    row = METHODS[method]
    if not row.moves:
        return ()
    coarse = options.get("coarse", bool(row.coarse) and init in ("centred", "identity"))
    features = options.get("features", row.features)
    return tuple(
        name for name, on in (("coarse", coarse), ("features", features), ("pixels", True)) if on
    )


def _finish(
    draft: Path,
    result: Any,
    source: Any,
    format: str | None,
    no_pictures: bool,
    no_report: bool,
    voice: Voice,
    watch: Any,
) -> None:
    """Pictures and report into the folder before it takes its name."""
    from rankfold import runs
    from rankfold.errors import InputError

    if not no_pictures:
        watch.say("writing pictures", 3 * len(source))
        try:
            runs.write_parts(draft, result, source, format, watch.advance)
        except InputError as error:  # the result is worth more than its pictures
            voice.remark(f"Not all pictures could be written: {error}")
    if not no_report:
        watch.say("writing the report")
        try:
            from rankfold.report import write_report

            write_report(draft)
        except InputError as error:
            voice.remark(f"No report: {error}")
