"""Both methods are timed in turn, on the same iterates."""

import itertools

import numpy as np
import pytest

from rankfold_lab import inner, timing


@pytest.mark.parametrize(("repeats", "seconds", "turns"), [(3, 0.0, 3), (1, 7.0, 3)])
def test_both_methods_are_timed_until_the_time_is_up(monkeypatch, repeats, seconds, turns):
    # A run takes a second.
    ticks = itertools.count()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: float(next(ticks)))
    ends = []
    plain = inner.iterate
    monkeypatch.setattr(inner, "iterate", lambda *words: ends.append(plain(*words)) or ends[-1])
    problem = inner.moving_problem((8, 6, 5))
    found = timing.time_both(problem, repeats=repeats, seconds=seconds)
    assert len(ends) == 2 + 3 * turns  # the first of each is not timed
    assert found.rasl == found.meadmm == pytest.approx(1e3 / timing.ITERATIONS)
    assert found.ratio == found.free == 1
    rasl, meadmm = ends[:2]
    assert not np.array_equal(rasl.low_rank, meadmm.low_rank)
    # What is given is what is made.
    for again, made, given in zip(*[iter(ends[2:])] * 3, strict=True):
        np.testing.assert_array_equal(again.low_rank, rasl.low_rank)
        np.testing.assert_array_equal(made.low_rank, meadmm.low_rank)
        np.testing.assert_array_equal(given.low_rank, meadmm.low_rank)
    assert all(1 <= rank <= 8 for rank in found.ranks)
