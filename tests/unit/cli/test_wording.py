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
    ],
)
def test_arguments_become_flags(said, shown):
    assert at_a_terminal(said, FLAGS) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "a.png is bad; remove it, or skip bad pictures",
            "remove it, or leave it out with --skip-bad",
        ),
        ("convert them, or read all of them in grey", "convert them, or use --grey"),
        ("a.npz has 2 arrays; choose one by its key: a, b", "choose one with --key: a, b"),
        ("frames 3:1 is not a range; write it as 100:300", "--frames 3:1 is not a range"),
        ("frames 9:12 selects nothing of a.mp4", "--frames 9:12 selects nothing"),
        ("a.mp4 is damaged after frame 4 (x); use frames 0:5", "use --frames 0:5"),
        ("a.tif has two axes; fix all but one, as in select Z=0", "as in --select Z=0"),
        ("select Q=1 does not fit a.tif; it has Z=0..3", "--select Q=1 does not fit a.tif"),
        ("stride 0 must be at least 1", "--stride 0 must be at least 1"),
        ("key has no meaning for a video; leave it out", "--key has no meaning for a video"),
        ("a.png cannot hold 5 channels; use the format tiff", "use --format tiff"),
    ],
)
def test_words_of_the_reader_become_flags(said, shown):
    assert shown in at_a_terminal(said, FLAGS)


@pytest.mark.parametrize(
    "said",
    [
        "frame=3.png is not a picture",
        "frames has no pictures; put some there",
        "key does not exist; give a folder",
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


def test_a_file_that_looks_like_an_option_keeps_its_name():
    assert (
        at_a_terminal("frame=01 does not exist", {"frame": "--frame"}) == "frame=01 does not exist"
    )
