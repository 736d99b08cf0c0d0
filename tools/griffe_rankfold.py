"""What the API reference needs besides docstrings: an extension of Griffe, which mkdocs.yml names.

- The fields of dataclasses are explained by comments, beside a field or above it. Here they become
  the section "Attributes" of the docstring of their class.
- Griffe takes the first of ``{"a", "b"}`` for the default of a parameter. Here the default is that
  of the signature.
- Sphinx roles are taken out of docstrings: :func:`rankfold.align` becomes `rankfold.align`.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from griffe import Docstring, DocstringSectionKind, Extension

ROLE = re.compile(r":(?:func|class|meth|mod):`~?([^`]+)`")
HAS_FIELDS = re.compile(r"^(Attributes|Parameters)\n-+$", re.MULTILINE)


class WithDefaults(Docstring):
    """A docstring whose parameters have the defaults of the signature."""

    def parse(self, *arguments: Any, **options: Any) -> Any:
        """Parse it and correct the defaults."""
        sections = super().parse(*arguments, **options)
        parameters = getattr(self.parent, "parameters", ())
        for section in sections:
            if section.kind is not DocstringSectionKind.parameters:
                continue
            for one in section.value:
                if one.name in parameters:
                    one.value = parameters[one.name].default
        return sections


class ForRankfold(Extension):
    """Prepares the docstrings of the package for the reference."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Go through everything once all is loaded."""
        for obj in objects(pkg):
            if obj.is_class and "dataclass" in obj.labels:
                describe_fields(obj)
            if obj.docstring is not None:
                obj.docstring = corrected(obj.docstring)
        for obj in objects(pkg):
            if obj.is_class and "dataclass" in obj.labels:
                hide_fields(obj)


def corrected(docstring: Docstring) -> WithDefaults:
    """The same docstring without roles and with the right defaults."""
    return WithDefaults(
        ROLE.sub(r"`\1`", docstring.value),
        lineno=docstring.lineno,
        endlineno=docstring.endlineno,
        parent=docstring.parent,
        parser=docstring.parser,
        parser_options=docstring.parser_options,
    )


def objects(parent: Any) -> Iterator[Any]:
    """Every object of a package that is defined in it, not imported."""
    for member in list(parent.members.values()):
        if not member.is_alias:
            yield member
            yield from objects(member)


def own_fields(cls: Any) -> list[Any]:
    """The fields that a dataclass adds, in order; properties are none."""
    found = [one for one in cls.members.values() if not one.is_alias and one.is_attribute]
    return [one for one in found if "property" not in one.labels and one.annotation is not None]


def describe_fields(cls: Any) -> None:
    """Append a section with all fields, unless the docstring has one."""
    if cls.docstring is None or HAS_FIELDS.search(cls.docstring.value):
        return
    # The fields of the class furthest up come first, as in the signature.
    family = [one for one in reversed(cls.mro()) if "dataclass" in one.labels]
    fields = {field.name: field for one in [*family, cls] for field in own_fields(one)}
    if not fields:
        return
    lines = ["", "", "Attributes", "----------"]
    for field in fields.values():
        lines += [f"{field.name} : {field.annotation}", f"    {comment_of(field)}"]
    cls.docstring.value += "\n".join(lines)


def hide_fields(cls: Any) -> None:
    """Leave the description of fields to their section."""
    for field in own_fields(cls):
        del cls.members[field.name]


def comment_of(field: Any) -> str:
    """The comment beside a field, else the one above it."""
    beside, alone = comments(field.filepath)
    text = beside.get(field.endlineno) or above(field.lineno, alone)
    # A comment that begins with a letter of the mathematics, such as λ, keeps it small.
    return text if not text[1:2].isalpha() else text[0].upper() + text[1:]


def above(line: int, alone: dict[int, str]) -> str:
    """The comment that ends on the line before; empty if there is none."""
    lines: list[str] = []
    while line - 1 in alone:
        line -= 1
        lines.insert(0, alone[line])
    return " ".join(lines)


@cache
def comments(path: Path) -> tuple[dict[int, str], dict[int, str]]:
    """The comments of a file by their line: those beside code, and those on lines of their own."""
    beside: dict[int, str] = {}
    alone: dict[int, str] = {}
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                is_alone = token.line.strip().startswith("#")
                text = token.string.lstrip("#").strip()
                (alone if is_alone else beside)[token.start[0]] = text
    return beside, alone
