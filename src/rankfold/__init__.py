"""Align misaligned, unevenly lit, partly hidden pictures of one thing: transforms, clean pictures, error maps."""

from rankfold.align import METHODS, align, decompose
from rankfold.errors import ConvergenceError, ConvergenceWarning, FormatError, InputError, RankfoldError
from rankfold.families import FAMILIES
from rankfold.result import Alignment, Decomposition, load
from rankfold.stack import Frame, Points, Stack
from rankfold.status import InnerRecord, OuterRecord, Status, Trace

__version__ = "0.1.0"

__all__ = [
    "FAMILIES",
    "METHODS",
    "Alignment",
    "ConvergenceError",
    "ConvergenceWarning",
    "Decomposition",
    "FormatError",
    "Frame",
    "InnerRecord",
    "InputError",
    "OuterRecord",
    "Points",
    "RankfoldError",
    "Stack",
    "Status",
    "Trace",
    "align",
    "decompose",
    "load",
]
