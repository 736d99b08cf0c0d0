"""One HTML file that shows what happened to every picture.

``content.py`` lists what is shown, ``data.py`` collects it with the small pictures of
``pictures.py``, ``figures.py`` draws the plots, and ``page.py`` puts all into the file.
``sheet.py`` writes a contact sheet instead, ``overview.py`` one page of many runs.
"""

from rankfold.report.overview import write_overview
from rankfold.report.page import write_report
from rankfold.report.sheet import write_sheet

__all__ = ["write_overview", "write_report", "write_sheet"]
