"""The content of a MATLAB file, or one sentence about what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankfold.io.guard import reading


def load_matlab(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file of version 5 or 7 by name."""
    from scipy.io import loadmat

    with reading(path, "read as a MATLAB file", "save it as version 5 or 7"):
        content: dict[str, Any] = loadmat(path)
    return content
