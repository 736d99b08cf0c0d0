"""The code on the pages about the lab runs; the other pages are run by the tests of rankfold."""

import pytest

import rankfold.cli
import rankfold_lab.cli
from pages import PAGES, ROOT, is_of_the_lab, run_code

APPS = {"rankfold": rankfold.cli.app, "rankfold-lab": rankfold_lab.cli.app}
OURS = [page for page in PAGES if is_of_the_lab(page)]


@pytest.mark.parametrize("page", OURS, ids=lambda page: page.name)
def test_code_runs(page, tmp_path, monkeypatch):
    """In an empty folder, without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKFOLD_DATA", raising=False)
    run_code(page, APPS)


def test_there_is_one():
    assert ROOT / "docs" / "lab.md" in OURS
