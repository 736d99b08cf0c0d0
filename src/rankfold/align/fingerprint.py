"""What a run is made from, so that a checkpoint of another run is recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.request import Request
from rankfold.stack import Stack
from rankfold.version import __version__

# Where an object is in memory, which its text may say, differs from process to process.
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def fingerprint(request: Request) -> dict[str, Any]:
    """What decides on the bits of a run, as values that JSON knows.

    How many threads compute it is no part of it: the bits do not depend on that.
    """
    known = {
        "version": __version__,
        "pictures": _of_pictures(request.stack),
        "frame": request.frame.shape,
        "init": _digest([request.start]),
        "options": request.options,
        "settings": request.settings.values(),
    }
    # As it will be read again: numbers of NumPy as text, tuples as lists.
    plain: dict[str, Any] = json.loads(json.dumps(known, default=str))
    return plain


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say in what two runs differ, for "a run with ..."; an empty text if they are the same."""
    if then.get("version") != now["version"]:
        return f"rankfold {then.get('version')} (this is {now['version']})"
    # Before the pictures, which may be read coarser for another frame.
    if then.get("frame") != now["frame"]:
        height, width = now["frame"]
        return f"another frame than {height}x{width}"
    if then.get("pictures") != now["pictures"]:
        return "other pictures"
    before = _flat(then)
    for name, value in _flat(now).items():
        if before.get(name) != value:
            return f"{name}={before.get(name)} (now {value})"
    # Last, because other options may have made another start.
    return "another init" if then.get("init") != now["init"] else ""


def _flat(described: Mapping[str, Any]) -> dict[str, str]:
    """Options and settings by their names, each value as text."""
    flat = dict(described.get("options", {}))
    for group, values in described.get("settings", {}).items():
        flat |= {f"{group}.{name}": value for name, value in values.items()}
    return {name: ADDRESS.sub("", json.dumps(value)) for name, value in flat.items()}


def _of_pictures(stack: Stack) -> str:
    """A digest of the pictures, their masks and their names."""
    names = json.dumps([*stack.names, stack.reduction])
    return _digest(_arrays_of(stack), names.encode("utf-8", "surrogateescape"))


def _arrays_of(stack: Stack) -> Iterator[npt.NDArray[Any]]:
    """Everything in a stack that is an array."""
    yield from stack.sources
    yield from stack.masks
    yield stack.units
    for view in stack.views:
        yield view.pixels
        yield view.valid


def _digest(arrays: Iterator[npt.NDArray[Any]] | list[npt.NDArray[Any]], more: bytes = b"") -> str:
    """A digest of arrays with their shapes and types."""
    whole = blake2b(more, digest_size=20)
    for array in arrays:
        whole.update(f"{array.shape}{array.dtype}".encode())
        whole.update(np.ascontiguousarray(array).view(np.uint8).data)
    return whole.hexdigest()
