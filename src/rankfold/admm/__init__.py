"""The one inner solver (Algorithm 2): RPCA, RASL and MeADMM are configurations of it."""

from rankfold.admm.problem import Clone, Problem, Settings, Solution
from rankfold.admm.solver import solve

__all__ = ["Clone", "Problem", "Settings", "Solution", "solve"]
