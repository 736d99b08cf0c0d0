"""Algorithm 1: linearise, solve, update, gauge; and the two public entry points."""

from rankfold.align.api import METHODS, align, decompose
from rankfold.align.loop import OuterSettings

__all__ = ["METHODS", "OuterSettings", "align", "decompose"]
