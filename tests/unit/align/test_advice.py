"""What to do where pictures did not find their place: advice that fits what was tried."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.advice import FEW, INSTALL, NARROW, OF_A_KIND, advice, shows_all
from rankfold.align.job import Job
from rankfold.align.matching import Matches
from rankfold.align.progress import Progress
from rankfold.align.verdicts import Judgement
from rankfold.scale import Serial
from rankfold.verdicts import BatchVerdict, Verdict
from samples import request_of

module = importlib.import_module("rankfold.align.advice")

SHAPE = (140, 150)
PICTURES = np.random.default_rng(0).random((4, *SHAPE))
NAMES = ("a", "b", "c", "d")
SMALL = (60, 60)


def job_of(frame=SMALL, pictures=PICTURES, **options):
    stack = rf.Stack.of(pictures, names=NAMES)
    return Job(request_of(stack, frame=frame, **options), Serial())


def judged(batch):
    return Judgement((Verdict.FAILED,) * 4, np.ones(4), batch, np.zeros(4))


def matches_of(*groups):
    """What matching says of pictures that fall into groups; it starts from the first."""
    reached = np.isin(np.arange(4), groups[0])
    transforms = np.where(reached[:, None, None], np.eye(3), np.nan)
    zeros = np.zeros(4)
    return Matches(
        NAMES, "homography", groups[0][0], transforms, reached, groups, (), zeros.astype(int), zeros
    )


def said(job, batch, matches=None):
    return advice(job, replace(Progress.at_start(job), matches=matches), judged(batch))


@pytest.fixture
def opencv(monkeypatch):
    """Whether OpenCV is there is up to the test."""

    def there(answer):
        monkeypatch.setattr(module, "available", lambda: answer)

    there(True)
    return there


BAD = [BatchVerdict.ROUGH, BatchVerdict.FAILED]


def test_where_all_is_well_there_is_none(opencv):
    opencv(False)
    whole = job_of(frame=SHAPE)
    assert said(whole, BatchVerdict.GOOD, matches_of((0, 1), (2, 3))) == ""


def test_a_method_that_moves_nothing_gets_none(opencv):
    opencv(False)
    still = job_of(frame=SHAPE, method="rpca")
    assert said(still, BatchVerdict.FAILED) == ""


def test_pictures_that_show_different_things(opencv):
    assert said(job_of(), BatchVerdict.FAILED) == FEW


def test_pictures_of_one_kind(opencv):
    assert said(job_of(), BatchVerdict.ROUGH) == OF_A_KIND


class TestInstall:
    @pytest.mark.parametrize("batch", BAD)
    def test_photographs_without_opencv(self, opencv, batch):
        opencv(False)
        assert said(job_of(), batch) == INSTALL
        assert "pip install rankfold[match]" in INSTALL

    def test_not_where_it_is_there(self, opencv):
        assert INSTALL not in said(job_of(), BatchVerdict.FAILED)

    def test_not_for_thumbnails_which_have_no_keypoints(self, opencv):
        opencv(False)
        thumbnails = job_of(pictures=PICTURES[:, :100, :100])
        assert INSTALL not in said(thumbnails, BatchVerdict.FAILED)

    def test_not_where_the_caller_chose_another_start(self, opencv):
        opencv(False)
        assert INSTALL not in said(job_of(start="pyramid"), BatchVerdict.FAILED)

    def test_not_where_most_found_their_place(self, opencv):
        opencv(False)
        assert said(job_of(), BatchVerdict.PARTIAL) == ""


class TestNarrow:
    @pytest.mark.parametrize("batch", BAD)
    def test_a_frame_that_shows_all(self, opencv, batch):
        assert said(job_of(frame=SHAPE), batch) == NARROW

    @pytest.mark.parametrize(
        ("frame", "answer"),
        [(SHAPE, True), ((112, 120), True), ((111, 150), False), ((140, 119), False)],
    )
    def test_it_does_from_four_fifths_of_both_sides_on(self, frame, answer):
        assert shows_all(job_of(frame=frame)) == answer

    def test_it_may_be_small_and_spread_over_all_of_a_picture(self):
        scale = np.diag([150 / 60, 140 / 60, 1.0])
        assert shows_all(job_of(init=np.stack([scale] * 4)))
        # Most pictures decide, not one.
        assert not shows_all(job_of(init=np.stack([scale] + [np.eye(3)] * 3)))

    def test_it_comes_after_what_is_to_be_installed(self, opencv):
        opencv(False)
        assert said(job_of(frame=SHAPE), BatchVerdict.FAILED) == f"{INSTALL}; {NARROW}"


class TestMatching:
    def test_groups_are_named(self, opencv):
        matches = matches_of((0, 2), (1, 3))
        for batch in (BatchVerdict.PARTIAL, *BAD):
            assert said(job_of(), batch, matches) == (
                "matching: the 4 pictures look like 2 scenes that have nothing in common: "
                "(1) a, c; (2) b, d"
            )

    def test_a_picture_without_a_link_is_named(self, opencv):
        matches = matches_of((0, 1, 3), (2,))
        assert said(job_of(), BatchVerdict.PARTIAL, matches) == (
            "matching: 3 of 4 pictures are linked; c is not"
        )

    def test_where_it_linked_next_to_nothing_it_says_nothing_of_the_pictures(self, opencv):
        """Portraits and cells have no keypoints in common, and belong together all the same."""
        nothing = matches_of((0,), (1,), (2,), (3,))
        assert said(job_of(), BatchVerdict.FAILED, nothing) == FEW
        assert said(job_of(), BatchVerdict.PARTIAL, nothing) == ""
        half = matches_of((0, 1), (2,), (3,))
        assert said(job_of(), BatchVerdict.FAILED, half) == (
            "matching: 2 of 4 pictures are linked; c, d are not"
        )

    def test_where_all_are_linked_it_has_nothing_to_say(self, opencv):
        matches = matches_of((0, 1, 2, 3))
        assert said(job_of(), BatchVerdict.PARTIAL, matches) == ""
        assert said(job_of(), BatchVerdict.FAILED, matches) == FEW

    def test_it_comes_first(self, opencv):
        words = said(job_of(frame=SHAPE), BatchVerdict.FAILED, matches_of((0, 2), (1, 3)))
        assert words.startswith("matching: the 4 pictures")
        assert words.endswith(f"; {NARROW}")
        assert FEW not in words


def test_a_result_carries_it():
    result = rf.align(
        np.random.default_rng(1).random((5, 40, 40)), "rasl", max_outer=1, outer_tol=9
    )
    assert result.verdict == "failed"
    assert result.advice == NARROW
