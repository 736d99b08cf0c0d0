"""The one inner solver (Algorithm 2): RPCA, RASL and MeADMM are configurations of it."""

from rankfold.admm.problem import (
    Clone,
    Problem,
    Settings,
    Solution,
    Solver,
    default_sparsity,
    weights_of,
)
from rankfold.admm.schedules import SCHEDULES, Penalty, Schedule, Steps, get_schedule
from rankfold.admm.solver import solve

__all__ = [
    "SCHEDULES",
    "Clone",
    "Penalty",
    "Problem",
    "Schedule",
    "Settings",
    "Solution",
    "Solver",
    "Steps",
    "default_sparsity",
    "get_schedule",
    "solve",
    "weights_of",
]
