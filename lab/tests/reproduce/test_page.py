"""The page in the documentation is what the command gives."""

import re

from pages import ROOT
from rankfold_lab.reproduce import experiments
from rankfold_lab.reproduce.grid import run_cell
from rankfold_lab.reproduce.tables import table
from real_data import DATA, needs

DOCS = ROOT / "docs"


@needs("ar", "usps")
def test_the_page_in_the_documentation_is_what_the_command_gives(tmp_path):
    """One quick cell of two experiments, run again, to the last printed digit."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    (tmp_path / "pictures").mkdir()
    for name, cell in (
        ("ar", {"person": 4, "sparsity": 0.5, "method": "meadmm"}),
        ("usps", {"change": "euclidean", "digit": 1, "method": "rasl"}),
    ):
        experiment = experiments([name])[0]
        values = run_cell(experiment, cell, str(DATA), str(tmp_path))
        row = table(name, [{**cell, **values}])[1][0]
        assert "| " + " | ".join(row) + " |" in page
    for picture in re.findall(r"\]\((reproduction/[^)]+)\)", page):
        assert (DOCS / picture).stat().st_size < 200_000
