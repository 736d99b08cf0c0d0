"""The application: what all commands share.

Results go to standard output, everything else to standard error. Exit codes:

- 0: good, or partial with pictures that are only doubtful
- 1: an error, or a defect of rankfold; or a batch that failed as a whole, whose run folder is
  written all the same
- 2: wrong usage
- 3: finished, but some pictures failed, or all of them agree only roughly
- 130: stopped by Ctrl-C
- 143: ended by SIGTERM
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from rankfold.cli.wording import at_a_terminal, flags_of
from rankfold.compiled import CacheWarning, warn_once
from rankfold.errors import ConvergenceWarning, RankfoldError
from rankfold.interruptions import SIGNALS, Terminated
from rankfold.libraries import quiet_libraries
from rankfold.neutral import encodable, plain
from rankfold.process import drop_output
from rankfold.verdicts import listed

# Exit codes besides 0, 2 for wrong usage, which typer gives, and those of an interruption.
FAILED = 1
NOT_ALL_PLACED = 3

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

# Where this is set, a defect is shown with the place in the code where it happened.
TRACEBACK = "RANKFOLD_TRACEBACK"

NO_MEMORY = "there is not enough memory; use a smaller --frame, --reduce, --stride or --float32"


class Errors(Console):
    """Standard error. Where it is full or gone, nothing is said, and the work goes on."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, if that is possible."""
        # A RuntimeError comes where a signal has interrupted another print and is itself talked of.
        with suppress(OSError, RuntimeError):
            super().print(*objects, **options)

    def say(self, text: str, **options: Any) -> None:
        """Print text on one line as it is: a file may be called [a].png, which is no markup."""
        self.print(plain(text), markup=False, highlight=False, soft_wrap=True, **options)

    def on_broken_pipe(self) -> None:
        """Say no more, as nobody reads it."""
        drop_output(self.file)


# Progress bars draw on the second as well, so that a remark does not tear them.
console = Console()
errors = Errors(stderr=True)


class Commands(TyperGroup):
    """A group of commands that turns errors into one sentence and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Put first what most people want."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        # The blocks are inside of the try, because a signal may also come while one begins or ends.
        try:
            with SIGNALS.listening(), quiet_libraries(), _saying_warnings():
                return super().invoke(ctx)
        except (KeyboardInterrupt, Terminated) as error:
            _leave_interrupted(error)
        except Exception as error:
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
                # Typer's own: wrong usage, or the end of a command.
                if hasattr(error, "message"):
                    # It quotes what was typed, in which there may be anything.
                    error.message = plain(str(error.message), keep="\n")
                raise
            if SIGNALS.received is not None:
                # It has interrupted a library, which has made another error of it.
                _leave_interrupted(error)
            self._leave_failed(ctx, error)

    def _leave_failed(self, ctx: Any, error: Exception) -> NoReturn:
        """End a command with one sentence on what went wrong."""
        if isinstance(error, BrokenPipeError):
            # Whoever reads the result has enough of it.
            drop_output(console.file)
        elif isinstance(error, (RankfoldError, OSError)):
            say_error(at_a_terminal(str(error), self._flags(ctx)))
        elif isinstance(error, MemoryError):
            say_error(NO_MEMORY)
        elif os.environ.get(TRACEBACK, "0") != "0":
            raise error
        else:
            say_error(_about_defect(error))
        raise typer.Exit(FAILED) from error

    def _flags(self, ctx: Any) -> dict[str, str]:
        """Name the flags of the command that was called; none if no command was."""
        command = self.commands.get(ctx.invoked_subcommand)
        return {} if command is None else flags_of(command.params)


@contextmanager
def _saying_warnings() -> Iterator[None]:
    """Say our own warnings as sentences."""
    shown = warnings.showwarning

    def say(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        if issubclass(category, CacheWarning):
            errors.say(str(message))
        else:
            shown(message, category, *place, **others)

    with warnings.catch_warnings():
        # The status is part of every result, so that a warning would say it twice.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.showwarning = say
        yield


def _about_defect(error: Exception) -> str:
    """Say that something went wrong which is nobody's mistake but ours."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"{what}; this is a defect of rankfold; please report it with the command and this line; "
        f"{TRACEBACK}=1 shows where it happened"
    )


def _leave_interrupted(error: BaseException) -> NoReturn:
    """End a command that was interrupted, with a sentence on what there is of it."""
    from rankfold.cli.compiling import end_beside

    end_beside()
    kind = SIGNALS.cause_of(error)
    errors.say(f"{kind.words}; {_written(error)}")
    raise typer.Exit(kind.code) from error


def _written(error: BaseException) -> str:
    """What there is of a command that was interrupted."""
    said = " ".join(getattr(error, "__notes__", ()))
    if not said and SIGNALS.written:
        verb = "was" if len(SIGNALS.written) == 1 else "were"
        said = f"{listed(list(SIGNALS.written))} {verb} written."
    return said or "nothing was written."


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

    def __post_init__(self) -> None:
        """Where remarks are unwanted, so are warnings; :class:`Commands` resets that."""
        if self.silent:
            warnings.simplefilter("ignore", CacheWarning)

    @property
    def silent(self) -> bool:
        """Whether remarks are unwanted."""
        return self.json or self.quiet

    def remark(self, text: str) -> None:
        """Say something that is not the result."""
        if not self.silent:
            errors.say(text)

    def result(self, value: Any, shown: Table | str) -> None:
        """Print the result: a value for programs, a table or text for people."""
        if self.json:
            typer.echo(json.dumps(encodable(value), indent=1))
        elif self.quiet:
            return
        elif isinstance(shown, str):
            typer.echo(plain(shown, keep="\n"))
        else:
            console.print(shown)


def say_compiling(voice: Voice) -> None:
    """Say where a run will compile first, also where there is no terminal, and hasten it."""
    from rankfold.cli.compiling import ABOUT, can_be_kept, compile_beside, is_compiled

    if not can_be_kept():
        # Now, because it may be other processes that compile.
        warn_once()
    elif not is_compiled():
        voice.remark(f"compiling once, about {ABOUT} s; `rankfold warmup` does it ahead of time")
        compile_beside()


def say_error(text: str) -> None:
    """Print an error on one line, whatever characters it has."""
    errors.say(f"Error: {text}", style="red")


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
        # As text, in which brackets are no markup.
        table.add_row(*(Text(plain(one, keep="\n")) for one in row))
    return table
