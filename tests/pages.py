"""The pages of the documentation, and how the code on them is run."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "lab" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page):
    """The kind and the text of every block of code."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def is_of_the_lab(page):
    """Whether code on a page needs rankfold-lab; then the lab's tests run it."""
    return any("rankfold-lab" in body or "rankfold_lab" in body for _, body in blocks(page))


def run_code(page, apps):
    """Run python blocks and commands in the order of the page; ``apps`` has the programs."""
    space = {}
    for kind, body in blocks(page):
        if kind == "python":
            exec(compile(body, page.name, "exec"), space)
            continue
        for line in body.splitlines():
            prompt, program, *words = shlex.split(line)
            assert prompt == "$", line
            assert program in apps, line
            if " data/" in line:
                continue  # on real pictures: tests/recovery/test_real_pictures.py
            outcome = CliRunner().invoke(apps[program], words)
            assert outcome.exit_code == 0, (line, outcome.output)
