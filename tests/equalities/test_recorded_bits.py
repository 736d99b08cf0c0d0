"""Results have the bits that were recorded, where the machine is of the same kind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from equalities import bits

RECORDED = Path(__file__).with_name("recorded_bits.json")

# What was changed on purpose since: how the case's name begins, up to a space, and the reason.
CHANGED: dict[str, str] = {}


def digests_now(path):
    """What a process of its own computes, as a user's would."""
    command = [sys.executable, bits.__file__, "digests", str(path)]
    subprocess.run(command, check=True)
    return json.loads(path.read_text(encoding="utf-8"))["digests"]


def unexpected(recorded, now, changed=CHANGED):
    return [
        case
        for case, digest in recorded.items()
        if now.get(case) != digest and not any(belongs(case, start) for start in changed)
    ]


def belongs(case, start):
    """Whole words: "meadmm" also stands for "meadmm float32", and not for "meadmm-rough"."""
    return case.startswith(f"{start} ")


def test_results_have_the_recorded_bits(tmp_path):
    """Takes half a minute for all of its runs."""
    record = json.loads(RECORDED.read_text(encoding="utf-8"))
    if record["fingerprint"] != bits.fingerprint():
        pytest.skip(f"the bits were recorded on another machine: {record['fingerprint']}")
    now = digests_now(tmp_path / "now.json")
    other = unexpected(record["digests"], now)
    assert not other, f"{len(other)} of {len(now)} arrays differ, among them {other[:5]}"


def test_every_exception_has_a_reason_and_a_case():
    cases = json.loads(RECORDED.read_text(encoding="utf-8"))["digests"]
    for start, reason in CHANGED.items():
        assert reason.endswith(".")
        assert any(belongs(case, start) for case in cases)


def test_a_case_that_is_an_exception_does_not_excuse_another_one():
    recorded = {
        "align masks meadmm / sparse": "a",
        "align masks meadmm float32 / sparse": "b",
        "align masks meadmm-rough / sparse": "c",
        "align heads meadmm / sparse": "d",
    }
    changed = {"align masks meadmm": "A reason."}
    assert unexpected(recorded, recorded, changed) == []
    assert unexpected(recorded, {}, changed) == list(recorded)[2:]


def test_every_case_of_today_is_on_record():
    cases = {
        name.split(" / ")[0] for name in json.loads(RECORDED.read_text(encoding="utf-8"))["digests"]
    }
    for schedule in ("rpca-certified", "rasl-certified", "meadmm-rough", "rasl", "meadmm"):
        assert f"align heads {schedule}" in cases
    assert "decompose matrix certified" in cases
    assert "decompose scene grains" in cases
