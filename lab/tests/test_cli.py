"""The commands of the lab: what they print, write and answer."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pages import ROOT
from rankfold_lab import __version__
from rankfold_lab.cli import _numbers, app
from rankfold_lab.evaluate import retest
from rankfold_lab.readers import READERS

WORDS = ("--data", ".", "-o", "out")
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
PAGE = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def without_data(monkeypatch):
    monkeypatch.delenv("RANKFOLD_DATA", raising=False)


def run(*words, code=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


class TestEveryCommand:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_has_help_with_an_example_and_an_entry_in_the_documentation(self, name):
        outcome = run(name, "--help")
        assert f"Example: rankfold-lab {name}" in outcome.output
        assert "--json" in outcome.output
        assert "--quiet" in outcome.output
        assert f"## rankfold-lab {name}\n" in PAGE

    def test_no_entry_without_a_command(self):
        assert set(re.findall(r"^## rankfold-lab (\S+)$", PAGE, re.MULTILINE)) == set(COMMANDS)

    @pytest.mark.parametrize("name", ["evaluate", "reproduce", "bench"])
    def test_data_are_named_by_the_environment(self, name):
        assert "RANKFOLD_DATA" in run(name, "--help").output

    def test_it_is_a_module_too_and_tells_its_version(self):
        words = [sys.executable, "-m", "rankfold_lab", "--version"]
        assert subprocess.check_output(words, text=True).strip() == f"rankfold-lab {__version__}"


class TestEvaluate:
    def test_an_unknown_protocol_is_refused(self, tmp_path):
        words = ("--data", tmp_path, "-o", tmp_path / "out", "--protocol", "P9")
        said = run("evaluate", *words, code=1).output
        assert "unknown protocol 'P9'; choose from P1" in said
        assert "retest" in said

    def test_retest_is_a_protocol(self, tmp_path, monkeypatch):
        record = {"protocol": "retest", "mean": 0.25, "above_1": 0.05, "max": 2.5}
        made = [{**record, "set": "USPS 1", "row": row} for row in retest.ROWS]
        monkeypatch.setattr(retest, "run", lambda _, pairs: iter(made * (pairs == 3)))
        words = ("--data", tmp_path, "-o", tmp_path, "--protocol", "retest", "--seeds", 3)
        shown = run("evaluate", *words).stdout
        assert "| USPS 1 | 0.250 (5% > 1 px, max 2.5) |" in shown
        assert (tmp_path / "retest.md").read_text(encoding="utf-8") in shown
        assert json.loads(run("evaluate", *words, "--json").stdout) == made
        assert not (tmp_path / "tables.md").exists()

    def test_subjects(self):
        assert _numbers("1-3,7") == [1, 2, 3, 7]
        assert "like 1-10" in run("evaluate", *WORDS, "--subjects", "a-b", code=2).output


class TestReproduce:
    def test_what_is_wrong_is_said(self, tmp_path):
        said = run("reproduce", "all", "--data", tmp_path / "no", "-o", tmp_path, code=1).output
        assert "is not a folder" in " ".join(said.split())
        said = run("reproduce", "table3", "-o", tmp_path, code=1).output
        assert "unknown experiment 'table3'" in said


def test_data_sets_for_people_and_for_programs():
    rows = json.loads(run("datasets", "--json").stdout)
    assert [row["name"] for row in rows] == list(READERS)
    shown = run("datasets").stdout
    assert all(row["name"] in shown for row in rows)
    assert run("datasets", "--quiet").stdout == ""
