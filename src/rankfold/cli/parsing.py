"""What the words of a command line mean, and the line that repeats a command."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

PATTERN_SIGNS = "*?["


def one_of(what: str, names: Callable[[], Iterable[str]]) -> Callable[[str | None], str | None]:
    """Make a check for an option that names a row of a table; it offers the nearest names."""

    def check(value: str | None) -> str | None:
        known = list(names())
        if value is None or value in known:
            return value
        near = difflib.get_close_matches(value, known, 2, 0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise typer.BadParameter(f"unknown {what} {value!r}; {hint}choose from {', '.join(known)}")

    return check


def complete(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Make the shell's completion for an option that names a row of a table."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def settings_of(changes: Iterable[str]) -> dict[str, str]:
    """features.smooth=1.0 -> {"features.smooth": "1.0"}."""
    values: dict[str, str] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise typer.BadParameter(
                f"{change!r} does not set anything; write --set NAME=NUMBER, as in "
                "--set features.smooth=1.0"
            )
        values[name.strip()] = value
    return values


def size_of(text: str | None) -> tuple[int, int] | None:
    """Read a size as it is typed: 240x320 is (240, 320), height before width."""
    if text is None:
        return None
    try:
        height, width = (int(part) for part in text.lower().split("x"))
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not a size; write height x width, as in 240x320"
        ) from error
    return height, width


def shown_size(shape: Sequence[int]) -> str:
    """Write a shape (height, width, ...) as --frame takes it: 240x320."""
    return f"{shape[0]}x{shape[1]}"


def run_name(pictures: str) -> Path:
    """Name a folder for a run over these pictures, in the working folder."""
    place = Path(pictures)
    # A file may have a name that looks like a pattern; then it is meant itself.
    is_pattern = any(sign in pictures for sign in PATTERN_SIGNS) and not place.exists()
    if is_pattern:
        place = place.parent
    stem = place.resolve().name.split(".")[0]
    return Path(f"{stem or 'pictures'}-run")


def repeat_command(ctx: typer.Context, **changed: str | None) -> str:
    """Write the command line that gives this result again.

    It has every option that was typed, and those that are ``changed``; None leaves one out.
    """
    arguments: list[str] = []
    options: list[str] = []
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value: Any
        if name in changed:
            value = changed[name]
            if value is None:
                continue
        elif _was_typed(ctx, name):
            value = ctx.params.get(name)
        else:
            continue
        # Arguments go before the options, wherever they were typed.
        if parameter.param_type_name == "argument":
            several = value if isinstance(value, (list, tuple)) else [value]
            arguments += [str(one) for one in several]
        else:
            options += _as_typed(parameter, value)
    return shlex.join(["rankfold", str(ctx.info_name), *arguments, *options])


def _was_typed(ctx: typer.Context, name: str) -> bool:
    """Say whether an option came from the command line."""
    origin = ctx.get_parameter_source(name)
    return origin is not None and origin.name == "COMMANDLINE"


def _as_typed(option: Any, value: Any) -> list[str]:
    """Write one option as words; one that may be given several times gives several."""
    if isinstance(value, bool):
        spellings = option.opts if value else option.secondary_opts
        return [spellings[0]]
    flag = max(option.opts, key=len)
    values = value if isinstance(value, (list, tuple)) else [value]
    return [word for one in values for word in (flag, str(one))]
