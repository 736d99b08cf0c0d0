"""The commands, as a script and as ``python -m rankfold``."""

from collections.abc import Callable
from typing import Any

from rankfold.process import run_command_line


def main() -> None:
    """Run the command that was typed."""
    run_command_line(_load, "rankfold")


def _load() -> Callable[..., Any]:
    """Import all commands."""
    from rankfold.cli import app

    return app


if __name__ == "__main__":
    main()
