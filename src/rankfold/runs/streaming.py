"""A run of which a sample is aligned and all pictures pass by once, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import AlignSettings, align
from rankfold.align.batches import FromSource
from rankfold.align.crowd import Gathering, Placed, sample_of, sample_size
from rankfold.errors import InputError
from rankfold.io import Source, write_pictures
from rankfold.result import Alignment
from rankfold.runs.choice import Choice
from rankfold.runs.display import Array
from rankfold.runs.feeding import Feeds, feeding, magnitude_if_unsigned
from rankfold.runs.watch import Watch
from rankfold.status import Record


def sample_in(
    source: Source,
    sample: str | int | None = "auto",
    settings: AlignSettings | None = None,
    crop: bool = False,
) -> Source | None:
    """Return the pictures of the sample; None where all are aligned together.

    Parameters
    ----------
    source : Source
        All pictures.
    sample : "auto", int or None
        As in :func:`rankfold.align`.
    settings : AlignSettings, optional
    crop : bool
        Whether the result is to be cropped to what all pictures cover, which is known only at the
        end: "auto" then takes no sample, and a number is refused.

    Returns
    -------
    Source or None
        What frame, reduction and memory of a run depend on.
    """
    size = sample_size(sample, len(source), (settings or AlignSettings()).sample)
    if size is None:
        return None
    if crop:
        if sample == "auto":
            return None
        raise InputError(
            f"crop=True cannot be had with sample={sample}: what all pictures cover is known only "
            "when the last one is written; leave one of them out"
        )
    return source.some(sample_of(len(source), size).tolist())


class Passing:
    """Watches a run, and writes every picture when it has been placed."""

    def __init__(self, watch: Watch, feeds: Feeds | None, dtype: npt.DTypeLike) -> None:
        self._watch = watch
        self._feeds = feeds
        self._dtype = dtype

    def __call__(self, record: Record) -> bool:
        """Look at an iteration of the sample."""
        return self._watch(record)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the watch can be told."""
        return getattr(self._watch, name)

    def begin_placing(self, count: int) -> None:
        """All pictures are going to be placed."""
        self._watch.say("placing", count)

    def placed(self, one: Placed, gathering: Gathering) -> None:
        """One picture is placed."""
        if self._feeds is not None:
            parts = gathering.pictures(one)
            error = magnitude_if_unsigned(parts["sparse"], self._dtype)
            self._feeds.put([parts["aligned"], parts["low_rank"], error])
        self._watch.advance()


def align_streaming(
    folder: Path,
    source: Source,
    choice: Choice,
    watch: Watch,
    options: Mapping[str, Any],
    *,
    views: bool,
    pictures: bool,
    format: str | None,
) -> tuple[Alignment, list[str]]:
    """Align a sample, place all pictures, and write them into the folder as they come.

    Returns
    -------
    result : Alignment
        With lazy arrays.
    remarks : list of str
        What could not be written.
    """
    batch = FromSource(
        source, choice.reduction, options.get("dtype", np.float64), views, watch.advance
    )
    watch.say("reading a sample")
    run = partial(align, batch, frame=choice.frame, init=choice.init, **options)
    if not pictures:
        return run(observe=Passing(watch, None, source.dtype)), []
    with feeding(_writers(folder, source, format)) as feeds:
        result = run(observe=Passing(watch, feeds, source.dtype))
    remarks = [f"Not all pictures could be written: {reason}" for reason in feeds.reasons]
    return result, remarks


def _writers(folder: Path, source: Source, format: str | None) -> list[Any]:
    """A writer for each kind of picture."""

    def write(name: str, pictures: Iterator[Array]) -> None:
        write_pictures(folder / name, source.names, pictures, source, format)

    return [partial(write, name) for name in ("aligned", "low_rank", "error")]
