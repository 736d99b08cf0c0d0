"""Measure how dense the code is: the figures by which we compare ourselves with others.

    python tools/measure_style.py src/rankfold lab/src/rankfold_lab

Sizes of files and functions, docstrings and comments for a line of code, width of a line, tuple
assignments, and the complexity (McCabe) of functions, the most complex of them by name.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

# Nodes at which the control flow of a function forks.
FORKS = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.Assert)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Measures:
    """What is counted over all files."""

    files: list[int] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    complexities: list[tuple[int, str]] = field(default_factory=list)
    code: int = 0
    docstrings: int = 0
    comment_lines: int = 0
    comments: int = 0
    assignments: int = 0
    tuples: int = 0


def complexity(node: ast.AST) -> int:
    """McCabe's number of a function: one, and one for every fork; nested functions count apart."""
    total = 1
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, (*DEFINITIONS, ast.Lambda)):
            continue
        if isinstance(child, FORKS):
            total += 1
        if isinstance(child, ast.BoolOp):
            total += len(child.values) - 1
        waiting += ast.iter_child_nodes(child)
    return total


def docstring_lines(node: ast.AST) -> set[int]:
    """Numbers of the lines of a docstring."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
        return set()
    value = body[0].value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    return set()


def is_tuple_assignment(node: ast.Assign) -> bool:
    """Whether several values are assigned to several names in one statement."""
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def measure_tree(tree: ast.AST, name: str, found: Measures) -> set[int]:
    """Count functions and assignments; returns the lines that are docstrings."""
    documented: set[int] = set()
    for node in ast.walk(tree):
        documented |= docstring_lines(node)
        if isinstance(node, DEFINITIONS):
            first = node.body[1] if docstring_lines(node) and len(node.body) > 1 else node.body[0]
            found.bodies.append((node.end_lineno or 0) - first.lineno + 1)
            found.complexities.append((complexity(node), f"{name}:{node.name}"))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            found.assignments += 1
            found.tuples += isinstance(node, ast.Assign) and is_tuple_assignment(node)
    return documented


def measure_file(path: Path, root: Path, found: Measures) -> None:
    """Count one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    documented = measure_tree(ast.parse(text), str(path.relative_to(root)), found)
    found.files.append(len(lines))
    for number, line in enumerate(lines, 1):
        found.widths.append(len(line))
        if not line.strip():
            continue
        if number in documented:
            found.docstrings += 1
        elif line.lstrip().startswith("#"):
            found.comment_lines += 1
        else:
            found.code += 1
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found.comments += sum(token.type == tokenize.COMMENT for token in tokens)


def p90(values: list[int]) -> int:
    """The value that nine tenths do not exceed."""
    return sorted(values)[int(0.9 * (len(values) - 1))]


def report(root: Path) -> str:
    """The measures of a folder as lines of text."""
    found = Measures()
    for path in sorted(root.rglob("*.py")):
        measure_file(path, root, found)
    worst = sorted(found.complexities, reverse=True)[:5]
    numbers = [number for number, _ in found.complexities]
    rows = [
        ("files, lines", f"{len(found.files)}, {sum(found.files)}"),
        ("file median / largest", f"{median(found.files):.0f} / {max(found.files)}"),
        ("function body median / p90", f"{median(found.bodies):.0f} / {p90(found.bodies)}"),
        ("docstring : code", f"{found.docstrings / found.code:.2f}"),
        ("comment lines : code", f"{found.comment_lines / found.code:.2f}"),
        ("comments : code", f"{found.comments / found.code:.2f}"),
        ("line width mean / p90", f"{fmean(found.widths):.0f} / {p90(found.widths)}"),
        ("tuple assignments", f"{found.tuples / found.assignments:.1%}"),
        ("mean complexity", f"{fmean(numbers):.1f}"),
        ("most complex", ", ".join(f"{name} {number}" for number, name in worst)),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        sys.stdout.write(f"{folder}\n{report(Path(folder))}\n\n")
