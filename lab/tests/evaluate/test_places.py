"""Runs over scenes with a truth: what is logged, that it goes on, and the tables of it."""

import json

import numpy as np
import pytest

from rankfold.families import shift
from rankfold_lab import inner
from rankfold_lab.evaluate import place_tables, places, scenes
from rankfold_lab.evaluate.earlier_rule import scores_of_0_1
from rankfold_lab.evaluate.logs import read_log, run_logged


def few_heads(root, seed):
    """One small scene, which is quickly aligned."""
    yield scenes._of_batch("few", *_batch(seed))


def _batch(seed):
    from rankfold.datasets import rendered_heads

    batch = rendered_heads(10, lights=35, seed=seed)
    return batch, batch.start


@pytest.fixture
def records(monkeypatch, tmp_path):
    monkeypatch.setitem(places.SETS, "heads", few_heads)
    monkeypatch.setattr(places, "RUNS", {"default": {}, "RASL": {"method": "rasl"}})
    return places.run_set(str(tmp_path), "heads", 0)


def test_every_way_is_measured_and_the_values_are_plain(records):
    assert [record["run"] for record in records] == ["default", "RASL"]
    for record in json.loads(json.dumps(records)):
        assert len(record["off"]) == len(record["verdicts"]) == len(record["failed_in_0_1"]) == 10
        assert record["limit"] == pytest.approx(0.05 * 42)
        assert np.mean(record["off"]) < np.mean(record["before"])


def test_tables_count_what_is_lost_and_what_is_said():
    record = {
        "set": "heads",
        "scene": "few",
        "run": "default",
        "seed": 0,
        "off": [0.1, 0.2, 9.0, 9.0],
        "before": [1.0] * 4,
        "limit": 2.0,
        "verdict": "partial",
        "verdicts": ["placed", "doubtful", "failed", "placed"],
        "failed_in_0_1": [False, False, False, False],
    }
    table = place_tables.verdict_table([record])
    assert "| heads | 4 | 2 | 50.0% | 50.0% | 0.0% | 0.0% |" in table
    assert "| up to a half | 0 | 1 | 0 | 0 |" in place_tables.batch_table([record])


def test_a_log_goes_on_where_it_was(tmp_path):
    log = tmp_path / "log.jsonl"
    assert list(run_logged(log, squares, [(2,), (3,)])) == [(1, 2), (2, 2)]
    log.write_text(log.read_text() + '{"cut sho')
    assert list(run_logged(log, squares, [(4,)])) == [(1, 1)]
    assert sorted(record["square"] for record in read_log(log)) == [4, 9, 16]


def squares(value):
    return [{"square": value**2}]


def test_the_rule_of_0_1_sees_a_picture_that_was_only_pushed_away():
    batch, _ = _batch(2)
    moved = batch.truth.copy()
    moved[5] = moved[5] @ shift(np.array([12.0, 8.0]))
    job = inner.job_at(batch.images, batch.frame, "similarity", moved)
    scores = scores_of_0_1(job, job.request.start)
    assert np.argmax(scores) == 5
    assert scores.shape == (10,)
