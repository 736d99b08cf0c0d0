"""A result on disk: a folder with ``result.json`` and ``arrays.npz``, a format version, no pickle.

Large arrays have a file of their own, ``low_rank.npy``, from which they are mapped into memory and
not read. :func:`whole_or_nothing` makes a folder that appears only when it is complete,
:func:`fill` writes the files of a result into it, :func:`read` reads them back.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError, WriteError
from rankfold.locking import holder_of, take
from rankfold.scale import streamed

Arrays = dict[str, npt.NDArray[Any]]

FORMAT = "rankfold-result"
# The second version has large arrays in files of their own; without any, the first is written.
FORMAT_VERSION = 2
FIRST_VERSION = 1

# Unit: bytes. An array above this is large.
LARGE = 2**27

# The two files of a result.
FACTS = "result.json"
ARRAYS = "arrays.npz"

# An empty file in a folder that was written here and holds no result.
MARK = ".rankfold"

# What is beside the place of a folder NAME while it is made, by the end of its name: the draft and
# the folder that it replaces (.NAME-xxxxxxxx and this), and the lock of who makes it (.NAME and
# this). A process that is killed leaves them; ``rankfold clean`` removes them.
DRAFT = ".rankfold-draft"
REPLACED = ".rankfold-old"
LOCK = ".rankfold-lock"

# What the folder that is replaced is called inside its temporary place.
INSIDE = "it"

# What reading raises on damaged files: besides plain errors of files and values, what zipfile and
# NumPy raise on bad archives, unknown compressions and broken headers of arrays.
DAMAGED = (
    OSError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    SyntaxError,
    tokenize.TokenError,
)

# What the system reports if there is no room for a file.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole_or_nothing(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a folder to fill, which appears at ``path`` if the block ends well, else not at all.

    It is filled beside its place and then renamed. Meanwhile nobody else can make a folder there.

    Parameters
    ----------
    path : str or Path
        Where the folder will be.
    overwrite : bool
        Replace a folder that rankfold wrote, at the very end. Nothing else is ever replaced.
    """
    target = Path(path)
    _check_place(target, overwrite)
    with _alone(target):
        # Whoever held the lock a moment ago may have put something there.
        _check_place(target, overwrite)
        draft = _make_draft(target)
        with _removed_on_error(draft, target):
            yield draft
            _put_in_place(draft, target, overwrite)


