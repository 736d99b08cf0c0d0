"""Remedies in Python become flags; everything else stays as it was."""

import pytest

from rankfold.cli import app
from rankfold.cli.wording import at_a_terminal, flags_of

FLAGS = {
    "overwrite": "--overwrite",
    "frame": "--frame",
    "frames": "--frames",
    "key": "--key",
    "select": "--select",
    "format": "--format",
    "rescue": "--rescue",
    "neighbors": "--neighbors",
}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("or replace it with overwrite=True", "or replace it with --overwrite"),
        ("use frames='0:12'", "use --frames 0:12"),
        ("choose one with key='left', key='right'", "choose one with --key left, --key right"),
        ('as in select=("Z=0",)', "as in --select Z=0"),
        ("as in select=('C=0', 'Z=3').", "as in --select C=0 --select Z=3."),
        ("use format='tiff'; it holds more", "use --format tiff; it holds more"),
        ("frame=(45, 42) is too large", "--frame 45x42 is too large"),
        ("try rescue=False", "try --no-rescue"),
        ("n_neighbors=0 must be at least 1", "--neighbors 0 must be at least 1"),
        ("leave it out with without_bad()", "leave it out with --skip-bad"),
        ("use Source.in_grey()", "use --grey"),
    ],
)
def test_arguments_become_flags(said, shown):
    assert at_a_terminal(said, FLAGS) == shown


@pytest.mark.parametrize(
    "said",
    [
        "frame=3.png is not a picture",
        "photos/key=3/a.png cannot be read",
        "penalty=2 is unknown to this command",
        "--select Z=0 does not fit; it has Z=0..3",
        "nothing of the kind",
    ],
)
def test_everything_else_stays(said):
    assert at_a_terminal(said, FLAGS) == said


def test_the_flags_of_a_command_are_its_long_options():
    import typer

    command = typer.main.get_command(app).commands["align"]
    flags = flags_of(command.params)
    assert flags["out"] == "--out"
    assert flags["skip_bad"] == "--skip-bad"
    assert flags["rescue"] == "--rescue"
    assert "pictures" not in flags
