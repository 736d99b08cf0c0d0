"""Print the lowest version of everything that rankfold may be installed with, as pip's constraints.

python tools/lowest.py > build/lowest.txt
pip install -c build/lowest.txt ".[dev]"
"""

from __future__ import annotations

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (ROOT / "pyproject.toml", ROOT / "lab" / "pyproject.toml")
# A name, extras, and the lowest version: "mkdocstrings[python]>=1.0".
REQUIREMENT = re.compile(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)")


def lowest() -> dict[str, str]:
    """The lowest version by the name of what is required, of all extras."""
    found = {}
    for project in PROJECTS:
        facts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        extras = facts.get("optional-dependencies", {}).values()
        for one in chain(facts["dependencies"], *extras):
            match = REQUIREMENT.fullmatch(one)
            if match:
                found[match[1]] = match[3]
    return found


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(lowest().items()))
