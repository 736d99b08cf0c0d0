"""The commands, as a script and as ``python -m rankfold_lab``."""

from collections.abc import Callable
from typing import Any

from rankfold.process import run_command_line


def main() -> None:
    """Run the command that was typed."""
    run_command_line(_load, "rankfold-lab")


def _load() -> Callable[..., Any]:
    """Import all commands."""
    from rankfold_lab.cli import app

    return app


if __name__ == "__main__":
    main()
