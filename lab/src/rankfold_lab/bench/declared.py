"""What is declared in ``cases.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def declared() -> dict[str, Any]:
    """The content of ``cases.toml``."""
    text = resources.files("rankfold_lab.bench").joinpath("cases.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def rasl_set(name: str) -> dict[str, Any]:
    """The published settings of one RASL set."""
    return next(one for one in declared()["rasl"]["sets"] if one["name"] == name)


def matrix(name: str) -> dict[str, Any]:
    """A matrix whose iterations are timed."""
    return next(one for one in declared()["iteration"]["matrices"] if one["name"] == name)
