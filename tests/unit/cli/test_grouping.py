"""Groups of options: typer sees the fields, the command gets the group."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from rankfold.cli.grouping import grouped
from rankfold.cli.parsing import repeat_command


@dataclass(frozen=True)
class Reading:
    grey: Annotated[bool, typer.Option("--grey", help="Turn grey.")] = False
    select: Annotated[list[str] | None, typer.Option(help="Some of them.")] = None


@dataclass(frozen=True)
class SlowReading(Reading):
    stride: Annotated[int, typer.Option("--stride", "-s", min=1, help="Every so many.")] = 1


@dataclass(frozen=True)
class Needed:
    out: Annotated[str, typer.Option("-o", "--out", help="Where to.")]


@pytest.fixture
def called():
    """An application of one command, and what the command was called with."""
    app = typer.Typer()
    calls = []

    @app.command()
    @grouped
    def work(
        ctx: typer.Context,
        pictures: Annotated[str, typer.Argument(help="The pictures.")],
        scale: Annotated[float, typer.Option(help="How large.")] = 1.0,
        *,
        needed: Needed,
        reading: SlowReading,
    ) -> None:
        """Do some work.

        Example: work photos
        """
        calls.append((pictures, scale, needed, reading, repeat_command(ctx)))

    def call(*words, code=0):
        outcome = CliRunner().invoke(app, [*words])
        assert outcome.exit_code == code, outcome.output
        return calls[-1] if code == 0 and calls else outcome.output

    return call


def test_the_command_gets_the_groups(called):
    pictures, scale, needed, reading, _ = called("photos", "-o", "x", "--grey", "-s", "3")
    assert (pictures, scale, needed) == ("photos", 1.0, Needed("x"))
    assert reading == SlowReading(grey=True, select=None, stride=3)


def test_defaults_are_those_of_the_fields(called):
    assert called("photos", "--out", "x")[3] == SlowReading()


def test_an_option_may_be_given_several_times(called):
    assert called("photos", "-o", "x", "--select", "C=0", "--select", "Z=3")[3].select == [
        "C=0",
        "Z=3",
    ]


def test_a_field_without_a_default_is_required(called):
    assert "--out" in called("photos", code=2)


def test_checks_of_the_fields_hold(called):
    assert "--stride" in called("photos", "-o", "x", "--stride", "0", code=2)


def test_every_field_is_in_the_help_in_the_order_of_the_command(called):
    text = called("--help")
    if not isinstance(text, str):
        pytest.fail("help must not call the command")
    words = ["Do some work.", "Example: work photos"]
    words += ["--scale", "Where to.", "Turn grey.", "Some of them.", "Every so many."]
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_the_command_can_be_repeated(called):
    repeated = called("photos", "-s", "3", "-o", "x", "--select", "C=0")[4]
    assert repeated == "rankfold work photos --out x --select C=0 --stride 3"


def test_two_options_of_one_name_are_refused():
    def work(reading: Reading, again: SlowReading) -> None:
        """Do some work."""

    with pytest.raises(ValueError, match="duplicate parameter name: 'grey'"):
        grouped(work)
