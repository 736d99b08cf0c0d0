import pytest
from typer.testing import CliRunner

from rankfold import __version__
from rankfold.cli import app

runner = CliRunner()


def test_the_demo_aligns_and_says_what_it_found():
    outcome = runner.invoke(app, ["demo", "--images", "12"])
    assert outcome.exit_code == 0, outcome.output
    for words in ("12 rendered heads", "rasl", "meadmm", "converged"):
        assert words in outcome.output


def test_version():
    assert runner.invoke(app, ["--version"]).output.strip() == f"rankfold {__version__}"


@pytest.mark.parametrize("name", [command.callback.__name__ for command in app.registered_commands])
def test_every_command_has_help_with_an_example(name):
    outcome = runner.invoke(app, [name, "--help"])
    assert outcome.exit_code == 0
    assert f"Example: rankfold {name}" in outcome.output
