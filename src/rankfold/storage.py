"""A result on disk: a folder with ``result.json`` and ``arrays.npz``, a format version, no pickle."""

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

FORMAT = "rankfold-result"
FORMAT_VERSION = 1
MARK = ".rankfold"  # in a folder that was written here and holds no result
# what zipfile and NumPy raise on damaged bytes: bad archives, unknown compressions, broken array headers
DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, SyntaxError, tokenize.TokenError)


@contextmanager
def whole_or_nothing(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A folder that appears at ``path`` when the block ends well, and not at all otherwise.

    It is filled beside its place and then renamed. With ``overwrite`` a folder that rankfold wrote gives way at the
    very end; nothing else is ever replaced.
    """
    target = Path(path)
    _check_place(target, overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise WriteError(
            f"{target} cannot be written ({error.strerror}); choose a folder that you may write to"
        ) from error
    try:
        yield draft
        if not (draft / "result.json").exists():
            (draft / MARK).touch()
        draft.chmod(0o777 & ~_umask())
        if target.exists():
            if not overwrite:  # somebody else was quicker
                kept = _free_name(target)
                draft.rename(kept)
                raise WriteError(
                    f"{target} appeared while this was computed; the result is in {kept}"
                )
            _swap(draft, target)
        else:
            draft.rename(target)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise WriteError(
                f"no space is left to write {target}; make room or choose another disk, nothing was kept"
            ) from error
        raise
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _check_place(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but a folder that was written here."""
    if not target.exists():
        return
    if not overwrite:
        raise InputError(
            f"{target} exists already; choose another name, or replace it with overwrite=True (--overwrite)"
        )
    ours = target.is_dir() and ((target / MARK).exists() or (target / "result.json").exists())
    if not ours and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(
            f"{target} was not written by rankfold and is not replaced; choose another name or remove it yourself"
        )


def _swap(draft: Path, target: Path) -> None:
    """Put the draft in the place of an older folder, which stays if that fails."""
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    try:
        target.rename(old / "it")
        try:
            draft.rename(target)
        except BaseException:
            (old / "it").rename(target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _free_name(target: Path) -> Path:
    """The first of NAME-2, NAME-3, ... that is not taken."""
    return next(
        p for k in range(2, 10_000) if not (p := target.with_name(f"{target.name}-{k}")).exists()
    )


def fill(
    folder: Path, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write the two files of a result into a folder that is there."""
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            "an array of Python objects cannot be saved; results hold numbers and text only"
        )
    content: dict[str, Any] = dict(arrays)
    np.savez_compressed(folder / "arrays.npz", **content)
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "kind": kind, **facts}
    (folder / "result.json").write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


def read(path: str | Path) -> tuple[str, dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a result folder: its kind, facts and arrays."""
    folder = Path(path)
    if not (folder / "result.json").is_file():
        raise FormatError(
            f"{folder} is not a rankfold result: it has no result.json; give the folder that save made"
        )
    try:
        facts = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
            raise FormatError(f"{folder / 'result.json'} was not written by rankfold")
        version = facts.pop("format_version")
        if version > FORMAT_VERSION:
            raise FormatError(
                f"{folder} has format version {version}, this rankfold reads up to {FORMAT_VERSION}; "
                "upgrade rankfold to open it"
            )
        with (
            (folder / "arrays.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as stored,
        ):
            arrays = {name: stored[name] for name in stored.files}
        return facts.pop("kind"), facts, arrays
    except (OSError, EOFError, KeyError, TypeError, ValueError, *DAMAGED) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{folder} is damaged or incomplete ({error}); restore it from a copy or compute it again"
        ) from error


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
