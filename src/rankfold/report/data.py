"""What the report shows, as plain values and small pictures; nothing here knows of HTML or of plots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats, inverse, map_points
from rankfold.result import Alignment, Decomposition
from rankfold.runs import Run, as_bytes, display_range
from rankfold.status import Trace

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

IN_ERROR = 0.1  # of the display range: a pixel that differs by more counts as not belonging


@dataclass(frozen=True)
class Card:
    """One picture in the grid."""

    index: int
    name: str
    score: float | None  # None: without transforms there is no place to score
    failed: bool
    rescued: bool
    moved: float | None  # frame px
    share: float  # of its pixels that did not belong
    outline: list[
        list[float]
    ]  # corners of the frame on the picture, as shares of its width and height
    size: list[int]  # height, width of the original


@dataclass(frozen=True)
class ReportData:
    """Everything on the page."""

    title: str
    sentence: str
    good: bool
    facts: list[tuple[str, str]]
    cards: list[Card]
    kinds: list[tuple[str, str]]  # key, caption
    tiles: dict[str, list[Bytes]]  # key -> one (h, w, 3) a picture
    averages: list[tuple[str, Bytes]]
    trace: Trace
    spectra: dict[str, Floats]
    outlines: Floats | None  # (n, 4, 2): where each frame went from its start, frame coordinates
    failed: npt.NDArray[np.bool_]
    command: str


def report_data(run: Run) -> ReportData:
    """Collect what is shown of a run."""
    result = run.result
    return (
        _of_alignment(run, result)
        if isinstance(result, Alignment)
        else _of_decomposition(run, result)
    )


def _of_alignment(run: Run, result: Alignment) -> ReportData:
    low, high = display_range([result.aligned])
    # small copies have their own range; brought to the frame at the start they are the pictures before
    before = replace(result, transforms=result.start).apply(run.inputs)
    outlines = map_points(
        inverse(result.start) @ result.transforms, result.frame.corners
    )  # each frame from its start
    moved = np.linalg.norm(outlines - result.frame.corners, axis=2).max(axis=1)
    share = _share(result.sparse, high - low)
    corners = map_points(result.transforms, result.frame.corners)
    cards = [
        Card(
            index=i,
            name=name,
            score=float(result.scores[i]),
            failed=bool(result.failed[i]),
            rescued=bool(result.rescued[i]),
            moved=float(moved[i]),
            share=float(share[i]),
            outline=((corners[i] + 0.5) / result.source_shapes[i][::-1]).tolist(),
            size=[int(v) for v in result.source_shapes[i]],
        )
        for i, name in enumerate(result.names)
    ]
    tiles = {
        "input": [_rgb(copy) for copy in run.inputs],
        "aligned": [_rgb(as_bytes(p, low, high)) for p in result.aligned],
        "low_rank": [_rgb(as_bytes(p, low, high)) for p in result.low_rank],
        "error": [signed_colours(p, high - low) for p in result.sparse],
    }
    failed = int(result.failed.sum())
    facts = [
        ("pictures", str(len(cards))),
        ("failed", str(failed)),
        ("rank", str(result.rank)),
        ("objective", f"{result.objective:.3f}"),
        ("frame", f"{result.frame.width} × {result.frame.height}"),
        ("method", f"{result.method}, {result.family}"),
        *_time(run),
    ]
    names = ", ".join(card.name for card in cards if card.failed)
    outcome = (
        "Every picture found its place"
        if not failed
        else f"{failed} of {len(cards)} did not find their place: {names}"
    )
    return ReportData(
        title=_title(run),
        sentence=f"{outcome}. The run {result.status.value} ({result.stop_rule}).",
        good=not failed and result.status.good,
        facts=facts,
        cards=cards,
        kinds=[
            ("input", "input"),
            ("aligned", "aligned"),
            ("low_rank", "low-rank"),
            ("error", "error"),
        ],
        tiles=tiles,
        averages=[
            ("average before", _average(before, 0, 255)),
            ("average aligned", _average(result.aligned, low, high)),
            ("average low-rank", _average(result.low_rank, low, high)),
        ],
        trace=result.trace,
        spectra={
            "before": _spectrum(before),
            "aligned": _spectrum(result.aligned),
            "low-rank": _spectrum(result.low_rank),
        },
        outlines=outlines,
        failed=result.failed,
        command=str(run.config.get("command", "")),
    )


def _of_decomposition(run: Run, result: Decomposition) -> ReportData:
    given = result.low_rank + result.sparse
    low, high = display_range([given])
    share = _share(result.sparse, high - low)
    shape = [int(v) for v in result.low_rank.shape[1:3]]
    names = run.names
    cards = [
        Card(i, name, None, False, False, None, float(share[i]), [], shape)
        for i, name in enumerate(names)
    ]
    return ReportData(
        title=_title(run),
        sentence=f"{len(cards)} pictures, low rank {result.rank} + sparse. The run {result.status.value}.",
        good=result.status.good,
        facts=[
            ("pictures", str(len(cards))),
            ("rank", str(result.rank)),
            ("objective", f"{result.objective:.4g}"),
            ("size", f"{shape[1]} × {shape[0]}"),
            ("method", result.method),
            *_time(run),
        ],
        cards=cards,
        kinds=[("input", "input"), ("low_rank", "low-rank"), ("error", "error")],
        tiles={
            "input": [_rgb(as_bytes(p, low, high)) for p in given],
            "low_rank": [_rgb(as_bytes(p, low, high)) for p in result.low_rank],
            "error": [signed_colours(p, high - low) for p in result.sparse],
        },
        averages=[
            ("average input", _average(given, low, high)),
            ("average low-rank", _average(result.low_rank, low, high)),
        ],
        trace=result.trace,
        spectra={"input": _spectrum(given), "low-rank": _spectrum(result.low_rank)},
        outlines=None,
        failed=np.zeros(len(cards), dtype=bool),
        command=str(run.config.get("command", "")),
    )


def signed_colours(values: Array, span: float) -> Bytes:
    """Errors as colour: blue is darker than the clean picture, orange brighter, mid-grey nothing."""
    grey = np.nan_to_num(values if values.ndim == 2 else values.mean(axis=2))
    t = np.clip(grey / (0.6 * span), -1, 1)[..., None]
    none, dark, bright = (
        np.array([128, 128, 128]),
        np.array([30, 110, 235]),
        np.array([255, 150, 20]),
    )
    mixed = none + np.abs(t) * np.where(t < 0, dark - none, bright - none)
    return np.asarray(mixed.astype(np.uint8))


def _rgb(picture: Bytes) -> Bytes:
    """Three channels, whatever came."""
    if picture.ndim == 2:
        return np.dstack([picture] * 3)
    return (
        picture if picture.shape[2] == 3 else np.dstack([picture.mean(axis=2).astype(np.uint8)] * 3)
    )


def _average(pictures: Array, low: float, high: float) -> Bytes:
    """Mean over the pictures that show a pixel."""
    seen = np.isfinite(pictures)
    mean = np.where(seen, pictures, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return _rgb(as_bytes(mean, low, high))


def _spectrum(pictures: Array) -> Floats:
    """Singular values of the pictures as rows of unit norm."""
    rows = np.nan_to_num(pictures.reshape(len(pictures), -1)).astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(rows @ rows.T)[::-1], 0)))


def _share(sparse: Array, span: float) -> Floats:
    """Share (n,) of pixels that did not belong."""
    return np.asarray((np.abs(sparse.reshape(len(sparse), -1)) > IN_ERROR * span).mean(axis=1))


def _title(run: Run) -> str:
    """What was aligned."""
    given = (
        run.config.get("title") or Path(run.config["input"].get("path", run.path)).resolve().name
    )
    return str(given)


def _time(run: Run) -> list[tuple[str, str]]:
    """How long it took, where that is known."""
    seconds = run.config.get("seconds")
    if seconds is None:
        return []
    return [("time", f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min")]
