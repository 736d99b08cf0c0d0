"""A result on disk: a folder with ``result.json`` and ``arrays.npz``, a format version, no pickle.

Large arrays have a file of their own, ``low_rank.npy``, from which they are mapped into memory and
not read. A checksum over all of it is in ``result.json``: a result is read as it was written, or
not at all. :func:`fill` writes the files into a folder, :func:`read` reads them back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold.arguments import path_of
from rankfold.errors import FormatError, InputError, RankfoldError
from rankfold.scale import streamed
from rankfold.storage.archives import write_arrays, write_rows
from rankfold.storage.disk import regular
from rankfold.storage.marks import ARRAYS, FACTS
from rankfold.storage.places import restore_if_gone

T = TypeVar("T")
Arrays = dict[str, npt.NDArray[Any]]

FORMAT = "rankfold-result"
# The second version has large arrays in files of their own, the third has a checksum.
FORMAT_VERSION = 3

# Unit: bytes. An array above this is large.
LARGE = 2**27

# How often a folder is read that is replaced in that very moment.
TRIES = 10


def fill(
    folder: Path,
    kind: str,
    facts: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    beside: Iterable[str] = (),
) -> None:
    """Write the files of a result into a folder that is there.

    Parameters
    ----------
    folder : Path
    kind : str
        Which class of result it is.
    facts : mapping
        Everything that JSON can hold.
    arrays : mapping of str to array
        Numbers and text of any shape.
    beside : names
        Files in the folder that belong to the result: :func:`check_beside` tells whether they are
        as they were.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            "an array of Python objects cannot be saved; results hold numbers and text only"
        )
    large = {name: array for name, array in arrays.items() if array.nbytes > LARGE}
    small: dict[str, Any] = {name: one for name, one in arrays.items() if name not in large}
    for name, array in large.items():
        # It may be on disk itself.
        write_rows(folder / f"{name}.npy", array.shape, array.dtype, streamed(array))
    write_arrays(folder / ARRAYS, small)
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "kind": kind, **facts}
    if large:
        head["large"] = list(large)
    head["beside"] = {name: _digest([folder / name]) for name in beside}
    # As it will be read: JSON turns tuples into lists, and names of all kinds into text.
    plain = json.loads(json.dumps(head, default=_plain))
    plain["checksum"] = checksum(folder, plain)
    (folder / FACTS).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def checksum(folder: Path, facts: Mapping[str, Any]) -> str:
    """Return a checksum of facts, but for the one in them, and of the arrays in a folder."""
    others = {name: value for name, value in facts.items() if name != "checksum"}
    text = json.dumps(others, sort_keys=True)
    return _digest(_files_of_arrays(folder, facts), text.encode("utf-8"))


def check_beside(path: str | Path) -> frozenset[str] | None:
    """Refuse a result whose other files are not as they were when it was written.

    Returns their names, or None where an earlier version did not write them down.
    """
    folder = Path(path)
    with damage_named(folder):
        facts = _read_facts(folder)
        if "beside" not in facts:
            return None
        for name, digest in facts["beside"].items():
            if _digest([folder / Path(name).name]) != digest:
                raise FormatError(
                    f"{folder / name} is not as it was written; restore it from a copy or "
                    "compute it again"
                )
        return frozenset(facts["beside"])


def _plain(value: object) -> object:
    """A number or an array of NumPy, which a caller may have given, as JSON knows it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def while_it_stays(folder: Path, read_it: Callable[[], T]) -> T:
    """Read something of a folder, and do so again if it was replaced meanwhile.

    Its files are opened one after the other. If the folder changes places with another one in
    between, they are those of two results, which are both good.
    """
    for _ in range(TRIES):
        before = _identity(folder)
        try:
            found = read_it()
        except FormatError:
            if _identity(folder) == before:
                raise
        else:
            if _identity(folder) == before:
                return found
    raise FormatError(f"{folder} is replaced again and again; read it when it stays as it is")


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """What tells a folder from another one that takes its place; None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def read(path: str | Path, verify: bool = True) -> tuple[str, dict[str, Any], Arrays]:
    """Read a result folder and return its kind, facts and arrays, as ``fill`` got them.

    Parameters
    ----------
    path : str or Path
    verify : bool
        Compare everything with its checksum, for which all of it is read once.
    """
    folder = Path(path_of("path", path))
    restore_if_gone(folder)
    return while_it_stays(folder, lambda: _read(folder, verify))


def _read(folder: Path, verify: bool) -> tuple[str, dict[str, Any], Arrays]:
    """Read a result folder."""
    if not (folder / FACTS).is_file():
        raise FormatError(
            f"{folder} is not a rankfold result: it has no result.json; "
            "give the folder that save made"
        )
    with damage_named(folder):
        facts = _read_facts(folder)
        if verify:
            _verify(folder, facts)
        arrays = _read_arrays(folder)
        for name in facts.pop("large", ()):
            arrays[name] = _map_large(_file_of(folder, name))
        kind = facts.pop("kind")
        if not isinstance(kind, str):
            raise ValueError("kind is not of the right type")
        for name in ("format", "format_version", "checksum", "beside"):
            facts.pop(name, None)
    return kind, facts, arrays


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Turn what is raised on damaged files into one sentence that names the folder."""
    try:
        yield
    except RankfoldError:
        raise
    except MemoryError as error:
        raise FormatError(
            f"{folder} says it holds more than there is memory for; it is damaged, or needs a "
            "larger machine"
        ) from error
    except Exception as error:
        # zipfile, NumPy and JSON raise anything on bad bytes.
        raise FormatError(
            f"{folder} is damaged or incomplete ({error}); "
            "restore it from a copy or compute it again"
        ) from error


def _verify(folder: Path, facts: Mapping[str, Any]) -> None:
    """Refuse a result that is not the one that was written; earlier formats have no checksum."""
    if facts["format_version"] < FORMAT_VERSION and "checksum" not in facts:
        return
    if checksum(folder, facts) != facts["checksum"]:
        raise ValueError("its checksum does not match")


def _digest(files: Iterable[Path], text: bytes = b"") -> str:
    """Return the SHA-256 of a text and of the files after it."""
    total = hashlib.sha256(text)
    for path in files:
        with regular(path).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _files_of_arrays(folder: Path, facts: Mapping[str, Any]) -> list[Path]:
    """The files that hold the arrays of a result."""
    return [folder / ARRAYS, *(_file_of(folder, name) for name in facts.get("large", ()))]


def _file_of(folder: Path, name: str) -> Path:
    """The file of a large array, which is nowhere but in the folder."""
    return folder / f"{Path(name).name}.npy"


def _map_large(path: Path) -> npt.NDArray[Any]:
    """Map an array into memory without reading it; pickles are refused."""
    return np.asanyarray(np.load(regular(path), mmap_mode="r", allow_pickle=False))


def _read_facts(folder: Path) -> dict[str, Any]:
    """The facts of a result, with its kind, if its format is one that can be read."""
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise FormatError(f"{folder / FACTS} was not written by rankfold")
    version = facts["format_version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"format_version is {version!r}, and not a whole number from 1")
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format version {version}, this rankfold reads up to {FORMAT_VERSION}; "
            "upgrade rankfold to open it"
        )
    return facts


def _read_arrays(folder: Path) -> Arrays:
    """The arrays of a result. No pickle is ever loaded."""
    with (
        regular(folder / ARRAYS).open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return {name: stored[name] for name in stored.files}
