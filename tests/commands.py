"""Commands of rankfold, called from tests."""

from pathlib import Path

from typer.testing import CliRunner

from rankfold.cli import app

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]

# An alignment of small pictures in a fraction of a second.
QUICK = ["-m", "rasl", "--max-outer", "2", "--jobs", "1"]
RESULT_ONLY = ["--no-report", "--no-pictures"]


def run(*words, code=0):
    """Run a command and check its exit code."""
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


def usage_error(*words):
    """Run a command that is used wrongly; return what it says, without the box around it."""
    return " ".join(run(*words, code=2).output.replace("│", " ").split())


def write_views(place, images=6):
    """Write pictures of textured views into the folder ``place``."""
    run("datasets", "textures", "-o", place, "--images", images)


def finished_run(place):
    """Align eight views; ``place`` gets the folders ``views`` and ``run``."""
    write_views(place / "views", 8)
    run("align", place / "views", "-o", place / "run", "--frame", "40x40", *QUICK)
    return place


def work_in(place, monkeypatch):
    """Change to a folder with six views in ``views``."""
    monkeypatch.chdir(place)
    write_views("views")
    return place
