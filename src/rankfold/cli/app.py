"""The application: what all commands share. Results go to standard output, everything else to standard error.

Exit codes: 0 good, 1 failed, 2 wrong usage, 3 finished but some pictures failed, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import difflib
import json
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from rankfold.errors import ConvergenceWarning, RankfoldError

SOME_FAILED = 3
STOPPED = 130

console = Console()
errors = Console(stderr=True)


ORDER = (
    "demo",
    "align",
    "decompose",
    "apply",
    "report",
    "export",
)  # first in the list; then as they were added


class Commands(TyperGroup):
    """Turns errors into one sentence and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """What most people want comes first."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", ConvergenceWarning
                )  # the status is part of every result
                return super().invoke(ctx)
        except RankfoldError as error:
            errors.print(
                f"Error: {error}", style="red", markup=False, highlight=False, soft_wrap=True
            )
            raise typer.Exit(1) from error
        except MemoryError as error:
            errors.print(
                "Error: there is not enough memory; use a smaller --frame, --reduce, --stride or --float32"
            )
            raise typer.Exit(1) from error
        except OSError as error:
            errors.print(
                f"Error: {error}", style="red", markup=False, highlight=False, soft_wrap=True
            )
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            errors.print("Stopped; nothing was written.")
            raise typer.Exit(STOPPED) from error


app = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode="rich")


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", is_eager=True)
    ] = False,
) -> None:
    """Align misaligned, unevenly lit, partly hidden pictures of one thing."""
    if version:
        from rankfold import __version__

        typer.echo(f"rankfold {__version__}")
        raise typer.Exit


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


@dataclass(frozen=True)
class Voice:
    """How a command speaks: tables and sentences for people, JSON for programs, or nothing."""

    json: bool = False
    quiet: bool = False

    @property
    def silent(self) -> bool:
        """Whether remarks are unwanted."""
        return self.json or self.quiet

    def remark(self, text: str) -> None:
        """Something that is not the result."""
        if not self.silent:
            errors.print(text, markup=False, highlight=False, soft_wrap=True)

    def result(self, value: Any, shown: Table | str) -> None:
        """The result: a value for programs, a table or text for people."""
        if self.json:
            typer.echo(json.dumps(value, indent=1))
        elif not self.quiet:
            if isinstance(shown, str):
                typer.echo(shown)
            else:
                console.print(shown)


def table_of(
    headings: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None
) -> Table:
    """Text columns; all but the first to the right where there are more than two."""
    heads = list(headings)
    table = Table(title=title)
    for k, heading in enumerate(heads):
        table.add_column(heading, justify="right" if k and len(heads) > 2 else "left")
    for row in rows:
        table.add_row(*row)
    return table


def one_of(what: str, names: Callable[[], Iterable[str]]) -> Callable[[str | None], str | None]:
    """A check for an option that names a row of a table; offers the nearest names."""

    def check(value: str | None) -> str | None:
        known = list(names())
        if value is None or value in known:
            return value
        near = difflib.get_close_matches(value, known, 2, 0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise typer.BadParameter(f"unknown {what} {value!r}; {hint}choose from {', '.join(known)}")

    return check


def complete(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion for such an option."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def repeat_command(ctx: typer.Context, **changed: str) -> str:
    """The command line that gives this result again: everything that was not left at its default, or is ``changed``."""
    words, places = ["rankfold", str(ctx.info_name)], []
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = ctx.params.get(name)
        given = ctx.get_parameter_source(name)
        if name in changed:
            value = changed[name]
        elif given is None or given.name != "COMMANDLINE":
            continue
        if parameter.param_type_name == "argument":
            places.append(str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [max(parameter.opts, key=len), str(one)]
    return shlex.join([*words[:2], *places, *words[2:]])


def size_of(text: str | None) -> tuple[int, int] | None:
    """240x320 -> (240, 320)."""
    if text is None:
        return None
    try:
        height, width = (int(part) for part in text.lower().split("x"))
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not a size; write height x width, as in 240x320"
        ) from error
    return height, width


def run_name(pictures: str) -> Path:
    """A folder for a run over these pictures, in the working folder."""
    place = Path(pictures)
    if any(sign in pictures for sign in "*?[") and not place.exists():
        place = place.parent
    stem = place.resolve().name.split(".")[0]
    return Path(f"{stem or 'pictures'}-run")


def check_apart(pictures: str, target: Path) -> None:
    """Refuse to write a folder over the pictures it is made from."""
    place, written = Path(pictures).resolve(), target.resolve()
    if written == place or written in place.parents:
        raise typer.BadParameter(f"{target} holds the pictures {pictures}; write to another folder")


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not given."""
    return {name: one for name, one in value.items() if one is not None}
