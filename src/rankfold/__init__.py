"""Align misaligned, unevenly lit, partly hidden pictures of one thing."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rankfold.version import __version__

if TYPE_CHECKING:
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
    from rankfold.estimators import RASL, MeADMM, RobustPCA
    from rankfold.families import FAMILIES
    from rankfold.manifold import PROJECTORS, estimate_dimension
    from rankfold.many import align_many
    from rankfold.moving import foreground
    from rankfold.occluders import Occluder
    from rankfold.outputs import Foreground, OutputSettings, Plate, Restoration
    from rankfold.result import Alignment, Decomposition, load
    from rankfold.stack import Frame, Points, Stack
    from rankfold.status import InnerRecord, OuterRecord, RouteRecord, Status, Trace

# Nothing is imported before it is asked for, so that a command listens to Ctrl-C from its first
# moment. For every room, what comes from there.
_HOMES = {
    "rankfold.align": (
        "METHODS",
        "ROUTES",
        "STAGES",
        "AlignSettings",
        "Method",
        "align",
        "decompose",
    ),
    "rankfold.align.matching": ("Matches", "match"),
    "rankfold.errors": (
        "ConvergenceError",
        "ConvergenceWarning",
        "FormatError",
        "InputError",
        "RankfoldError",
        "WriteError",
    ),
    "rankfold.estimators": ("RASL", "MeADMM", "RobustPCA"),
    "rankfold.families": ("FAMILIES",),
    "rankfold.manifold": ("PROJECTORS", "estimate_dimension"),
    "rankfold.many": ("align_many",),
    "rankfold.moving": ("foreground",),
    "rankfold.occluders": ("Occluder",),
    "rankfold.outputs": ("Foreground", "OutputSettings", "Plate", "Restoration"),
    "rankfold.result": ("Alignment", "Decomposition", "load"),
    "rankfold.stack": ("Frame", "Points", "Stack"),
    "rankfold.status": ("InnerRecord", "OuterRecord", "RouteRecord", "Status", "Trace"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("datasets", "io", "metrics", "report", "runs")


def __getattr__(name: str) -> Any:
    """Import what is asked for, and keep it."""
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    elif name in _ROOMS:
        value = import_module(f"rankfold.{name}")
    else:
        raise AttributeError(f"module 'rankfold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What there is, whether it was asked for or not."""
    return sorted({*globals(), *__all__, *_ROOMS})


class _Package(ModuleType):
    """The package, in which ``align`` is the function and not the room of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a value; a room that was imported does not hide the function of its name."""
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process as any module is, by name."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Package

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
