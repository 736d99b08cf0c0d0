"""How much memory a run may take, and where its arrays go if that is not enough."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rankfold.arguments import number, shown
from rankfold.errors import InputError
from rankfold.scale.stores import MEMORY, Disk, Store

# Share of the memory that is free which a run takes if the caller sets no limit.
SHARE = 0.6

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

# Where Linux says how much memory a container may have, and has.
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
CONTAINER_USE = Path("/sys/fs/cgroup/memory.current")
MACHINE = Path("/proc/meminfo")


@dataclass(frozen=True)
class Needs:
    """What a run takes, in bytes: an estimate."""

    memory: float  # at the peak, with all arrays in memory
    least: float  # at the peak, with large arrays on disk
    disk: float  # those arrays


def store_for(
    needs: Needs, memory_limit: int | str | None = None, scratch: str | Path | None = None
) -> Store:
    """Return where a run keeps its large arrays: in memory where they fit, else on disk.

    Parameters
    ----------
    needs : Needs
    memory_limit : int or str, optional
        Bytes, or a text as "2G"; 60 % of what is free by default.
    scratch : str or Path, optional
        The folder for arrays on disk; the system's folder for temporary files by default.

    Raises
    ------
    InputError
        The run fits neither into the memory nor, with its arrays on disk, into both.
    """
    limit = limit_of(memory_limit)
    if limit is None or needs.memory <= limit:
        return MEMORY
    if needs.least > limit:
        raise InputError(
            f"the run needs at least {gib(needs.least)} of memory, also with its arrays on disk, "
            f"and may take {gib(limit)}; raise memory_limit, or give it fewer pictures"
        )
    folder = scratch_folder(scratch)
    room = shutil.disk_usage(folder).free
    if needs.disk > room:
        raise InputError(
            f"the run may take {gib(limit)} of memory, so its arrays go to disk and need about "
            f"{gib(needs.disk)}, but the scratch folder {folder} has {gib(room)} left; make room "
            "there, name another folder with scratch=, or raise memory_limit"
        )
    return Disk(folder, spare=limit - needs.least)


def check_executor(
    executor: object, memory_limit: int | str | None, scratch: str | Path | None
) -> None:
    """Refuse a limit or a folder beside an executor, which says itself where arrays are kept."""
    given = {"memory_limit": memory_limit, "scratch": scratch}
    for name, value in given.items():
        if executor is not None and value is not None:
            raise InputError(
                f"{name}={value!r} has no effect with an executor, which has its own store; give "
                "it there, as in Threads(2, Disk(folder))"
            )


def limit_of(memory_limit: int | str | None) -> float | None:
    """Return the limit in bytes; without one a share of what is free, None if nobody knows."""
    if memory_limit is not None:
        return bytes_of(memory_limit)
    free = free_memory()
    return None if free is None else SHARE * free


def bytes_of(size: int | str) -> float:
    """Read a size: a number of bytes, or a text as "500M" or "2G"."""
    if not isinstance(size, str):
        bytes_said = number("memory_limit", size, "write bytes, or 500M or 2G")
        if not 0 < bytes_said < math.inf:
            raise InputError(
                f"memory_limit={shown(size)} is not a size; write bytes, or 500M or 2G"
            )
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", str(size).strip(), re.I)
    value = 0.0 if found is None else float(found[1]) * UNITS[found[2].upper()]
    if value <= 0:
        raise InputError(f"memory_limit={size!r} is not a size; write bytes, or 500M or 2G")
    return value


def scratch_folder(scratch: str | Path | None) -> Path:
    """Return the folder for arrays on disk; refuse one that is not there."""
    folder = Path(tempfile.gettempdir() if scratch is None else scratch)
    if not folder.is_dir():
        raise InputError(f"the scratch folder {folder} does not exist; make it, or name another")
    return folder


def free_memory() -> float | None:
    """Return how many bytes are free on this machine, or in this container; None if unknown."""
    known = [size for size in (_free_on_machine(), _free_in_container()) if size is not None]
    return min(known, default=None)


def _free_on_machine() -> float | None:
    """Return what the system could give without pushing anything out to disk."""
    try:
        lines = MACHINE.read_text(encoding="ascii")
        found = re.search(r"^MemAvailable:\s+([0-9]+) kB", lines, re.M)
        if found is not None:
            return 1024.0 * int(found[1])
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    except (OSError, ValueError, AttributeError):
        # Other systems do not tell, or tell in other ways.
        return None


def _free_in_container() -> float | None:
    """Return what is left of a container's memory; None where there is no limit."""
    try:
        return float(int(CONTAINER_LIMIT.read_text()) - int(CONTAINER_USE.read_text()))
    except (OSError, ValueError):
        # No container, or one without a limit, which says "max".
        return None


def gib(count: float) -> str:
    """Write a number of bytes for a person."""
    return f"{count / 2**30:.2f} GiB"
