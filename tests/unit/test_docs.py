"""The code in the documentation runs, and its links lead somewhere."""

import doctest
import importlib
import re
import subprocess
import sys

import griffe
import pytest

from pages import PAGES, ROOT, is_of_the_lab, run_code
from rankfold.cli import app

API = ROOT / "docs" / "api"
# What is public: the names in ``__all__`` of these modules.
PUBLIC = [
    "rankfold",
    "rankfold.align",
    "rankfold.admm",
    "rankfold.manifold",
    "rankfold.metrics",
    "rankfold.datasets",
    "rankfold.io",
    "rankfold.runs",
    "rankfold.report",
]


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
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
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


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site; a warning is an error."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    outcome = subprocess.run(
        [*words, "--site-dir", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    return folder


def test_every_page_is_on_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        place = site / page.relative_to(ROOT / "docs").with_suffix("")
        folder = place.parent if page.name == "index.md" else place
        assert (folder / "index.html").is_file(), page


def test_the_reference_lists_the_public_modules():
    text = (API / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`([\w.]+)`\]", text, re.MULTILINE) == PUBLIC


@pytest.fixture(scope="module")
def package():
    """The package, as a reader of its source sees it."""
    loader = griffe.GriffeLoader(search_paths=[ROOT / "src"])
    loader.load("rankfold")
    loader.resolve_aliases()
    return loader.modules_collection


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_have_docstrings(module, package):
    names = importlib.import_module(module).__all__
    assert len(set(names)) == len(names)
    # The last three are imported when they are asked for, which a reader cannot see.
    rooms = [module, "rankfold.estimators", "rankfold.many.api", "rankfold.moving.api"]
    for name in names:
        found = [package[room].members[name] for room in rooms if name in package[room].members]
        described = found[0]
        assert described.docstring is not None, name
        assert described.docstring.value.strip(), name


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_every_public_name(module, site):
    page = module.removeprefix("rankfold.")
    text = (API / f"{page}.md").read_text(encoding="utf-8")
    drawn = (site / "api" / page / "index.html").read_text(encoding="utf-8")
    for name in importlib.import_module(module).__all__:
        described = re.search(rf"^::: rankfold[\w.]*\.{name}$", text, re.MULTILINE)
        linked = f"[`{name}`](" in text
        assert described or linked, name
        if described:
            assert f'id="{described[0].removeprefix("::: ")}"' in drawn, name


def test_names_in_the_symbol_table_exist():
    rows = re.findall(
        r"^\|.*\| `([\w.]+)` \|",
        (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) > 15
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    for name in rows:
        for word in name.split("."):
            assert re.search(rf"\b{word}\b", sources), name
