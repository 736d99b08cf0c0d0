"""The demo compares two methods with the truth."""

import json

import rankfold as rf
from commands import run


def test_aligns_compares_and_reports(tmp_path):
    outcome = run("demo", "--images", 12, "-o", tmp_path / "demo")
    for words in ("12 rendered heads", "rasl", "meadmm", "converged", "report.html"):
        assert words in outcome.stdout
    metrics = json.loads((tmp_path / "demo" / "metrics.json").read_text())
    assert metrics["meadmm"]["eyes"] < metrics["before"]["eyes"] / 2
    assert (tmp_path / "demo" / "report.html").stat().st_size > 50_000
    assert rf.load(tmp_path / "demo").method == "meadmm"
