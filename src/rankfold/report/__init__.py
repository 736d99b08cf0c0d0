"""One HTML file that shows what happened to every picture: data -> figures -> page."""

from rankfold.report.page import write_report
from rankfold.report.sheet import write_sheet

__all__ = ["write_report", "write_sheet"]
