"""The code in the documentation runs, and its links lead somewhere."""

import doctest
import importlib
import re
import subprocess
import sys

import pytest

from pages import PAGES, ROOT, is_of_the_lab, run_code
from rankfold.cli import app


def page_name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [p for p in PAGES if not is_of_the_lab(p)], ids=page_name)
def test_code_runs(page, tmp_path, monkeypatch):
    """In an empty folder. Pages about the lab run in lab/tests/test_docs.py."""
    monkeypatch.chdir(tmp_path)
    run_code(page, {"rankfold": app})


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    for target in re.findall(r"`((?:src|tests|docs|lab)/[\w/.]+\.\w+)`", text):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(
    "name", ["rankfold.align.api", "rankfold.align.decomposition", "rankfold.estimators"]
)
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 2
    assert outcome.failed == 0


def test_the_site_builds_without_a_warning(tmp_path):
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    outcome = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    pages = {
        p.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for p in (ROOT / "docs").rglob("*.md")
    }
    assert all(
        (tmp_path / "site" / ("" if page == "index" else page) / "index.html").is_file()
        for page in pages
    )


def test_names_in_the_symbol_table_exist():
    rows = re.findall(
        r"^\|.*\| `([\w.]+)` \|",
        (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) > 15
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    for name in rows:
        assert re.search(rf"\b{name.split('.')[-1]}\b", sources), name
