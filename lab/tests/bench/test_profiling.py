"""Clocks around the functions of the solver."""

from importlib import import_module

from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.profiling import Clocks


def test_the_functions_of_the_profile_are_there():
    for path in declared()["profile"]["parts"]:
        room, _, name = path.rpartition(".")
        assert callable(getattr(import_module(room), name)), path


def test_own_time_leaves_out_that_of_others(monkeypatch):
    now = iter([0.0, 1.0, 4.0, 6.0])  # outer begins, inner begins, inner ends, outer ends
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    clock = Clocks()
    inner = clock.around(lambda: None, "inner")
    clock.around(inner, "outer")()
    assert clock.seconds == {"inner": 3.0, "outer": 3.0}
