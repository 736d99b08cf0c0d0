"""Which pictures of a large run the report shows."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.runs import showing
from rankfold.runs.showing import pictures_of, shown_in, shown_of


@pytest.fixture
def parts():
    return rf.decompose(np.random.default_rng(0).random((30, 8, 9)))


def test_of_a_small_batch_all_are_shown(parts):
    assert shown_in(parts) == []
    assert shown_of(parts) == list(range(30))


def test_of_a_large_one_some_that_are_spread_over_it(parts, monkeypatch):
    monkeypatch.setattr(showing, "ALL_SHOWN", 100)
    monkeypatch.setattr(showing, "VALUES_SHOWN", 300)
    monkeypatch.setattr(showing, "LEAST_SHOWN", 2)
    assert shown_in(parts) == [0, 10, 19, 29]
    assert shown_of(parts, most=4) == [0, 10, 19, 29]
    some = pictures_of(parts, [0, 10])
    np.testing.assert_array_equal(some.low_rank, parts.low_rank[[0, 10]])
    assert some.rank == parts.rank
