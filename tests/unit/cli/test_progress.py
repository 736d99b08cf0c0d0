"""The watcher of a run: what stops it."""

import signal

import pytest

import rankfold as rf
from rankfold.cli.progress import Watcher
from rankfold.runs import Watch


def observed(outer=0):
    """One inner iteration."""
    return rf.InnerRecord(outer, 3, 1.0, 0.5, 0.5, 2, 1e-3, 1e-3, 1.0)


def test_a_watcher_watches_runs():
    watch: Watch = Watcher(silent=True, stages=("pixels",))
    watch.say("reading", 3)
    watch.advance()
    assert watch(observed()) is False
    assert watch(observed(outer=-1)) is False


def test_the_first_interrupt_asks_and_the_second_gives_up():
    before = signal.getsignal(signal.SIGINT)
    with Watcher(silent=True, stages=("pixels",)) as watch:
        signal.raise_signal(signal.SIGINT)
        assert watch(observed()) is True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
