"""The trace as rows."""

import json
from itertools import pairwise

from rankfold.runs import trace_lines
from rankfold.status import Trace


def test_an_outer_iteration_follows_its_inner_ones(aligned):
    lines = list(trace_lines(aligned.trace))
    inner = [line for line in lines if line["level"] == "inner"]
    outer = [line for line in lines if line["level"] == "outer"]
    assert len(inner) == len(aligned.trace.inner["objective"])
    assert len(outer) == len(aligned.trace.outer["objective"])
    for before, line in pairwise(lines):
        if line["level"] == "outer":
            assert before["level"] == "inner"
            assert before["outer"] == line["outer"]


def test_rows_are_plain_values(aligned):
    for line in trace_lines(aligned.trace):
        assert json.loads(json.dumps(line, allow_nan=False)) == line


def test_a_gap_that_is_not_known_is_null(aligned):
    gaps = [line["gap"] for line in trace_lines(aligned.trace) if line["level"] == "inner"]
    assert gaps[0] is None
    assert gaps[-1] == aligned.gap


def test_nothing_happened():
    assert list(trace_lines(Trace())) == []
