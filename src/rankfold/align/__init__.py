"""Algorithm 1: linearise, solve, update, gauge; its stages; and the two public entry points."""

from rankfold.align.api import align
from rankfold.align.checkpoints import Checkpoint
from rankfold.align.decomposition import decompose
from rankfold.align.methods import METHODS, Method
from rankfold.align.routes import ROUTES, Route
from rankfold.align.settings import AlignSettings
from rankfold.align.stages import STAGES, Stage
from rankfold.tuned import setting_rows

__all__ = [
    "METHODS",
    "ROUTES",
    "STAGES",
    "AlignSettings",
    "Checkpoint",
    "Method",
    "Route",
    "Stage",
    "align",
    "decompose",
    "setting_rows",
]
