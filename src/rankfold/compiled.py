"""How kernels are compiled, and where their machine code is kept: one decorator for all of them.

numba compiles a kernel when it is first called and keeps the machine code in a folder: the one that
``NUMBA_CACHE_DIR`` names, else beside the package, else one of the user's. None of them is needed
for a result. Where no folder can be written, every process compiles again, and says so once; what
is damaged is compiled again and replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, NullCache

# Where numba keeps what it has compiled, if this is set in the environment.
FOLDER = "NUMBA_CACHE_DIR"


class CacheWarning(UserWarning):
    """What is compiled cannot be kept, so that every process takes the time again."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel when it is first called; it runs without the interpreter's lock.

    Parameters
    ----------
    **options
        Further options of :func:`numba.njit`.

    Returns
    -------
    callable
        Decorates a function.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, **options)(function)
        # With NUMBA_DISABLE_JIT it is the function itself, which needs no folder.
        if kernel is not function:
            kernel._cache = _cache_for(function)
        return kernel

    return compile_later


def folder_of(kernel: Any) -> Path | None:
    """The folder that keeps the machine code of a kernel; None where there is none.

    Parameters
    ----------
    kernel : callable
        What :func:`compiled` made.
    """
    path = getattr(getattr(kernel, "_cache", None), "cache_path", None)
    return None if path is None else Path(path)


class _Kept(FunctionCache):
    """Keeps machine code in a folder, and does without where that fails."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code; None if there is none that can be used."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            # The files are pickles, and one that is cut short may raise anything.
            found = None
            self._empty()
        # Two processes that save at the same time may give two kinds of arguments one file.
        if found is not None and tuple(found.signature.args) != tuple(sig):
            found = None
            self._empty()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            # A full disk, or whatever pickling raises: the kernel is there all the same.
            self._give_up(error)

    def _empty(self) -> None:
        """Forget what is in the folder, so that what is compiled next replaces it."""
        try:
            self.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Compile in this process alone."""
        self.disable()
        warn_once(f"{self.cache_path}: {error}")


class _Nowhere(NullCache):
    """Stands for a folder where none can be written."""

    def load_overload(self, sig: Any, target_context: Any) -> None:  # noqa: ARG002
        """Say that a kernel is compiled again."""
        warn_once()


def _cache_for(function: Callable[..., Any]) -> Any:
    """What keeps the machine code of a function."""
    try:
        return _Kept(function)
    except (RuntimeError, OSError):
        # numba has found no folder, or has lost it since.
        return _Nowhere()


# Reasons that were said in this process; the first one is enough.
_said: list[str] = []


def warn_once(reason: str = "no folder for it can be written") -> None:
    """Warn that nothing is kept, once a process.

    Parameters
    ----------
    reason : str
        Why it is not.
    """
    if not _said:
        _said.append(reason)
        warnings.warn(
            f"what is compiled cannot be kept ({reason}), so every process compiles again, which "
            f"takes up to half a minute; set {FOLDER} to a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )
