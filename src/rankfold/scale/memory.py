"""Give memory back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Return what was freed to the system, where the C library keeps it for itself.

    The many arrays of a search are of middling size. The allocator of Linux keeps their room, and
    cannot use it for the few large arrays that come after: 570 MB of 1.2 GB for 200 pictures.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        # Other C libraries than GNU's have no such function.
        return
    trim(ctypes.c_size_t(0))
