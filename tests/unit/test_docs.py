"""The code in the documentation runs, and its links lead somewhere."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    for target in re.findall(r"`((?:src|tests|docs)/[\w/.]+\.\w+)`", text):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("name", ["rankfold.align.api", "rankfold.align.decomposition", "rankfold.estimators"])
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 2
    assert outcome.failed == 0


def test_names_in_the_symbol_table_exist():
    rows = re.findall(
        r"^\|.*\| `([\w.]+)` \|", (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) > 15
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    for name in rows:
        assert re.search(rf"\b{name.split('.')[-1]}\b", sources), name
