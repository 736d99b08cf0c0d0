"""The coarse stage: blurred pictures first, kept where that is asked for or helps."""

import importlib

import numpy as np

import rankfold as rf
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.metrics import alignment_error


def test_it_brings_back_what_is_far_off():
    rng = np.random.default_rng(1)
    batch = rendered_heads(24, lights=35, seed=5)
    far = batch.start @ np.stack([shift(o) for o in rng.uniform(-7, 7, (24, 2))])
    words = {"frame": batch.frame, "init": far, "n_jobs": 2}
    without = rf.align(batch.images, **words, coarse=False)
    result = rf.align(batch.images, **words, coarse=True)
    before = alignment_error(without.transforms, batch.truth, batch.points)
    after = alignment_error(result.transforms, batch.truth, batch.points)
    assert alignment_error(far, batch.truth, batch.points).mean > 4
    assert after.mean < 0.7
    assert before.mean > 2 * after.mean
    assert "coarse" in result.trace.stages


def test_by_itself_it_is_tried_when_no_start_is_given_and_kept_only_if_it_helps():
    batch = rendered_heads(12, seed=2)
    given = rf.align(batch.images, frame=batch.frame, init=batch.start)
    assert "coarse" not in given.trace.stages
    native = rf.align([image[::2, ::2] for image in batch.images], frame=(45, 42))
    assert "coarse" in native.trace.stages or "features" in native.trace.stages


def test_a_start_that_leads_astray_is_not_kept(monkeypatch):
    """Blurred heads under different lamps agree better where they do not belong.

    A few steps on features tell.
    """
    batch = rendered_heads(24, occluded=0.3, seed=0)
    request = importlib.import_module("rankfold.align.request")
    # As if this were the default start.
    monkeypatch.setattr(request, "start_transforms", lambda *_: batch.start)
    result = rf.align(batch.images, frame=batch.frame)
    assert "coarse" not in result.trace.stages
    assert alignment_error(result.transforms, batch.truth, batch.points).mean < 0.3


def test_a_stop_during_the_look_ahead_stops_the_run(monkeypatch):
    coarse = importlib.import_module("rankfold.align.coarse")
    stopped = replace_status(coarse)
    monkeypatch.setattr(coarse, "look_ahead", stopped)
    batch = rendered_heads(6, seed=2)
    result = rf.align(batch.images, frame=batch.frame)
    assert result.status is rf.Status.STOPPED
    assert result.stop_rule == "observer"
    assert "pixels" not in result.trace.stages


def replace_status(coarse):
    """A look-ahead during which an observer says stop."""
    return lambda _, progress: coarse.replace(progress, status=rf.Status.STOPPED)
