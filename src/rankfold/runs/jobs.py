"""The whole job: pictures on disk in, a run folder out, whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align
from rankfold.align.checkpoints import Checkpoint, remove_checkpoint
from rankfold.align.matching import index_of
from rankfold.align.methods import get_method
from rankfold.align.request import schedule_for
from rankfold.crop import crop_to_common
from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.io.folders import picture_files
from rankfold.result import Alignment
from rankfold.runs.apart import check_apart
from rankfold.runs.choice import Choice
from rankfold.runs.folder import Run, fill, write_parts
from rankfold.runs.leftovers import can_go_on, leftovers, unfinished
from rankfold.runs.planning import keeps_views, resolved_route
from rankfold.runs.showing import shown_in, shown_of
from rankfold.runs.starts import starts_of
from rankfold.runs.streaming import align_streaming, sample_in
from rankfold.runs.summary import AlignmentSummary
from rankfold.runs.watch import Unwatched, Watch
from rankfold.stack import Stack
from rankfold.storage import whole_or_nothing


@dataclass(frozen=True)
class Output:
    """What a run leaves behind besides its result.

    Attributes
    ----------
    pictures : bool
        Whether to write the aligned, low-rank and error pictures.
    format : str, optional
        A row of FORMATS for them; as they came by default.
    report : callable, optional
        Called with the :class:`Run` once its folder is filled:
        ``rankfold.report.write_report``, or None for no report.
    overwrite : bool
        Whether a folder that rankfold wrote earlier is replaced.
    """

    pictures: bool = True
    format: str | None = None
    report: Callable[[Run], object] | None = None
    overwrite: bool = False


def run_align(
    folder: str | Path,
    source: Source,
    choice: Choice,
    *,
    crop: bool = False,
    output: Output | None = None,
    config: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    resume: bool = False,
    **options: Any,
) -> AlignmentSummary:
    """Read pictures, align them, and write a run folder.

    After every outer iteration, what is needed to go on is in the folder ``NAME.unfinished`` beside
    the run folder. The same call goes on from there if it was interrupted.

    Parameters
    ----------
    folder : str or Path
        The run folder. It appears at the end, when everything is in it.
    source : Source
    choice : Choice
        What :func:`choose` has settled.
    crop : bool
        Cut the result to the area that all pictures cover, if there is one.
    output : Output, optional
        What is written besides the result.
    config : mapping, optional
        What ``config.toml`` says besides what is known here.
    watch : Watch, optional
        Follows the run, and may stop it.
    resume : bool
        Refuse to begin anew: there must be an interrupted run to go on from.
    **options
        Further arguments of :func:`rankfold.align`.

    Returns
    -------
    AlignmentSummary
    """
    output = output or Output()
    watch = watch or Unwatched()
    check_schedule("meadmm", options)
    check_before(folder, source, output)
    route = _check_start(source, options)
    sample = sample_in(source, options.get("sample", "auto"), options.get("settings"), crop)
    if sample is None:
        # All together, also where a sample of so many would be taken for another reason.
        options["sample"] = None
    began = time.perf_counter()
    checkpoint = _checkpoint(folder, options, resume)
    # A run that is there and not to be replaced is refused below, and goes on from nothing.
    begins = output.overwrite or not Path(folder).exists()
    name_leftovers(folder, watch, goes_on=checkpoint is not None and begins)
    options["checkpoint"] = checkpoint
    remarks: list[str] = []
    shown: list[int] = []
    with whole_or_nothing(folder, output.overwrite) as draft:
        if sample is None:
            stack = _read(source, choice.reduction, options, watch, views=keeps_views(route))
            result = align(stack, frame=choice.frame, init=choice.init, observe=watch, **options)
            shown = shown_in(result)
            stack = stack.some(shown) if shown else stack
        else:
            result, remarks = align_streaming(
                draft,
                source,
                choice,
                watch,
                options,
                views=keeps_views(route),
                pictures=output.pictures,
                format=output.format,
            )
            # Written already; the report shows some of the pictures only.
            output = replace(output, pictures=False)
            shown = shown_of(result)
            stack = shown_stack(source, shown, choice, options)
        # Before anything is written, so that result, pictures and report have the same frame.
        if crop:
            result, remark = _crop(result)
            remarks += remark
        # The seconds in the config are those of reading and computing; writing comes after them.
        known = {"seconds": since(began), **(config or {}), "frame": list(choice.frame.shape)}
        run = fill(draft, result, stack, source, known, shown=shown)
        remarks += finish(run, source, output, watch)
    if checkpoint is not None:
        # Not before the run folder is in its place: writing it may be interrupted too.
        remove_checkpoint(checkpoint.folder)
    return AlignmentSummary(
        folder=Path(folder),
        status=result.status,
        images=len(result.names),
        rank=result.rank,
        objective=result.objective,
        gap=result.gap,
        occluders=tuple(one.as_dict(source.names) for one in result.occluders),
        seconds=since(began),
        remarks=tuple(remarks),
        stop_rule=result.stop_rule,
        verdict=result.verdict,
        outcome=result.outcome,
        failed=_named(result, result.failed),
        doubtful=_named(result, result.doubtful),
        rescued=_named(result, result.rescued),
        lost=dict(zip(result.names, result.lost.tolist(), strict=True)),
        starts=starts_of(result.trace),
        advice=result.advice,
        frame=result.frame.shape,
        left_out=source.left_out,
    )


def _checkpoint(folder: str | Path, options: Mapping[str, Any], resume: bool) -> Checkpoint | None:
    """Where an alignment keeps what it needs to go on; None for a method that moves nothing."""
    place = unfinished(folder)
    if resume and not can_go_on(folder):
        raise InputError(
            f"there is nothing to go on from, because {place} is not there or has nothing yet; "
            "leave out resume=True"
        )
    if not get_method(options.get("method", "meadmm")).moves:
        return None
    return Checkpoint(place, keep=True)


def name_leftovers(folder: str | Path, watch: Watch, goes_on: bool) -> None:
    """Say what killed runs to the same place have left; not what this run goes on from."""
    for one in leftovers(Path(folder)):
        used = one.kind == "lock" or (one.kind == "unfinished" and goes_on)
        # A folder at the place of the run may have runs in it, which are others.
        if not used and one.run == Path(folder):
            watch.remark(one.sentence)


def check_schedule(default: str, options: Mapping[str, Any]) -> None:
    """Refuse a schedule that has no effect before the pictures are read, which may take long."""
    names = ("projector", "rank_surrogate", "schedule")
    chosen = {name: options[name] for name in names if name in options}
    schedule_for(options.get("method", default), **chosen)


def check_before(folder: str | Path, source: Source, output: Output) -> None:
    """Refuse, before anything is read, what could not be written at the end."""
    check_apart(folder, source)
    if output.pictures and (output.format or source.format) == "pictures":
        try:
            picture_files(source.names, source)
        except InputError as error:
            raise InputError(f"{error}; or write no pictures") from error


def _check_start(source: Source, options: Mapping[str, Any]) -> str:
    """Resolve the route to the start, and refuse a picture that is not there, before reading."""
    frame_of = options.get("frame_of")
    route = resolved_route(
        options.get("method", "meadmm"), options.get("start"), options.get("coarse"), frame_of
    )
    index_of(frame_of, source.names)
    return route


def _read(
    source: Source, reduction: int, options: Mapping[str, Any], watch: Watch, views: bool
) -> Stack:
    """Read all pictures into memory, in the precision in which they are computed with."""
    watch.say("reading", len(source))
    return source.stack(reduction, options.get("dtype", np.float64), watch.advance, views)


def shown_stack(
    source: Source, shown: list[int], choice: Choice, options: Mapping[str, Any]
) -> Stack:
    """Read the pictures that the report of a large run shows."""
    some = source.some(shown)
    return some.stack(choice.reduction, options.get("dtype", np.float64), views=False)


def _crop(result: Alignment) -> tuple[Alignment, list[str]]:
    """Cut to the common area; without one keep the whole frame, which is better than nothing."""
    try:
        return crop_to_common(result), []
    except InputError:
        return result, ["The pictures have no area in common, so nothing was cropped."]


def finish(run: Run, source: Source, output: Output, watch: Watch) -> list[str]:
    """Write pictures and report; what cannot be written becomes a remark, the result is kept."""
    remarks = []
    if output.pictures:
        # Aligned, low-rank and error of every picture; nothing is aligned in a decomposition.
        parts = 3 if isinstance(run.result, Alignment) else 2
        watch.say("writing pictures", parts * len(source))
        try:
            write_parts(run.path, run.result, source, output.format, watch.advance)
        except InputError as error:
            remarks.append(f"Not all pictures could be written: {error}")
    if output.report is not None:
        watch.say("writing the report")
        try:
            output.report(run)
        except InputError as error:
            remarks.append(f"No report: {error}")
    return remarks


def _named(result: Alignment, which: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Name the pictures for which ``which`` (n,) is True."""
    return tuple(name for name, one in zip(result.names, which, strict=True) if one)


def since(began: float) -> float:
    """Count the seconds since ``began``, to the hundredth."""
    return round(time.perf_counter() - began, 2)
