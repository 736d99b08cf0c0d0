"""The paper's table, figures and claims, run again: experiments declared in ``cases``, a resumable grid, one page."""

from rankfold.experiments.reproduce.grid import Experiment, experiments, run
from rankfold.experiments.reproduce.page import write_pages

__all__ = ["Experiment", "experiments", "run", "write_pages"]
