"""The paper's table, figures and claims, run again: declared cases, a resumable grid, one page."""

from rankfold_lab.reproduce.grid import Experiment, experiments, run
from rankfold_lab.reproduce.page import STANDIN_NOTE, copy_to_docs, markdown, write_pages

__all__ = [
    "STANDIN_NOTE",
    "Experiment",
    "copy_to_docs",
    "experiments",
    "markdown",
    "run",
    "write_pages",
]
