"""Decompose pictures on disk as they lie: pictures in, a run folder out, whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align import decompose
from rankfold.align.batches import FromSource
from rankfold.io import Source
from rankfold.runs.choice import Choice
from rankfold.runs.folder import fill
from rankfold.runs.jobs import (
    Output,
    check_before,
    check_schedule,
    finish,
    name_leftovers,
    shown_stack,
    since,
)
from rankfold.runs.showing import shown_in
from rankfold.runs.summary import Summary
from rankfold.runs.watch import Unwatched, Watch
from rankfold.storage import whole_or_nothing


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
    check_schedule("rpca", options)
    check_before(folder, source, output)
    began = time.perf_counter()
    name_leftovers(folder, watch, goes_on=False)
    with whole_or_nothing(folder, output.overwrite) as draft:
        watch.say("reading", len(source))
        dtype = options.get("dtype", np.float64)
        batch = FromSource(source, choice.reduction, dtype, views=False, watch=watch.advance)
        result = decompose(batch, observe=watch, **options)
        known = {"seconds": since(began), **(config or {})}
        shown = shown_in(result)
        stack = shown_stack(source, shown or list(range(len(source))), choice, options)
        run = fill(draft, result, stack, source, known, shown=shown)
        remarks = finish(run, source, output, watch)
    return Summary(
        folder=Path(folder),
        status=result.status,
        images=len(source),
        rank=result.rank,
        objective=result.objective,
        gap=result.gap,
        occluders=tuple(one.as_dict(source.names) for one in result.occluders),
        seconds=since(began),
        remarks=tuple(remarks),
    )
