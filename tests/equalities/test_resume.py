"""A run that was interrupted, and went on, ends with the bits of one that was not."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from equalities.test_same_bits import assert_same_alignments
from rankfold.align import Checkpoint
from rankfold.align.checkpoints import iterations_in
from rankfold.datasets import rendered_heads

# A few iterations are enough in some cases.
pytestmark = pytest.mark.filterwarnings("ignore:align. stopped at the iteration limit")

HEADS = rendered_heads(20, occluded=0.2, seed=1)
GIVEN = {"frame": HEADS.frame, "init": HEADS.start}

# Options, and after how many outer iterations each attempt is interrupted.
CASES = {
    # Steps go on from the last solution, and so does the decomposition.
    "certified": ({"method": "rasl", "max_outer": 6, **GIVEN}, 1),
    "published": ({"method": "rasl", "schedule": "published", "max_outer": 4, **GIVEN}, 1),
    "rescued": ({"method": "rasl", "features": "contrast", "rescue": True, **GIVEN}, 4),
    # Several starts are tried on the way.
    "meadmm": ({"method": "meadmm", "frame": HEADS.frame}, 4),
    # The sample goes on; the others are placed again.
    "sample": ({"method": "meadmm", "sample": 14, **GIVEN}, 4),
    "small frame first": (
        {
            "method": "meadmm",
            "settings": rf.AlignSettings().changed({"resolution.side": 30, "routes.side": 26}),
            **GIVEN,
        },
        3,
    ),
}


class Interruption(Exception):
    """Stands for a kill."""


def after(count):
    """An observer that interrupts a run after so many outer iterations."""
    seen = []

    def observe(record):
        if isinstance(record, rf.OuterRecord):
            seen.append(record)
            if len(seen) == count:
                raise Interruption

    return observe


def interrupted_again_and_again(folder, images, options, count, every=0.0):
    """The result of a run that is interrupted every so many iterations; how often it was."""
    for k in range(1000):
        try:
            result = rf.align(
                images, checkpoint=Checkpoint(folder, every), observe=after(count), **options
            )
        except Interruption:
            assert iterations_in(folder) == count * (k + 1)
            continue
        return result, k
    raise AssertionError("the run does not get on")


@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_alignment_ends_with_the_same_bits(case, tmp_path):
    options, count = CASES[case]
    plain = rf.align(HEADS.images, **options)
    folder = tmp_path / "checkpoint"
    result, times = interrupted_again_and_again(folder, HEADS.images, options, count)
    assert times >= 3
    assert_same_alignments([plain, result])
    for part in ("inner", "outer"):
        columns = getattr(result.trace, part)
        for name, column in getattr(plain.trace, part).items():
            assert columns[name].dtype == column.dtype
    assert not folder.exists()


def test_what_waited_for_its_turn_is_written_when_a_run_is_interrupted(tmp_path):
    options = CASES["certified"][0]
    # An hour between two writes: all but the last state of a loop would wait.
    result, times = interrupted_again_and_again(
        tmp_path / "checkpoint", HEADS.images, options, 2, every=3600.0
    )
    assert times == 3
    assert_same_alignments([rf.align(HEADS.images, **options), result])


def test_matching_is_not_done_again(tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    import photographs
    from rankfold.align import routes

    pictures, _ = photographs.views()
    options = {"method": "rasl", "family": "homography", "start": "match", "max_outer": 3}
    options["frame"] = (90, 120)
    plain = rf.align(pictures, **options)
    calls = []
    matched = routes.match_views

    def counted(*words):
        calls.append(words)
        return matched(*words)

    monkeypatch.setattr(routes, "match_views", counted)
    result, times = interrupted_again_and_again(tmp_path / "checkpoint", pictures, options, 1)
    assert times >= 2
    assert len(calls) == 1
    assert_same_alignments([plain, result])
    for name, column in plain.trace.matching.items():
        np.testing.assert_array_equal(result.trace.matching[name], column)


@pytest.mark.parametrize("times", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_processes_go_on_to_the_same_bits(times):
    """SIGKILL at random moments; ``python tests/killing.py --times 30`` does it more often."""
    script = Path(__file__).parents[1] / "killing.py"
    done = subprocess.run(
        [sys.executable, str(script), "--times", str(times)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{times} runs with the same bits" in done.stdout
