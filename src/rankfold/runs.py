"""A run: pictures on disk in, a folder with everything out. What the commands do, as functions.

The folder has ``config.toml`` (how to repeat it), the result (``result.json``, ``arrays.npz``), ``trace.jsonl``,
``inputs.npz`` (small copies of the pictures, for the report), ``metrics.json`` where the truth is known, and the
pictures in the format that they came in.
"""

from __future__ import annotations

import csv
import json
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold import storage
from rankfold.align import align, decompose
from rankfold.align.methods import start_transforms
from rankfold.align.plan import default_reduction
from rankfold.crop import crop_to_common
from rankfold.errors import FormatError, InputError
from rankfold.families import Floats, shift
from rankfold.io import Source, write_pictures
from rankfold.result import Alignment, Decomposition, load
from rankfold.stack import Frame, Points, Stack
from rankfold.status import Trace
from rankfold.warp.sampling import source_pixels_per_pixel

Array = npt.NDArray[Any]
Watch = Callable[[], object]

THUMBNAIL = 192  # long side, px
PARTS = ("aligned", "low_rank", "error")


@dataclass(frozen=True)
class Choice:
    """Frame, start and reduction of a run, as the caller or the pictures determine them."""

    frame: Frame
    reduction: int
    init: str | Floats  # "centred", "identity" or transforms (n, 3, 3) into the originals


@dataclass(frozen=True)
class Run:
    """What a run folder holds."""

    path: Path
    result: Alignment | Decomposition
    config: dict[str, Any]
    inputs: list[npt.NDArray[np.uint8]]  # small copies of the pictures
    metrics: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """What the pictures are called."""
        return list(self.config["input"]["names"])


