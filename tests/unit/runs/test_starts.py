"""Which start was kept and what else was tried: rows of plain values, and a sentence."""

import json

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.routes import ROUTES
from rankfold.runs.starts import Start, percent, start_sentence, starts_of
from rankfold.status import RouteRecord, Trace

GIVEN = Start("given", "from where they were given", 0.5, 4.0, False)
MATCH = Start("match", "by matching keypoints", 0.95, 3.5, True)


def trace_of(*records):
    return Trace.of((), routes=records)


class TestStarts:
    def test_they_are_the_records_of_the_trace_in_order(self):
        trace = trace_of(
            RouteRecord("given", 4.0, 0.5, False, "a"),
            RouteRecord("match", 3.5, 0.95, True, "b"),
        )
        assert starts_of(trace) == (GIVEN, MATCH)

    def test_there_are_none_where_a_run_began_as_it_was_given(self):
        assert starts_of(Trace()) == ()

    def test_what_was_not_compared_is_none_and_not_nan(self):
        asked = trace_of(RouteRecord("coarse", np.nan, np.nan, True, ""))
        (start,) = starts_of(asked)
        assert start.confirmed is start.agreement is None
        # A try that broke off agrees infinitely badly, which JSON cannot say either.
        broken = trace_of(RouteRecord("coarse", np.inf, 0.0, False, ""))
        assert starts_of(broken)[0].agreement is None
        json.dumps([one.as_dict() for one in (start, *starts_of(broken))], allow_nan=False)

    def test_a_route_of_another_version_is_called_by_its_name(self):
        (start,) = starts_of(trace_of(RouteRecord("dowsing", 1.0, 0.5, True, "")))
        assert start.sentence == start.route == "dowsing"

    def test_plain_values(self):
        assert json.loads(json.dumps(MATCH.as_dict())) == {
            "route": "match",
            "sentence": "by matching keypoints",
            "confirmed": 0.95,
            "agreement": 3.5,
            "kept": True,
        }


class TestSentence:
    def test_it_names_the_one_that_was_kept_and_those_that_were_tried(self):
        assert start_sentence((GIVEN, MATCH)) == (
            "Start: by matching keypoints (95 % of the pictures confirmed); "
            "also tried: from where they were given (50 %)."
        )

    @pytest.mark.parametrize(
        ("agreement", "reason"),
        [
            (3.0, ", because the pictures agree best from there"),
            (5.0, ", because no other is clearly better"),
        ],
    )
    def test_it_says_why_where_another_has_more_confirmed_pictures(self, agreement, reason):
        kept = Start("pyramid", "by contrast", 0.4, agreement, True)
        said = start_sentence((GIVEN, kept))
        assert said.startswith(f"Start: by contrast (40 % of the pictures confirmed){reason}; also")

    def test_where_only_one_was_tried_nothing_else_is_said(self):
        assert start_sentence((MATCH,)) == (
            "Start: by matching keypoints (95 % of the pictures confirmed)."
        )

    def test_a_start_that_was_asked_for_says_so(self):
        asked = Start("pyramid", ROUTES["pyramid"].sentence, None, None, True)
        assert start_sentence((asked,)) == (
            "Start: by contrast from coarse to fine, as was asked for."
        )

    def test_nothing_is_said_where_none_was_looked_for(self):
        assert start_sentence(()) == ""

    @pytest.mark.parametrize(("share", "shown"), [(None, "–"), (0.0, "0 %"), (0.948, "95 %")])
    def test_shares_are_percentages(self, share, shown):
        assert percent(share) == shown


@pytest.mark.parametrize("start", ["auto", "pyramid"])
def test_of_an_alignment(heads, start):
    result = rf.align(heads.images, frame=heads.frame, init=heads.start, start=start)
    starts = starts_of(result.trace)
    assert sum(one.kept for one in starts) == 1
    compared = [one.confirmed is not None for one in starts]
    assert all(compared) == any(compared) == (start == "auto")
    assert ("as was asked for" in start_sentence(starts)) == (start != "auto")
