"""The application: what all commands share.

Results go to standard output, everything else to standard error. Exit codes:

- 0: good, or partial with pictures that are only doubtful
- 1: an error, or a batch that failed as a whole; its run folder is written all the same
- 2: wrong usage
- 3: finished, but some pictures failed, or all of them agree only roughly
- 130: stopped by Ctrl-C
- 143: ended by SIGTERM
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from rankfold.cli.wording import at_a_terminal, flags_of
from rankfold.errors import ConvergenceWarning, RankfoldError

# Exit codes besides 0, and 2 for wrong usage, which typer gives.
FAILED = 1
NOT_ALL_PLACED = 3
STOPPED = 130
TERMINATED = 143

# These commands come first in the list, in this order; the others as they were added.
ORDER = (
    "demo",
    "align",
    "align-many",
    "decompose",
    "plate",
    "restore",
    "mask",
    "apply",
    "report",
    "export",
)

NO_MEMORY = "there is not enough memory; use a smaller --frame, --reduce, --stride or --float32"

# Progress bars draw on the second as well, so that a remark does not tear them.
console = Console()
errors = Console(stderr=True)


class Terminated(BaseException):
    """SIGTERM was sent to this process."""


class Commands(TyperGroup):
    """A group of commands that turns errors into one sentence and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Put first what most people want."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with warnings.catch_warnings():
                # The status is part of every result, so that a warning would say it twice.
                warnings.simplefilter("ignore", ConvergenceWarning)
                return super().invoke(ctx)
        except (RankfoldError, OSError) as error:
            say_error(at_a_terminal(str(error), self._flags(ctx)))
            raise typer.Exit(FAILED) from error
        except MemoryError as error:
            say_error(NO_MEMORY)
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            say_interrupted("Stopped; nothing was written.")
            raise typer.Exit(STOPPED) from error
        except Terminated as error:
            say_interrupted("Ended by SIGTERM; nothing was written.")
            raise typer.Exit(TERMINATED) from error

    def _flags(self, ctx: Any) -> dict[str, str]:
        """Name the flags of the command that was called; none if no command was."""
        command = self.commands.get(ctx.invoked_subcommand)
        return {} if command is None else flags_of(command.params)


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

    json: Json = False
    quiet: Quiet = False

    @property
    def silent(self) -> bool:
        """Whether remarks are unwanted."""
        return self.json or self.quiet

    def remark(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.silent:
            errors.print(text, markup=False, highlight=False, soft_wrap=True)

    def result(self, value: Any, shown: Table | str) -> None:
        """Print the result: a value for programs, a table or text for people."""
        if self.json:
            typer.echo(json.dumps(value, indent=1))
        elif self.quiet:
            return
        elif isinstance(shown, str):
            typer.echo(shown)
        else:
            console.print(shown)


def say_compiling(voice: Voice) -> None:
    """Say where a run will compile first, also where there is no terminal, and hasten it."""
    from rankfold.cli.compiling import ABOUT, compile_beside, is_compiled

    if not is_compiled():
        voice.remark(f"compiling once, about {ABOUT} s; `rankfold warmup` does it ahead of time")
        compile_beside()


def say_interrupted(text: str) -> None:
    """Print what is left of a command that was interrupted."""
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def say_error(text: str) -> None:
    """Print an error on one line, whatever characters it has."""
    # A file may be called [a].png, which rich would take for markup.
    errors.print(f"Error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def table_of(
    headings: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None
) -> Table:
    """Make a table of text; of three columns or more, all but the first are flush right."""
    heads = list(headings)
    table = Table(title=title)
    for k, heading in enumerate(heads):
        is_number = k > 0 and len(heads) > 2
        table.add_column(heading, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*row)
    return table
