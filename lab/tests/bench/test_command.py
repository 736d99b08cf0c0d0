"""The whole command, small and without data: declared, run, written. No times are asserted."""

import json
import re

import pytest
from typer.testing import CliRunner

from rankfold_lab import bench
from rankfold_lab.cli import app


def run(*words, code=0):
    outcome = CliRunner().invoke(app, ["bench", *(str(word) for word in words)])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """The whole command, small and without data."""
    out = tmp_path_factory.mktemp("bench")
    shown = run("--quick", "-o", out, "--docs", out / "docs").stdout
    return out, shown


class TestCommand:
    def test_every_case_is_in_the_json_and_on_the_page(self, trial):
        out, shown = trial
        records = json.loads((out / "bench.json").read_text(encoding="utf-8"))
        assert list(records) == list(bench.CASES)
        assert all(
            record["rows"] and record["machine"]["cores"] and record["when"]
            for record in records.values()
        )
        text = (out / "docs" / "performance.md").read_text(encoding="utf-8")
        assert text == (out / "performance.md").read_text(encoding="utf-8")
        assert "says nothing about speed" in text
        for title in (
            "## Bars",
            "## Robust PCA",
            "## RASL",
            "## Growth",
            "## Start",
            "## Measured on",
        ):
            assert f"\n{title}\n" in text
        for target in re.findall(r"\]\((.+?)\)", text):
            assert (out / "docs" / target).stat().st_size > 1000
        assert all(title in shown for title in ("Robust PCA", "RASL", "Growth", "Start", "Bars"))

    def test_shares_of_the_profile_add_up(self, trial):
        rows = json.loads((trial[0] / "bench.json").read_text(encoding="utf-8"))["profile"]["rows"]
        for row in rows:
            assert sum(row["shares"].values()) == pytest.approx(1)
            assert min(row["shares"].values()) > 0

    def test_a_case_is_replaced_and_the_others_are_kept(self, trial):
        out, _ = trial
        before = json.loads((out / "bench.json").read_text(encoding="utf-8"))
        records = json.loads(run("profile", "--quick", "--json", "-o", out).stdout)
        assert records.keys() == before.keys()
        assert records["start"] == before["start"]
        assert records["profile"]["rows"] != before["profile"]["rows"]

    def test_what_is_wrong_is_said(self, trial, tmp_path, monkeypatch):
        monkeypatch.delenv("RANKFOLD_DATA", raising=False)
        assert "choose from rpca, rasl, defaults" in run("rpac", "-o", tmp_path, code=1).output
        said = run("rasl", "-o", tmp_path, code=1).output
        assert "--data" in said
        assert "RANKFOLD_DATA" in said
        assert "not a folder" in run("--data", tmp_path / "no", "-o", tmp_path, code=1).output
        assert "--quick" in run("start", "-o", trial[0], code=1).output
        empty = run(
            "rpca", "--data", tmp_path, "-o", tmp_path / "out", "--repeats", 1, code=1
        ).output
        assert "demo.avi is missing" in " ".join(empty.split())
        assert list(tmp_path.iterdir()) == []
        python = tmp_path / "python"
        assert (
            "--peers"
            in run("rpca", "--data", tmp_path, "-o", tmp_path, "--peers", python, code=1).output
        )
