"""Algorithm 1: linearise, solve, update, gauge; its stages; and the two public entry points."""

from rankfold.align.api import align
from rankfold.align.decomposition import decompose
from rankfold.align.loop import OuterSettings
from rankfold.align.methods import METHODS

__all__ = ["METHODS", "OuterSettings", "align", "decompose"]
