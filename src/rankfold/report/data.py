"""Collect what the report shows of a run. Nothing here knows of HTML or of plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse, map_points
from rankfold.report.content import Card, ReportData
from rankfold.report.made import panels_of
from rankfold.report.pictures import (
    Bytes,
    average,
    outlined,
    rgb,
    share_in_error,
    signed_colours,
    spectrum,
)
from rankfold.result import Alignment, Decomposition
from rankfold.runs import Run, as_bytes, display_range
from rankfold.runs.showing import part_of, pictures_of
from rankfold.runs.starts import start_sentence, starts_of
from rankfold.runs.summary import advice_sentence
from rankfold.status import Status
from rankfold.verdicts import BatchVerdict

Array = npt.NDArray[Any]

# Unit: seconds. Longer times are shown in minutes.
IN_MINUTES = 120

# How worrying each verdict on a batch is.
TONES = {
    BatchVerdict.GOOD: "good",
    BatchVerdict.PARTIAL: "warning",
    BatchVerdict.ROUGH: "warning",
    BatchVerdict.FAILED: "bad",
}


def report_data(run: Run) -> ReportData:
    """Return what the report shows of a run."""
    if isinstance(run.result, Alignment):
        return _of_alignment(run, run.result)
    return _of_decomposition(run, run.result)


def _of_alignment(run: Run, result: Alignment) -> ReportData:
    """What is shown of an alignment."""
    # Of a large batch some pictures are shown; facts are about all.
    whole = result
    if run.shown:
        result = part_of(result, run.shown)
    low, high = display_range([result.aligned])
    # The run keeps small copies of its inputs, as bytes. Through the start's transforms they are
    # the pictures in the frame as they were before.
    before = replace(result, transforms=result.start).apply(run.inputs)
    # From the frame to the picture and back through the start. n x 4 x 2
    outlines = map_points(inverse(result.start) @ result.transforms, result.frame.corners)
    cards = _alignment_cards(result, outlines, high - low)
    return ReportData(
        title=_title(run),
        sentences=[*_alignment_sentences(whole), *_left_out(run, len(whole.names), UNSURE_FIRST)],
        tone=_alignment_tone(whole),
        starts=starts_of(result.trace),
        facts=[
            ("verdict", result.verdict),
            ("pictures", str(len(whole.names))),
            ("doubtful", str(int(whole.doubtful.sum()))),
            ("failed", str(int(whole.failed.sum()))),
            ("rank", str(result.rank)),
            ("objective", f"{result.objective:.3f}"),
            *_gap(result.gap),
            ("frame (height × width)", f"{result.frame.height} × {result.frame.width}"),
            ("method", f"{result.method}, {result.family}"),
            *_time(run),
        ],
        cards=cards,
        kinds=[
            ("input", "input"),
            ("aligned", "aligned"),
            ("low_rank", "low-rank"),
            ("error", "error"),
        ],
        tiles={
            "input": [rgb(copy) for copy in run.inputs],
            "aligned": _tiles(result.aligned, low, high),
            "low_rank": _tiles(result.low_rank, low, high),
            "error": [signed_colours(error, high - low) for error in result.sparse],
        },
        averages=[
            ("average before", average(before, 0, 255)),
            ("average aligned", average(result.aligned, low, high)),
            ("average low-rank", average(result.low_rank, low, high)),
        ],
        occluders=_outlined(result, average(result.aligned, low, high), whole.names),
        panels=panels_of(result, result.names),
        trace=result.trace,
        spectra={
            "before": spectrum(before),
            "aligned": spectrum(result.aligned),
            "low-rank": spectrum(result.low_rank),
        },
        outlines=outlines,
        command=_command(run),
    )


def _alignment_cards(result: Alignment, outlines: Floats, span: float) -> list[Card]:
    """A card for each picture; ``outlines`` (n, 4, 2) say where the frames went."""
    moved = np.linalg.norm(outlines - result.frame.corners, axis=2).max(axis=1)
    share = share_in_error(result.sparse, span)
    # n x 4 x 2, in px of each picture.
    corners = map_points(result.transforms, result.frame.corners)
    cards = []
    for i, name in enumerate(result.names):
        height_width = result.source_shapes[i]
        # A pixel's centre is at an integer, the picture's edge half a pixel further out.
        outline = (corners[i] + 0.5) / height_width[::-1]
        card = Card(
            index=i,
            name=name,
            verdict=str(result.verdicts[i]),
            lost=float(result.lost[i]),
            rescued=bool(result.rescued[i]),
            moved=float(moved[i]),
            share=float(share[i]),
            outline=outline.tolist(),
            size=[int(length) for length in height_width],
        )
        cards.append(card)
    return cards


# Which pictures of a large batch the report of an alignment shows.
UNSURE_FIRST = "those that are doubtful or failed, up to so many, and others spread over the batch"


def _left_out(run: Run, count: int, which: str) -> list[str]:
    """Say that only some pictures of a large batch are shown."""
    if not run.shown:
        return []
    return [f"Shown are {len(run.shown)} of {count} pictures, {which}."]


def _alignment_sentences(result: Alignment) -> list[str]:
    """How the pictures were placed and why the run ended, where it began, and what may help."""
    sentences = [
        f"{result.outcome} The run {result.status.value} ({result.stop_rule}).",
        start_sentence(starts_of(result.trace)),
        advice_sentence(result.advice),
    ]
    return [sentence for sentence in sentences if sentence]


def _alignment_tone(result: Alignment) -> str:
    """How worrying a result is: its verdict, or the end of the run where that is worse."""
    if result.status is Status.NON_FINITE:
        return "bad"
    tone = TONES[BatchVerdict(result.verdict)]
    return "warning" if tone == "good" and not result.status.good else tone


def _of_decomposition(run: Run, result: Decomposition) -> ReportData:
    """What is shown of a decomposition without transforms."""
    # Of a large batch some pictures are shown; facts are about all.
    count = len(result.low_rank)
    names = run.names
    if run.shown:
        result = pictures_of(result, run.shown)
        names = [names[k] for k in run.shown]
    # The parts add up to the pictures. n x h x w [x c]
    given = result.low_rank + result.sparse
    low, high = display_range([given])
    height, width = result.low_rank.shape[1:3]
    cards = _decomposition_cards(names, result, high - low)
    return ReportData(
        title=_title(run),
        sentences=[
            f"{count} pictures, low rank {result.rank} + sparse. The run {result.status.value}.",
            *_left_out(run, count, "spread over the batch"),
        ],
        tone=_decomposition_tone(result.status),
        starts=(),
        facts=[
            ("pictures", str(count)),
            ("rank", str(result.rank)),
            ("objective", f"{result.objective:.4g}"),
            *_gap(result.gap),
            ("size (height × width)", f"{height} × {width}"),
            ("method", result.method),
            *_time(run),
        ],
        cards=cards,
        kinds=[("input", "input"), ("low_rank", "low-rank"), ("error", "error")],
        tiles={
            "input": _tiles(given, low, high),
            "low_rank": _tiles(result.low_rank, low, high),
            "error": [signed_colours(error, high - low) for error in result.sparse],
        },
        averages=[
            ("average input", average(given, low, high)),
            ("average low-rank", average(result.low_rank, low, high)),
        ],
        occluders=_outlined(result, average(given, low, high), run.names),
        panels=panels_of(result, tuple(names)),
        trace=result.trace,
        spectra={"input": spectrum(given), "low-rank": spectrum(result.low_rank)},
        outlines=None,
        command=_command(run),
    )


def _decomposition_cards(names: Sequence[str], result: Decomposition, span: float) -> list[Card]:
    """A card for each picture, without anything that needs transforms."""
    share = share_in_error(result.sparse, span)
    size = [int(length) for length in result.low_rank.shape[1:3]]
    return [
        Card(
            index=i,
            name=name,
            verdict=None,
            lost=None,
            rescued=False,
            moved=None,
            share=float(share[i]),
            outline=[],
            size=size,
        )
        for i, name in enumerate(names)
    ]


def _decomposition_tone(status: Status) -> str:
    """How worrying the end of a decomposition is."""
    if status is Status.NON_FINITE:
        return "bad"
    return "good" if status.good else "warning"


def _outlined(
    result: Alignment | Decomposition, mean: Bytes, names: Sequence[str]
) -> list[tuple[str, Bytes]]:
    """What was taken out: a sentence, and its outline on the average (h, w, 3)."""
    return [(one.sentence(names), outlined(mean, one.region)) for one in result.occluders]


def _tiles(pictures: Array, low: float, high: float) -> list[Bytes]:
    """Pictures (n, h, w[, c]) as bytes (h, w, 3), ``low`` black and ``high`` white."""
    return [rgb(as_bytes(picture, low, high)) for picture in pictures]


def _title(run: Run) -> str:
    """The title that the run was given, or the name of the folder that was aligned."""
    given = run.config.get("title")
    if given:
        return str(given)
    return Path(run.config["input"].get("path", run.path)).resolve().name


def _command(run: Run) -> str:
    """What repeats the run; empty if unknown."""
    return str(run.config.get("command", ""))


def _gap(gap: float | None) -> list[tuple[str, str]]:
    """How far the objective is from the optimum at most, if that is known."""
    return [] if gap is None else [("above the optimum by at most", f"{100 * gap:.2g} %")]


def _time(run: Run) -> list[tuple[str, str]]:
    """A fact that says how long the run took; none if that is unknown."""
    seconds = run.config.get("seconds")
    if seconds is None:
        return []
    return [("time", shown_time(seconds))]


def shown_time(seconds: float) -> str:
    """Write a time for people."""
    if seconds < IN_MINUTES:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min"
