"""The code in the documentation runs, and its links lead somewhere."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankfold.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_runs(page, tmp_path, monkeypatch):
    """Python blocks and commands, in the order of the page, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    space = {}
    for kind, body in blocks:
        if kind == "python":
            exec(compile(body, page.name, "exec"), space)
        else:
            for line in body.splitlines():
                assert line.startswith("$ rankfold "), line
                if " data/" in line:
                    continue  # on real pictures: tests/recovery/test_real_pictures.py
                outcome = CliRunner().invoke(app, shlex.split(line)[2:])
                assert outcome.exit_code == 0, (line, outcome.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    for target in re.findall(r"`((?:src|tests|docs)/[\w/.]+\.\w+)`", text):
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