def choose(
    source: Source,
    frame: tuple[int, int] | None = None,
    init: str = "centred",
    reduction: int | None = None,
    family: str = "similarity",
) -> Choice:
    """Settle the frame, the start and how far the pictures can be reduced without loss for that frame.

    ``init`` is "centred", "identity", a .csv of points, or the folder of an earlier run.
    """
    sizes = np.array([shape[:2] for shape in source.shapes])
    height, width = np.median(sizes, axis=0)
    if init in ("centred", "identity"):
        if frame is None:
            k = reduction or default_reduction(
                len(source), round(height), round(width), source.channels
            )
            return Choice(Frame(round(height) // k, round(width) // k), k, init)
        Frame(*frame)  # refuses what is no size
        k = reduction or max(int(min(height / frame[0], width / frame[1])), 1)
        return Choice(Frame(*frame), k, init)
    if init.lower().endswith(".csv"):
        points = read_points_csv(init, source.names)
        grid = Frame(*frame) if frame is not None else Frame(round(height), round(width))
        empty = Stack.of([np.zeros((4, 4))] * len(source), names=source.names)
        start = start_transforms(points, empty, grid, family)
    else:
        earlier = load(init)
        if not isinstance(earlier, Alignment):
            raise InputError(f"{init} is not an alignment, so it has no transforms to start from")
        grid = Frame(*frame) if frame is not None else earlier.frame
        start = transforms_of(earlier, source, grid, init)
    zoom = float(np.median([source_pixels_per_pixel(T, grid) for T in start]))
    return Choice(grid, reduction or max(int(zoom + 1e-9), 1), start)


def transforms_of(earlier: Alignment, source: Source, frame: Frame, path: str) -> Floats:
    """Transforms of an earlier run for these pictures, by name, on a frame of any resolution."""
    known = dict(zip(earlier.names, earlier.transforms, strict=True))
    missing = [name for name in source.names if name not in known]
    if missing:
        raise InputError(
            f"{path} has no transform for {missing[0]}; use a run over the same pictures, by name"
        )
    # one scale, so that a similarity stays one; the frames share their middle and, about, their area
    scale = float(np.sqrt(np.prod(earlier.frame.shape) / np.prod(frame.shape)))
    finer = shift(earlier.frame.centre) @ np.diag([scale, scale, 1.0]) @ shift(-frame.centre)
    return np.stack([known[name] @ finer for name in source.names])


def read_points_csv(path: str, names: tuple[str, ...]) -> Points:
    """Points as rows ``name,x1,y1,x2,y2,...`` and one row named ``frame`` with their places in the frame."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row and row[0].strip().lower() != "name"]
        table = {
            row[0].strip(): np.array([float(v) for v in row[1:]]).reshape(-1, 2) for row in rows
        }
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name") from error
    except ValueError as error:
        raise InputError(
            f"{path} has a row that is not name,x1,y1,x2,y2,... ({error}); correct it"
        ) from error
    missing = [name for name in ("frame", *names) if name not in table]
    if missing:
        what = (
            "row named frame, with the points' places in the frame"
            if missing[0] == "frame"
            else f"row for {missing[0]}"
        )
        raise InputError(f"{path} has no {what}; add it")
    if len({len(points) for points in table.values()}) > 1:
        raise InputError(
            f"the rows of {path} have different numbers of points; give the same to every picture"
        )
    return Points(table["frame"], np.stack([table[name] for name in names]))


def run_align(
    draft: Path,
    source: Source,
    choice: Choice,
    options: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    crop: bool = False,
    reading: Watch = int,
) -> Alignment:
    """Read, align, and fill a folder with everything but the pictures."""
    began = time.perf_counter()
    stack = source.stack(choice.reduction, options.get("dtype", np.float64), reading)
    result = align(stack, frame=choice.frame, init=choice.init, **options)
    if crop:
        with suppress(InputError):  # nothing in common: better the whole frame than nothing
            result = crop_to_common(result)
    fill(draft, result, stack, source, {"seconds": round(time.perf_counter() - began, 2), **config})
    return result


def run_decompose(
    draft: Path,
    source: Source,
    reduction: int,
    options: Mapping[str, Any],
    config: Mapping[str, Any],
    reading: Watch = int,
) -> Decomposition:
    """Read, decompose as they lie, and fill a folder with everything but the pictures."""
    shapes = {shape[:2] for shape in source.shapes}
    if len(shapes) > 1:
        raise InputError(
            f"the pictures of {source.path} have {len(shapes)} different sizes; use align, not decompose"
        )
    if len(source) < 2:
        raise InputError(f"{source.path} has one picture only; a decomposition needs at least two")
    began = time.perf_counter()
    stack = source.stack(reduction, options.get("dtype", np.float64), reading)
    values = np.stack(
        [
            np.where(m[..., None] if s.ndim == 3 else m, s, np.nan)
            for s, m in zip(stack.sources, stack.masks, strict=True)
        ]
    )
    result = decompose(values, **options)
    units = stack.units.reshape(-1, *([1] * (values.ndim - 1)))
    unit = float(stack.units.max())
    result = replace(
        result,
        low_rank=result.low_rank * units,
        sparse=result.sparse * units,
        singular_values=unit * result.singular_values,
        objective=unit * result.objective,
    )
    fill(draft, result, stack, source, {"seconds": round(time.perf_counter() - began, 2), **config})
    return result


def fill(
    draft: Path,
    result: Alignment | Decomposition,
    stack: Stack,
    source: Source | None,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any] | None = None,
) -> None:
    """Write result, config, trace and small copies of the pictures into a folder."""
    import tomli_w

    described = {"names": list(stack.names), "reduction": stack.reduction}
    if source is not None:
        described |= {"path": source.path, "format": source.format, "dtype": str(source.dtype)}
        described |= {"left_out": list(source.left_out)}
    result.save_into(draft)
    whole = {**config, "input": {**config.get("input", {}), **described}}
    (draft / "config.toml").write_text(
        tomli_w.dumps(_plain(whole)), encoding="utf-8", errors="replace"
    )
    with (draft / "trace.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in trace_lines(result.trace))
    copies: dict[str, Any] = {f"{k:06d}": copy for k, copy in enumerate(small_copies(stack))}
    np.savez_compressed(draft / "inputs.npz", **copies)
    if metrics:
        (draft / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")


def open_run(path: str | Path) -> Run:
    """Read a run folder."""
    folder = Path(path)
    result = load(folder)
    try:
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        with np.load(folder / "inputs.npz", allow_pickle=False) as stored:
            inputs = [stored[name] for name in sorted(stored.files)]
        metrics = folder / "metrics.json"
        known = json.loads(metrics.read_text(encoding="utf-8")) if metrics.is_file() else {}
    except (OSError, ValueError, EOFError, KeyError, *storage.DAMAGED) as error:
        raise FormatError(
            f"{folder} is a result but not a whole run ({error}); run align again"
        ) from error
    return Run(folder, result, config, inputs, known)


def write_parts(
    folder: Path,
    result: Alignment | Decomposition,
    source: Source,
    format: str | None = None,
    done: Watch = int,
) -> list[Path]:
    """Write aligned, low-rank and error pictures into ``folder``, in the format of the source or another one.

    Errors are magnitudes where the format has no negative values.
    """
    signed = np.dtype(source.dtype).kind in "fi"
    error = result.sparse if signed else np.abs(result.sparse)
    arrays = {"aligned": result.aligned} if isinstance(result, Alignment) else {}
    arrays |= {"low_rank": result.low_rank, "error": error}

    def watched(pictures: Array) -> Iterator[Array]:
        for picture in pictures:
            yield picture
            done()

    return [
        write_pictures(folder / name, source.names, watched(array), source, format)
        for name, array in arrays.items()
    ]


def trace_lines(trace: Trace) -> Iterator[dict[str, Any]]:
    """Every record as a dictionary, outer iterations after the inner ones they ended."""
    inner, outer = _rows(trace.inner), _rows(trace.outer)
    ends = {int(row["outer"]): row for row in outer}
    for k, row in enumerate(inner):
        yield {"level": "inner", **row}
        last = k + 1 == len(inner) or inner[k + 1]["outer"] != row["outer"]
        if last and int(row["outer"]) in ends:
            yield {"level": "outer", **ends[int(row["outer"])]}


def small_copies(stack: Stack, side: int = THUMBNAIL) -> list[npt.NDArray[np.uint8]]:
    """Every picture as bytes of at most ``side`` px, dark to bright over the whole batch."""
    low, high = display_range([s[m] for s, m in zip(stack.sources, stack.masks, strict=True)])
    copies = []
    for s in stack.sources:
        k = max(int(np.ceil(max(s.shape[:2]) / side)), 1)
        h, w = (max(size // k, 1) for size in s.shape[:2])
        coarse = s[: h * k, : w * k].reshape(h, k, w, k, *s.shape[2:]).mean(axis=(1, 3))
        copies.append(as_bytes(coarse, low, high))
    return copies


def display_range(values: list[Array]) -> tuple[float, float]:
    """Nearly darkest and nearly brightest of some values; at most about a million of them are looked at."""
    step = max(sum(v.size for v in values) // 1_000_000, 1)
    some = np.concatenate([v.ravel()[::step] for v in values])
    some = some[np.isfinite(some)]
    low, high = np.percentile(some, [0.5, 99.5]) if some.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-12))


def as_bytes(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """low..high as 0..255; NaN as 0."""
    return np.asarray(
        np.clip(np.nan_to_num((values - low) * (255 / (high - low))), 0, 255).astype(np.uint8)
    )


def _rows(columns: Mapping[str, Array]) -> list[dict[str, Any]]:
    """Columns as rows of plain values."""
    names = list(columns)
    return (
        [{name: columns[name][k].tolist() for name in names} for k in range(len(columns[names[0]]))]
        if names
        else []
    )


def _plain(value: Any) -> Any:
    """Nothing but what TOML knows; None is left out."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