@contextmanager
def _removed_on_error(draft: Path, target: Path) -> Iterator[None]:
    """Remove the draft if the block does not end well."""
    try:
        yield
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise _no_room(target, error) from error
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def check_free(path: str | Path, overwrite: bool) -> None:
    """Refuse a place for a file where a folder is, or a file that is not to be replaced."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file")
    if target.exists() and not overwrite:
        raise InputError(
            f"{target} exists already; choose another name, or replace it with overwrite=True"
        )


@contextmanager
def whole_file(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a file to write, which appears at ``path`` if the block ends well, else not at all.

    Parameters
    ----------
    path : str or Path
        Where the file will be. The one to write is beside it and has the same ending.
    overwrite : bool
        Replace a file that is there.
    """
    target = Path(path)
    check_free(target, overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(target.suffix, f".{target.stem}-", target.parent)
    except OSError as error:
        raise _not_writable(target, error) from error
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _no_room(target, error) from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _no_room(target: Path, error: OSError) -> OSError:
    """Say that there is no room, if that is what went wrong."""
    if error.errno not in NO_SPACE:
        return error
    return WriteError(f"no space is left to write {target}; make room or choose another disk")


def _check_place(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but an empty folder or one that was written here."""
    if not target.exists():
        return
    if not overwrite:
        raise InputError(
            f"{target} exists already; choose another name, or replace it with overwrite=True"
        )
    if not target.is_dir() or not (_is_ours(target) or _is_empty(target)):
        raise InputError(
            f"{target} was not written by rankfold and is not replaced; "
            "choose another name or remove it yourself"
        )


def _is_ours(folder: Path) -> bool:
    """Whether rankfold wrote a folder."""
    return (folder / MARK).exists() or (folder / FACTS).exists()


def _is_empty(folder: Path) -> bool:
    """Whether nothing is in a folder."""
    return not any(folder.iterdir())


def lock_of(target: Path) -> Path:
    """Name the lock of whoever makes a folder."""
    return target.with_name(f".{target.name}{LOCK}")


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the lock of a folder, and refuse to make it where somebody else does."""
    lock_file = lock_of(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = take(lock_file)
    except OSError as error:
        raise _not_writable(target, error) from error
    if lock is None:
        raise InputError(
            f"{target} is being written by another rankfold ({holder_of(lock_file)}); "
            "wait until it has ended, or choose another name"
        )
    with lock:
        yield


def _make_draft(target: Path) -> Path:
    """Make an empty folder with a temporary name beside the target."""
    try:
        return Path(tempfile.mkdtemp(DRAFT, f".{target.name}-", target.parent))
    except OSError as error:
        raise _not_writable(target, error) from error


def _not_writable(target: Path, error: OSError) -> WriteError:
    """Say that nothing can be made beside the target."""
    return WriteError(
        f"{target} cannot be written ({error.strerror}); choose a folder that you may write to"
    )


def _put_in_place(draft: Path, target: Path, overwrite: bool) -> None:
    """Give a complete draft its name, or another one if the target appeared meanwhile."""
    if not (draft / FACTS).exists():
        (draft / MARK).touch()
    # A temporary folder is private to its user; a result has the permissions of other folders.
    draft.chmod(0o777 & ~_umask())
    if not target.exists():
        draft.rename(target)
    elif overwrite:
        _swap(draft, target)
    else:
        kept = _free_name(target)
        draft.rename(kept)
        raise WriteError(f"{target} appeared while this was computed; the result is in {kept}")


def _swap(draft: Path, target: Path) -> None:
    """Put the draft in the place of an older folder, which stays if that fails."""
    aside = Path(tempfile.mkdtemp(REPLACED, f".{target.name}-", target.parent))
    older = aside / INSIDE
    try:
        target.rename(older)
        try:
            draft.rename(target)
        except BaseException:
            older.rename(target)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _free_name(target: Path) -> Path:
    """The first of NAME-2, NAME-3 and so on that is not taken."""
    names = (target.with_name(f"{target.name}-{k}") for k in range(2, 10_000))
    return next(name for name in names if not name.exists())


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def fill(
    folder: Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write the two files of a result into a folder that is there.

    Parameters
    ----------
    folder : Path
    kind : str
        Which class of result it is.
    facts : mapping
        Everything that JSON can hold.
    arrays : mapping of str to array
        Numbers and text of any shape.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            "an array of Python objects cannot be saved; results hold numbers and text only"
        )
    large = {name: array for name, array in arrays.items() if array.nbytes > LARGE}
    small: dict[str, Any] = {name: one for name, one in arrays.items() if name not in large}
    for name, array in large.items():
        _write_large(folder / f"{name}.npy", array)
    np.savez_compressed(folder / ARRAYS, **small)
    version = FORMAT_VERSION if large else FIRST_VERSION
    head = {"format": FORMAT, "format_version": version, "kind": kind, **facts}
    if large:
        head["large"] = list(large)
    text = json.dumps(head, indent=1, default=_plain)
    (folder / FACTS).write_text(text + "\n", encoding="utf-8")


def _write_large(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array row by row: it may be on disk itself, and larger than memory."""
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for row in streamed(array):
            file.write(np.ascontiguousarray(row).data)


def _plain(value: object) -> object:
    """A number or an array of NumPy, which a caller may have given, as JSON knows it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def read(path: str | Path) -> tuple[str, dict[str, Any], Arrays]:
    """Read a result folder and return its kind, facts and arrays, as ``fill`` got them."""
    folder = Path(path)
    if not (folder / FACTS).is_file():
        raise FormatError(
            f"{folder} is not a rankfold result: it has no result.json; "
            "give the folder that save made"
        )
    try:
        facts = _read_facts(folder)
        arrays = _read_arrays(folder)
        for name in facts.pop("large", ()):
            arrays[name] = _map_large(folder / f"{Path(name).name}.npy")
        kind = facts.pop("kind")
    except FormatError:
        raise
    except DAMAGED as error:
        raise FormatError(
            f"{folder} is damaged or incomplete ({error}); "
            "restore it from a copy or compute it again"
        ) from error
    return kind, facts, arrays


def _map_large(path: Path) -> npt.NDArray[Any]:
    """Map an array into memory without reading it; pickles are refused."""
    return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_facts(folder: Path) -> dict[str, Any]:
    """The facts of a result, with its kind, if its format is one that can be read."""
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
        raise FormatError(f"{folder / FACTS} was not written by rankfold")
    version = facts.pop("format_version")
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format version {version}, this rankfold reads up to {FORMAT_VERSION}; "
            "upgrade rankfold to open it"
        )
    return facts


def _read_arrays(folder: Path) -> Arrays:
    """The arrays of a result. No pickle is ever loaded."""
    with (
        (folder / ARRAYS).open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        return {name: stored[name] for name in stored.files}
