"""Align misaligned, unevenly lit, partly hidden pictures of one thing."""

from importlib import import_module
from typing import Any

from rankfold.align import METHODS, ROUTES, STAGES, AlignSettings, Method, align, decompose
from rankfold.align.matching import Matches, match
from rankfold.errors import (
    ConvergenceError,
    ConvergenceWarning,
    FormatError,
    InputError,
    RankfoldError,
    WriteError,
)
from rankfold.families import FAMILIES
from rankfold.manifold import PROJECTORS, estimate_dimension
from rankfold.occluders import Occluder
from rankfold.outputs import Foreground, OutputSettings, Plate, Restoration
from rankfold.result import Alignment, Decomposition, load
from rankfold.stack import Frame, Points, Stack
from rankfold.status import InnerRecord, OuterRecord, RouteRecord, Status, Trace
from rankfold.version import __version__

_ESTIMATORS = ("RASL", "MeADMM", "RobustPCA")
_MANY = ("align_many",)
_FOREGROUND = ("foreground",)
_ROOMS = ("datasets", "io", "metrics", "report", "runs")


def __getattr__(name: str) -> Any:
    """Import what is not always needed when asked for: scikit-learn takes a second to load."""
    if name in _ESTIMATORS:
        return getattr(import_module("rankfold.estimators"), name)
    if name in _MANY:
        return getattr(import_module("rankfold.many"), name)
    if name in _FOREGROUND:
        return getattr(import_module("rankfold.moving"), name)
    if name in _ROOMS:
        return import_module(f"rankfold.{name}")
    raise AttributeError(f"module 'rankfold' has no attribute {name!r}")


__all__ = [
    "FAMILIES",
    "METHODS",
    "PROJECTORS",
    "RASL",
    "ROUTES",
    "STAGES",
    "AlignSettings",
    "Alignment",
    "ConvergenceError",
    "ConvergenceWarning",
    "Decomposition",
    "Foreground",
    "FormatError",
    "Frame",
    "InnerRecord",
    "InputError",
    "Matches",
    "MeADMM",
    "Method",
    "Occluder",
    "OuterRecord",
    "OutputSettings",
    "Plate",
    "Points",
    "RankfoldError",
    "Restoration",
    "RobustPCA",
    "RouteRecord",
    "Stack",
    "Status",
    "Trace",
    "WriteError",
    "__version__",
    "align",
    "align_many",
    "decompose",
    "estimate_dimension",
    "foreground",
    "load",
    "match",
]
