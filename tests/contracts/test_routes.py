"""Every row of ROUTES can be shown and asked for, leaves a record, and harms nothing."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.job import Job
from rankfold.align.progress import Progress
from rankfold.align.routes import ROUTES, start_stage, try_out
from rankfold.datasets import facade
from rankfold.metrics import alignment_error
from rankfold.scale import Serial
from rankfold.status import RouteRecord
from samples import request_of


@pytest.fixture(scope="module")
def wall():
    """A batch that every route can take: large photographs, nearly where they belong."""
    return facade(8, frame=(60, 60), seed=1)


@pytest.fixture(params=ROUTES)
def name(request):
    if request.param == "match":
        pytest.importorskip("cv2")
    return request.param


def job_of(batch, name, **options):
    words = {"frame": batch.frame, "init": batch.start, "family": "homography", "start": name}
    return Job(request_of(batch.images, **{**words, **options}), Serial())


@pytest.mark.parametrize("key", ROUTES)
def test_a_row_can_be_shown(key):
    route = ROUTES[key]
    assert route.name == key
    # It ends a sentence: "Start: by blurred pictures."
    assert len(route.sentence.split()) > 2
    assert route.sentence[0].islower()
    assert not route.sentence.endswith(".")
    assert inspect.getdoc(route.run)
    assert inspect.getdoc(route.makes_sense)
    for what in ("sentence", "run"):
        same = [other for other in ROUTES.values() if getattr(other, what) == getattr(route, what)]
        assert same == [route]


def test_its_answer_whether_it_makes_sense_is_yes_or_no(wall, name):
    assert ROUTES[name].makes_sense(job_of(wall, name)) in (True, False)


def test_it_can_be_asked_for_and_leaves_a_record(wall, name):
    job = job_of(wall, name)
    assert job.request.route == job.request.options["start"] == name
    after = start_stage(job, Progress.at_start(job))
    (record,) = after.attempts
    assert isinstance(record, RouteRecord)
    assert (record.route, record.kept) == (name, True)
    assert record.sentence == f"{ROUTES[name].sentence}, as was asked for"
    assert not after.over


def test_it_moves_every_picture_within_the_family(wall, name):
    job = job_of(wall, name, family="similarity")
    after = ROUTES[name].run(job, Progress.at_start(job))
    transforms = after.motion.transforms
    assert transforms.shape == (8, 3, 3)
    assert np.isfinite(transforms).all()
    family = rf.FAMILIES["similarity"]
    for here, there in zip(after.origin, transforms, strict=True):
        assert family.contains(np.linalg.inv(here) @ there, tol=1e-6)


def test_pictures_that_were_nearly_right_end_where_they_belong(wall, name):
    words = {"frame": wall.frame, "init": wall.start, "family": "homography", "start": name}
    result = rf.align(wall.images, **words)
    assert result.verdict == "good"
    # 5 % of the frame is what a lost picture is off by.
    assert alignment_error(result.transforms, wall.truth, wall.points).max < 0.5
    np.testing.assert_allclose(result.start, wall.start)


def test_it_can_be_tried_and_compared(wall, name):
    attempt = try_out(job_of(wall, name), ROUTES[name])
    assert 0 <= attempt.confirmed <= 1
    assert np.isfinite(attempt.agreement)
    record = attempt.record(kept=False)
    assert not record.kept
    assert record.agreement == attempt.agreement
    assert record.sentence.startswith(f"{ROUTES[name].sentence}: ")


def test_it_gives_the_same_bits_again(wall, name):
    job = job_of(wall, name)
    once = ROUTES[name].run(job, Progress.at_start(job))
    again = ROUTES[name].run(replace(job), Progress.at_start(job))
    np.testing.assert_array_equal(once.motion.transforms, again.motion.transforms)
