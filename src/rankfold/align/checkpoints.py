"""The files of a checkpoint: versioned, without pickle, each of them whole or not there."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align.packing import Packed
from rankfold.errors import FormatError, InputError, WriteError
from rankfold.locking import is_lock
from rankfold.storage import NO_SPACE, regular, write_arrays

FORMAT = "rankfold-checkpoint"
FORMAT_VERSION = 1

# What the files of a checkpoint are called.
HEAD = "checkpoint.json"
NEWEST = "newest.npz"
LOCK = "rankfold.lock"
CALL = re.compile(r"(\d+)-\w+\.npz")

# A file that is being written has this at the end of its name.
PARTIAL = ".partial"

# The array of an .npz file that holds its facts, as bytes of JSON.
FACTS = "facts"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run keeps what it needs to go on after an interruption, and how.

    Attributes
    ----------
    folder : Path
        It is made if it is not there.
    every : float
        Seconds that pass at least between two writes inside a loop; 0 writes after every outer
        iteration. However long a write takes, writing takes a tenth of the time at most.
    keep : bool
        Whether the folder stays when the run is complete; else it is removed then.
    """

    folder: Path
    every: float = 1.0
    keep: bool = False

    def __post_init__(self) -> None:
        """Refuse a time that is none."""
        if not self.every >= 0:
            raise InputError(f"every={self.every} must be zero or a number of seconds")


def is_checkpoint(folder: Path) -> bool:
    """Say whether rankfold made a folder to keep a checkpoint in, by what its files hold.

    Other programs keep something under the same names.
    """
    return is_lock(folder / LOCK) or has_head(folder)


def has_head(folder: Path) -> bool:
    """Say whether a folder has more of a checkpoint than its lock."""
    try:
        head = json.loads(regular(folder / HEAD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("format") == FORMAT


def remove_checkpoint(folder: Path) -> None:
    """Remove the files of a checkpoint, and its folder if nothing else is in it.

    What cannot be removed stays, and is found as a leftover.
    """
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if _is_part(path.name.removesuffix(PARTIAL)):
                path.unlink(missing_ok=True)
        # Last: it says that what is left by an interrupted removal is a checkpoint.
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


def _is_part(name: str) -> bool:
    """Whether a file of a checkpoint, but for its lock, is called so."""
    return name in (HEAD, NEWEST) or CALL.fullmatch(name) is not None


def iterations_in(folder: Path) -> int:
    """Count the outer iterations that a checkpoint remembers; 0 where there is none."""
    facts = {call: read_facts(path) for call, path in finished_calls(folder).items()}
    newest = read_facts(folder / NEWEST)
    if newest is not None:
        facts[newest["call"]] = newest
    return sum(int(one.get("iterations", 0)) for one in facts.values() if one is not None)


def finished_calls(folder: Path) -> dict[int, Path]:
    """The files of finished calls, by the number of the call."""
    found = ((CALL.fullmatch(path.name), path) for path in sorted(folder.glob("*.npz")))
    return {int(match[1]): path for match, path in found if match is not None}


def write_head(folder: Path, known: Mapping[str, Any]) -> None:
    """Write what a run is made from."""
    head = {
        "about": "rankfold made this folder: what a run needs to go on after an interruption",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **known,
    }
    text = json.dumps(head, indent=1) + "\n"
    _write(folder / HEAD, lambda file: file.write(text.encode("utf-8")))


def read_head(folder: Path) -> dict[str, Any]:
    """Read what a run is made from; refuse a file that is damaged or of another format."""
    try:
        head: dict[str, Any] = json.loads(regular(folder / HEAD).read_text(encoding="utf-8"))
        good = head["format"] == FORMAT and head["format_version"] == FORMAT_VERSION
    except Exception as error:
        # JSON and what is in it: anything can be wrong with it.
        raise FormatError(
            f"{folder} is a damaged checkpoint ({error}); "
            f"remove it with `rankfold clean {folder}` to begin anew"
        ) from error
    if not good:
        raise FormatError(
            f"{folder} is a checkpoint of another version of rankfold; "
            f"remove it with `rankfold clean {folder}` to begin anew"
        )
    return head


def write_packed(path: Path, packed: Packed, **facts: object) -> None:
    """Write facts and arrays as one file, in the place of an earlier one."""
    text = json.dumps({**packed.facts, **facts})
    content: dict[str, Any] = {FACTS: np.frombuffer(text.encode("utf-8"), np.uint8)}
    content |= packed.arrays
    # Not compressed: that takes longer than to compute again what is in it.
    _write(path, lambda file: write_arrays(file, content, compressed=False))


def read_packed(path: Path) -> Packed | None:
    """Read facts and arrays; None if the file is not there or damaged."""
    try:
        with np.load(regular(path), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        facts = json.loads(arrays.pop(FACTS).tobytes())
    except Exception:
        # Archives raise anything on bad bytes; what they held is computed again.
        return None
    return Packed(facts, arrays)


def read_facts(path: Path) -> dict[str, Any] | None:
    """Read the facts of a file that is whole; None if it is not there or damaged."""
    try:
        with zipfile.ZipFile(regular(path)) as archive:
            # Compares every array with its checksum, a little at a time.
            if archive.testzip() is not None:
                return None
        with np.load(regular(path), allow_pickle=False) as stored:
            facts: dict[str, Any] = json.loads(stored[FACTS].tobytes())
    except Exception:
        # As above.
        return None
    return facts


def _write(path: Path, fill: Any) -> None:
    """Write a file under another name, and rename it when it is whole and on the disk."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        why = "no space is left" if error.errno in NO_SPACE else error.strerror
        raise WriteError(
            f"the checkpoint {path.parent} cannot be written ({why}); "
            "make room or choose a folder on another disk"
        ) from error
