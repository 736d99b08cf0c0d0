"""The whole job: pictures on disk in, a run folder out, whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import align, decompose
from rankfold.align.matching import index_of
from rankfold.align.request import schedule_for
from rankfold.crop import crop_to_common
from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.result import Alignment, Decomposition
from rankfold.runs.choice import Choice
from rankfold.runs.display import Array
from rankfold.runs.folder import Run, fill, write_parts
from rankfold.runs.planning import keeps_views, resolved_route
from rankfold.runs.starts import starts_of
from rankfold.runs.summary import AlignmentSummary, Summary
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
    **options: Any,
) -> AlignmentSummary:
    """Read pictures, align them, and write a run folder.

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
    **options
        Further arguments of :func:`rankfold.align`.

    Returns
    -------
    AlignmentSummary
    """
    output = output or Output()
    watch = watch or Unwatched()
    _check_schedule("meadmm", options)
    route = _check_start(source, options)
    began = time.perf_counter()
    with whole_or_nothing(folder, output.overwrite) as draft:
        stack = _read(source, choice.reduction, options, watch, views=keeps_views(route))
        result = align(stack, frame=choice.frame, init=choice.init, observe=watch, **options)
        remarks = []
        # Before anything is written, so that result, pictures and report have the same frame.
        if crop:
            result, remark = _crop(result)
            remarks += remark
        # The seconds in the config are those of reading and computing; writing comes after them.
        known = {"seconds": _since(began), **(config or {}), "frame": list(choice.frame.shape)}
        run = fill(draft, result, stack, source, known)
        remarks += _finish(run, source, output, watch)
    return AlignmentSummary(
        folder=Path(folder),
        status=result.status,
        images=len(result.names),
        rank=result.rank,
        objective=result.objective,
        gap=result.gap,
        occluders=tuple(one.as_dict(source.names) for one in result.occluders),
        seconds=_since(began),
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


def run_decompose(
    folder: str | Path,
    source: Source,
    choice: Choice,
    *,
    output: Output | None = None,
    config: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Summary:
    """Read pictures, decompose them as they lie, and write a run folder.

    Parameters
    ----------
    folder : str or Path
        The run folder. It appears at the end, when everything is in it.
    source : Source
    choice : Choice
        What :func:`choose_as_they_lie` has settled.
    output, config, watch
        As in :func:`run_align`.
    **options
        Further arguments of :func:`rankfold.decompose`.

    Returns
    -------
    Summary
    """
    output = output or Output()
    watch = watch or Unwatched()
    _check_schedule("rpca", options)
    began = time.perf_counter()
    with whole_or_nothing(folder, output.overwrite) as draft:
        stack = _read(source, choice.reduction, options, watch, views=False)
        result = decompose(_with_gaps(stack), observe=watch, **options)
        result = _in_units(result, stack)
        run = fill(draft, result, stack, source, {"seconds": _since(began), **(config or {})})
        remarks = _finish(run, source, output, watch)
    return Summary(
        folder=Path(folder),
        status=result.status,
        images=len(source),
        rank=result.rank,
        objective=result.objective,
        gap=result.gap,
        occluders=tuple(one.as_dict(source.names) for one in result.occluders),
        seconds=_since(began),
        remarks=tuple(remarks),
    )


def _check_schedule(default: str, options: Mapping[str, Any]) -> None:
    """Refuse a schedule that has no effect before the pictures are read, which may take long."""
    names = ("projector", "rank_surrogate", "schedule")
    chosen = {name: options[name] for name in names if name in options}
    schedule_for(options.get("method", default), **chosen)


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


def _crop(result: Alignment) -> tuple[Alignment, list[str]]:
    """Cut to the common area; without one keep the whole frame, which is better than nothing."""
    try:
        return crop_to_common(result), []
    except InputError:
        return result, ["The pictures have no area in common, so nothing was cropped."]


def _with_gaps(stack: Stack) -> Array:
    """Stack pictures of one size as (n, h, w[, c]) with NaN where a pixel may not be used."""
    pictures = []
    for source, mask in zip(stack.sources, stack.masks, strict=True):
        usable = mask[..., None] if source.ndim == 3 else mask
        pictures.append(np.where(usable, source, np.nan))
    return np.stack(pictures)


def _in_units(result: Decomposition, stack: Stack) -> Decomposition:
    """Bring a decomposition of values in [0, 1] back to the units of the files."""
    pixel_axes = [1] * (result.low_rank.ndim - 1)
    units = stack.units.reshape(-1, *pixel_axes)  # n x 1 x 1 or n x 1 x 1 x 1
    # Singular values and objective belong to all pictures at once: they take the largest unit.
    unit = float(stack.units.max())
    return replace(
        result,
        low_rank=result.low_rank * units,
        sparse=result.sparse * units,
        singular_values=unit * result.singular_values,
        objective=unit * result.objective,
    )


def _finish(run: Run, source: Source, output: Output, watch: Watch) -> list[str]:
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


def _since(began: float) -> float:
    """Count the seconds since ``began``, to the hundredth."""
    return round(time.perf_counter() - began, 2)
