"""One HTML file that shows what happened to every picture: data -> figures -> page."""

from rankfold.report.page import write_report

__all__ = ["write_report"]
