"""How a run went, in a few values."""

import json
from pathlib import Path

from rankfold.runs import AlignmentSummary, Summary
from rankfold.status import Status

SHARED = {
    "folder": Path("run"),
    "status": Status.CONVERGED,
    "images": 16,
    "rank": 3,
    "objective": 1.5,
    "seconds": 2.0,
    "remarks": (),
}


def of_alignment(**changed):
    further = {"stop_rule": "objective", "failed": (), "rescued": ("c.png",)}
    return AlignmentSummary(**SHARED, **{**further, "frame": (45, 42), "left_out": ()} | changed)


def test_the_sentence_names_those_that_failed():
    good = of_alignment().sentence
    assert good.startswith("16 of 16 pictures found their place, rank 3; converged")
    assert "failed" not in good
    bad = of_alignment(failed=("a.png", "b.png")).sentence
    assert bad.startswith("14 of 16 pictures found their place")
    assert bad.endswith("\nfailed: a.png, b.png")


def test_of_a_decomposition():
    assert Summary(**SHARED).sentence.startswith("16 pictures, rank 3; converged")


def test_values_are_plain():
    value = json.loads(json.dumps(of_alignment().as_dict()))
    assert value["run"] == "run"
    assert value["status"] == "CONVERGED"
    assert value["frame"] == [45, 42]
    assert value["rescued"] == ["c.png"]


def test_the_report_is_the_place_to_look_if_there_is_one(tmp_path):
    summary = Summary(**{**SHARED, "folder": tmp_path})
    assert summary.place == tmp_path
    (tmp_path / "report.html").touch()
    assert summary.place == tmp_path / "report.html"
