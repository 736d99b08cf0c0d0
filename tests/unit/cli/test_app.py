"""What all commands share: help, exit codes, voices, and errors in one sentence."""

import json
import re
import subprocess
import sys

import pytest

import rankfold as rf
from commands import COMMANDS, ROOT, run
from rankfold.cli.app import Terminated, Voice, table_of

DOCUMENTED = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


class TestEveryCommand:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_has_help_with_an_example_and_an_entry_in_the_documentation(self, name):
        outcome = run(name, "--help")
        assert f"Example: rankfold {name}" in outcome.output
        assert len(outcome.output.split("Example:")[0].split("Usage:")[1]) > 60
        assert f"## rankfold {name}\n" in DOCUMENTED

    @pytest.mark.parametrize("name", COMMANDS)
    def test_speaks_json_and_can_be_quiet(self, name):
        outcome = run(name, "--help")
        assert "--json" in outcome.output
        assert "--quiet" in outcome.output

    def test_no_entry_without_a_command(self):
        entries = re.findall(r"^## rankfold (\S+)$", DOCUMENTED, re.MULTILINE)
        assert set(entries) == set(COMMANDS)

    def test_it_is_a_module_too(self):
        words = [sys.executable, "-m", "rankfold", "--version"]
        assert subprocess.check_output(words, text=True).strip() == f"rankfold {rf.__version__}"

    def test_version_and_completion(self):
        assert run("--version").output.strip() == f"rankfold {rf.__version__}"
        assert "--install-completion" in run("--help").output

    def test_the_main_ones_come_first(self):
        listed = re.findall(r"^│ (\w+) ", run("--help").output.split("Commands")[1], re.MULTILINE)
        assert listed[:6] == ["demo", "align", "decompose", "plate", "restore", "mask"]


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code", "words"),
        [
            (rf.InputError("x [exists]; use overwrite=True"), 1, "x [exists]; use --overwrite"),
            (OSError("the disk is gone"), 1, "Error: the disk is gone"),
            (MemoryError(), 1, "not enough memory; use a smaller --frame"),
            (KeyboardInterrupt(), 130, "nothing was written"),
            (Terminated(), 143, "Ended by SIGTERM; nothing was written"),
        ],
    )
    def test_are_one_sentence_and_an_exit_code(self, error, code, words, monkeypatch):
        def failing(*_):
            raise error

        monkeypatch.setattr("rankfold.datasets.write_batch", failing)
        outcome = run("datasets", "textures", "-o", "x", code=code)
        assert words in " ".join(outcome.stderr.split())
        assert "Traceback" not in outcome.output


class TestVoice:
    def test_speaks_to_people(self, capsys):
        Voice().result({"a": 1}, "one")
        Voice().remark("two")
        captured = capsys.readouterr()
        assert captured.out == "one\n"
        assert Voice().silent is False

    def test_speaks_to_programs(self, capsys):
        Voice(json=True).result({"a": 1}, "one")
        Voice(json=True).remark("two")
        captured = capsys.readouterr()
        assert json.loads(captured.out) == {"a": 1}
        assert captured.err == ""

    def test_can_be_quiet(self, capsys):
        Voice(quiet=True).result({"a": 1}, "one")
        Voice(quiet=True).remark("two")
        captured = capsys.readouterr()
        assert captured.out == captured.err == ""


def test_numbers_in_a_table_are_flush_right():
    assert [c.justify for c in table_of("abc", [("1", "2", "3")]).columns] == [
        "left",
        "right",
        "right",
    ]
    assert [c.justify for c in table_of("ab", [("1", "2")]).columns] == ["left", "left"]
