"""The pages that are made from tables of the code are what the tables say."""

import runpy

import pytest

from pages import ROOT

MADE = runpy.run_path(str(ROOT / "tools" / "pages_from_tables.py"))["PAGES"]


@pytest.mark.parametrize("name", MADE)
def test_the_page_is_up_to_date(name):
    page = ROOT / "docs" / name
    hint = "run python tools/pages_from_tables.py"
    assert page.read_text(encoding="utf-8") == MADE[name](), hint
