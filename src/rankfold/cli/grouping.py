"""Options that are declared once and belong to several commands.

A group is a frozen dataclass whose fields are annotated as typer wants options to be::

    @dataclass(frozen=True)
    class Reading:
        grey: Annotated[bool, typer.Option("--grey", help="Turn colour into grey.")] = False

A command that is decorated with :func:`grouped` takes the whole group as one argument::

    @app.command()
    @grouped
    def align(pictures: Pictures, reading: Reading) -> None: ...

Typer sees every field as an option of its own, in the order in which they are declared.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

Command = Callable[..., None]


def grouped(command: Command) -> Command:
    """Give typer a command in which every group is replaced by its fields.

    Parameters
    ----------
    command : callable
        Its parameters are options of their own or groups. Two of them must not share a name.

    Returns
    -------
    callable
        It takes the options by name, builds the groups and calls ``command``.
    """
    # With their Annotated, in which typer finds flags, help and checks.
    hints = get_type_hints(command, include_extras=True)
    names = list(inspect.signature(command).parameters)
    groups = {name: hints[name] for name in names if is_dataclass(hints[name])}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _fields_of(groups[parameter.name])
        else:
            parameters.append(_by_name(parameter.name, hints[parameter.name], parameter.default))

    @functools.wraps(command)
    def flat(**values: Any) -> None:
        built = {}
        for name, group in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(group)}
            built[name] = group(**own)
        command(**values, **built)

    # Typer reads both: the signature for names and defaults, the annotations for types.
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat


def _fields_of(group: Any) -> Iterator[inspect.Parameter]:
    """Turn the fields of a group into parameters."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _by_name(field.name, hints[field.name], default)


def _by_name(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Make a parameter that is given by name, so that one with a default may come first."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)
