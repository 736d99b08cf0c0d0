"""How a run went, in a few values."""

import json
from pathlib import Path

from rankfold.runs import AlignmentSummary, Summary
from rankfold.runs.starts import Start
from rankfold.status import Status

SHARED = {
    "folder": Path("run"),
    "status": Status.CONVERGED,
    "images": 16,
    "rank": 3,
    "objective": 1.5,
    "gap": 8e-5,
    "occluders": (),
    "seconds": 2.0,
    "remarks": (),
}


OF_ALIGNMENT = {
    "stop_rule": "objective",
    "verdict": "good",
    "outcome": "16 of 16 pictures found their place.",
    "failed": (),
    "doubtful": (),
    "rescued": ("c.png",),
    "lost": {"a.png": 0.01, "b.png": 0.99},
    "starts": (),
    "advice": "",
    "frame": (45, 42),
    "left_out": (),
}
KEPT = Start("match", "by matching keypoints", 0.95, 3.5, True)


FOUND = {"pictures": ["a.png", "b.png"], "place": "lower", "sentence": "2 of 16 have a scarf."}


def of_alignment(**changed):
    return AlignmentSummary(**{**SHARED, **OF_ALIGNMENT, **changed})


def test_the_sentence_is_the_outcome_and_how_it_ended():
    assert of_alignment().sentence == (
        "16 of 16 pictures found their place. Rank 3; converged: the stop rule was met (objective)."
    )


def test_the_start_and_the_advice_have_a_line_each_where_there_is_something_to_say():
    lines = of_alignment(starts=(KEPT,), advice="look at them").sentence.splitlines()
    assert len(lines) == 3
    assert lines[1] == "Start: by matching keypoints (95 % of the pictures confirmed)."
    assert lines[2] == "What may help: look at them."
    assert of_alignment(starts=(KEPT,)).sentence.splitlines() == lines[:2]
    assert of_alignment(advice="look at them").sentence.splitlines() == [lines[0], lines[2]]


def test_what_was_taken_out_has_a_line_each_between_the_outcome_and_the_start():
    glasses = {**FOUND, "place": "middle", "sentence": "5 of 16 have glasses."}
    summary = of_alignment(occluders=(glasses, FOUND), starts=(KEPT,), advice="look at them")
    lines = summary.sentence.splitlines()
    assert lines[1:3] == ["5 of 16 have glasses.", "2 of 16 have a scarf."]
    plain = of_alignment(starts=(KEPT,), advice="look at them")
    assert [lines[0], *lines[3:]] == plain.sentence.splitlines()


def test_of_a_decomposition():
    assert Summary(**SHARED).sentence.startswith("16 pictures, rank 3; converged")
    assert len(Summary(**SHARED).sentence.splitlines()) == 1
    found = Summary(**{**SHARED, "occluders": (FOUND,)})
    assert found.sentence.splitlines()[1:] == ["2 of 16 have a scarf."]


def test_values_are_plain():
    summary = of_alignment(
        starts=(KEPT,), verdict="partial", failed=("b.png",), doubtful=("c.png",), advice="look"
    )
    value = json.loads(json.dumps(summary.as_dict(), allow_nan=False))
    assert value["run"] == "run"
    assert value["status"] == "CONVERGED"
    assert value["gap"] == 8e-5
    assert Summary(**{**SHARED, "gap": None}).as_dict()["gap"] is None
    assert value["frame"] == [45, 42]
    assert value["rescued"] == ["c.png"]
    assert value["verdict"] == "partial"
    assert value["outcome"] == OF_ALIGNMENT["outcome"]
    assert value["failed"] == ["b.png"]
    assert value["doubtful"] == ["c.png"]
    assert value["lost"] == {"a.png": 0.01, "b.png": 0.99}
    assert value["routes"] == [KEPT.as_dict()]
    assert value["advice"] == "look"
    assert value["occluders"] == []
    found = of_alignment(occluders=(FOUND,))
    assert json.loads(json.dumps(found.as_dict()))["occluders"] == [FOUND]


def test_the_report_is_the_place_to_look_if_there_is_one(tmp_path):
    summary = Summary(**{**SHARED, "folder": tmp_path})
    assert summary.place == tmp_path
    (tmp_path / "report.html").touch()
    assert summary.place == tmp_path / "report.html"
