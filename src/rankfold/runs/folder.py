"""The run folder: one place with the result, how to repeat it, its trace and its pictures.

It has ``config.toml`` (how to repeat the run), the result (``result.json``, ``arrays.npz``),
``trace.jsonl``, ``inputs.npz`` (small copies of the pictures, for the report), ``metrics.json``
where the truth is known, and the pictures in the format in which they came.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankfold import storage
from rankfold.errors import FormatError, InputError
from rankfold.io import Source, write_pictures
from rankfold.io.source import nothing
from rankfold.result import Alignment, Decomposition, load
from rankfold.runs.display import Array, Bytes
from rankfold.runs.feeding import magnitude_if_unsigned
from rankfold.runs.thumbnails import small_copies
from rankfold.runs.trace import trace_lines
from rankfold.scale import streamed
from rankfold.schema import FLAG, LIST, NUMBER, TABLE, TEXT, Schema, check, words
from rankfold.stack import Stack

# What the files of a run folder are called; those of the result are named in rankfold.storage.
CONFIG = "config.toml"
TRACE = "trace.jsonl"
INPUTS = "inputs.npz"
METRICS = "metrics.json"

# What is read of the config, if it is there.
DESCRIBED: Schema = {
    "input": TABLE,
    "seconds": NUMBER,
    "directory": TEXT,
    "options": TABLE,
    "batch": TABLE,
}
INPUT: Schema = {
    "names": LIST,
    "path": TEXT,
    "path_bytes": TEXT,
    "format": TEXT,
    "opened_with": TABLE,
    "dtype": TEXT,
    "left_out": LIST,
}


# How the pictures were opened: arguments of rankfold.io.open_pictures, and whether in grey.
OPENED: Schema = {
    "frames": TEXT,
    "stride": NUMBER,
    "select": LIST,
    "key": TEXT,
    "isolate": FLAG,
    "grey": FLAG,
}


@dataclass(frozen=True)
class Run:
    """What a run folder holds.

    Attributes
    ----------
    path : Path
        The folder.
    result : Alignment or Decomposition
    config : dict
        How to repeat the run, in values that TOML knows.
    inputs : list of (h, w) or (h, w, c) uint8 arrays
        Small copies of the pictures.
    metrics : dict
        Errors against the truth; empty where that is not known.
    shown : tuple of int
        The pictures of which there are small copies, of a large batch; empty for all of them.
    """

    path: Path
    result: Alignment | Decomposition
    config: dict[str, Any]
    inputs: list[Bytes]
    metrics: dict[str, Any]
    shown: tuple[int, ...] = ()

    @property
    def names(self) -> list[str]:
        """What the pictures are called."""
        return list(self.config["input"]["names"])


def pictures_of(config: Mapping[str, Any]) -> Path | None:
    """Where a run has read its pictures, by its config; None if it does not say."""
    described = config["input"]
    if "path_bytes" in described:
        return Path(os.fsdecode(bytes.fromhex(described["path_bytes"])))
    if "path" not in described:
        return None
    return Path(config.get("directory", "."), described["path"])


def has_names(source: Source, run: Run) -> bool:
    """Whether pictures have the names of those of a run."""
    return [_as_unicode(name) for name in source.names] == run.names


def fill(
    folder: Path,
    result: Alignment | Decomposition,
    stack: Stack,
    source: Source | None,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any] | None = None,
    shown: Sequence[int] = (),
) -> Run:
    """Write result, config, trace and small copies of the pictures into a folder that is there.

    Parameters
    ----------
    folder : Path
    result : Alignment or Decomposition
    stack : Stack
        The pictures as they were computed with.
    source : Source, optional
        Where they came from; None for pictures that were never on disk.
    config : mapping
        How to repeat the run. What is known of the pictures is added under ``input``.
    metrics : mapping, optional
        Errors against the truth.
    shown : sequence of int
        Which pictures the stack has, of a large batch; empty for all.

    Returns
    -------
    Run
        The same as :func:`open_run` would read, without reading it.
    """
    # What the caller says of the input stays; what is known here goes beside it.
    described = {**config.get("input", {}), **_describe(stack, source)}
    whole: dict[str, Any] = _as_toml({**config, "input": described})
    copies = small_copies(stack)
    _write_config(folder / CONFIG, whole)
    with (folder / TRACE).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in trace_lines(result.trace))
    # The names of the arrays sort in the order of the pictures.
    places = shown or range(len(copies))
    numbered: dict[str, Any] = {f"{k:06d}": copy for k, copy in zip(places, copies, strict=True)}
    storage.write_arrays(folder / INPUTS, numbered)
    if metrics:
        text = json.dumps(metrics, indent=1) + "\n"
        (folder / METRICS).write_text(text, encoding="utf-8")
    # Last, because the result has the checksums of what is beside it.
    beside = [CONFIG, TRACE, INPUTS, *([METRICS] if metrics else [])]
    result.save_into(folder, beside)
    return Run(folder, result, whole, copies, dict(metrics or {}), tuple(shown))


def open_run(path: str | Path) -> Run:
    """Read a run folder.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Run
    """
    folder = Path(path)
    return storage.while_it_stays(folder, lambda: _opened(folder))


def _opened(folder: Path) -> Run:
    """Read a run folder that nobody replaces meanwhile."""
    # A folder that holds no result at all is refused here, with its own sentence.
    result = load(folder)
    config = config_of(folder)
    if config is None:
        raise FormatError(f"{folder} is a result but not a whole run; run align again")
    known = storage.check_beside(folder)
    with storage.damage_named(folder):
        with np.load(storage.regular(folder / INPUTS), allow_pickle=False) as stored:
            kept = sorted(stored.files)
            inputs = [stored[name] for name in kept]
        # A file of this name that somebody has put there says nothing of this run.
        has_metrics = known is None or METRICS in known
        metrics = _read_metrics(folder / METRICS) if has_metrics else {}
        count = len(result.low_rank)
        _check_config(config, count)
        _check_copies(inputs)
        # Of a large batch only some have a copy, under their numbers.
        shown = tuple(int(name) for name in kept) if len(kept) != count else ()
        if any(not 0 <= k < count for k in shown):
            raise ValueError(f"{INPUTS} has pictures that are not in the result")
    return Run(folder, result, config, inputs, metrics, shown)


def config_of(folder: Path) -> dict[str, Any] | None:
    """Read how to repeat a run, as it is written; None where that was not written."""
    if not (folder / CONFIG).is_file():
        return None
    with storage.damage_named(folder):
        config = tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))
        check(config, DESCRIBED)
        check(config["input"], INPUT)
        words("names", config["input"]["names"])
    return config


def is_run(path: str | Path) -> bool:
    """Say whether a folder has the result of a run in it."""
    return (Path(path) / storage.FACTS).is_file()


def load_alignment(path: str | Path) -> Alignment:
    """Read the result of a folder that has transforms, and refuse any other.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Alignment
    """
    result = load(path)
    if not isinstance(result, Alignment):
        raise InputError(
            f"{path} is a decomposition, not an alignment, and has no transforms; "
            "use a run of align"
        )
    return result


def write_parts(
    folder: Path,
    result: Alignment | Decomposition,
    source: Source,
    format: str | None = None,
    done: Callable[[], object] = nothing,
) -> list[Path]:
    """Write aligned (if there are any), low-rank and error pictures into a folder.

    Parameters
    ----------
    folder : Path
    result : Alignment or Decomposition
    source : Source
        The pictures as they came: their names and their type are kept.
    format : str, optional
        A row of FORMATS; that of the source by default.
    done : callable
        Called after every picture.

    Returns
    -------
    list of Path
        One file or folder a part. Errors are magnitudes where the type has no negative values.
    """

    def counted(name: str, pictures: Array) -> Iterator[Array]:
        for picture in streamed(pictures):
            yield magnitude_if_unsigned(picture, source.dtype) if name == "error" else picture
            done()

    return [
        write_pictures(folder / name, source.names, counted(name, pictures), source, format)
        for name, pictures in _parts(result).items()
    ]


def _parts(result: Alignment | Decomposition) -> dict[str, Array]:
    """Name the pictures (n, h, w[, c]) of a result as their files are called."""
    parts = {"aligned": result.aligned} if isinstance(result, Alignment) else {}
    return {**parts, "low_rank": result.low_rank, "error": result.sparse}


def _describe(stack: Stack, source: Source | None) -> dict[str, Any]:
    """Say which pictures were computed with and how they were read."""
    # The stack of a large batch has only the pictures that are shown.
    names = stack.names if source is None else source.names
    described: dict[str, Any] = {"names": list(names), "reduction": stack.reduction}
    if source is not None:
        described["path"] = source.path
        if _as_unicode(source.path) != source.path:
            # No text says where that is.
            described["path_bytes"] = os.fsencode(Path(source.path).absolute()).hex()
        described["format"] = source.format
        described["opened_with"] = dict(source.opened_with)
        described["dtype"] = str(source.dtype)
        described["left_out"] = list(source.left_out)
    return described


def _write_config(path: Path, config: dict[str, Any]) -> None:
    """Write TOML."""
    import tomli_w

    path.write_text(_as_unicode(tomli_w.dumps(config)), encoding="utf-8")


def _as_unicode(text: str) -> str:
    """Text that TOML can hold: bytes of a file name that are no text become question marks."""
    return text.encode(errors="replace").decode()


def _check_config(config: dict[str, Any], count: int) -> None:
    """Refuse a config that is not of so many pictures."""
    opened_with = config["input"].get("opened_with", {})
    check(opened_with, OPENED)
    if not opened_with.keys() <= OPENED.keys():
        raise ValueError(f"{CONFIG} does not say how its pictures were opened")
    if len(config["input"]["names"]) != count:
        raise ValueError(f"{CONFIG} does not name {count} pictures")


def _check_copies(copies: Sequence[Array]) -> None:
    """Refuse small copies that are no pictures, or of different kinds."""
    for copy in copies:
        if copy.dtype != np.uint8 or copy.ndim not in (2, 3) or not copy.size:
            raise ValueError(f"{INPUTS} has something in it that is no picture")
    if len({copy.shape[2:] for copy in copies}) > 1:
        raise ValueError(f"{INPUTS} has grey pictures and some in colour")


def _read_metrics(path: Path) -> dict[str, Any]:
    """Read the errors against the truth, if they were written."""
    if not path.is_file():
        return {}
    metrics = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(metrics, dict):
        raise ValueError(f"{METRICS} is not of the right type")
    return metrics


def _as_toml(value: Any) -> Any:
    """Keep only what TOML knows: None is left out, what is unknown becomes text."""
    if isinstance(value, Mapping):
        return {str(key): _as_toml(one) for key, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [_as_toml(one) for one in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    # A path, a type, a number of NumPy: its text is what a person would have written.
    return str(value)
