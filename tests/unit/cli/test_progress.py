"""The watcher of a run: what it says and draws, and what stops it."""

import signal
import threading
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import rankfold as rf
from rankfold.cli import progress
from rankfold.cli.app import Terminated
from rankfold.cli.progress import Watcher, counting, standing_apart
from rankfold.runs import Watch

# Stages of MeADMM that search transforms.
MOVING = ("start", "features", "rescue", "pixels")


def observed(outer=0):
    """One inner iteration."""
    return rf.InnerRecord(outer, 3, 1.0, 0.5, 0.5, 2, 1e-3, 1e-3, 1.0)


class Recorder:
    """Stands for the line that is drawn: it remembers what it was told."""

    def __init__(self, watch):
        self.updates = []
        watch.progress.update = lambda _, **words: self.updates.append(words)

    @property
    def shares(self):
        return [u["completed"] / u["total"] for u in self.updates if u.get("total")]


def test_a_watcher_watches_runs():
    watch: Watch = Watcher(silent=True)
    watch.say("reading", 3)
    watch.advance()
    assert watch(observed()) is False
    assert watch(observed(outer=-1)) is False


def test_the_first_interrupt_asks_and_the_second_gives_up():
    before = signal.getsignal(signal.SIGINT)
    with Watcher(silent=True) as watch:
        signal.raise_signal(signal.SIGINT)
        assert watch(observed()) is True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_ends_it_at_once_and_only_once():
    before = signal.getsignal(signal.SIGTERM)
    with Watcher(silent=True):
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        # What the first one cleans up is not interrupted by a second one.
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_thread_listens_to_no_signals():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def watch():
        with Watcher(silent=True):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=watch)
    thread.start()
    thread.join()
    assert seen == [before]


def test_remarks_are_for_those_who_want_them(capsys):
    for silent in (False, True):
        watch = Watcher(silent)
        watch.remark("left: [a].png")
        watch.going_on(Path("run.unfinished"), 12)
    said = capsys.readouterr().err
    assert said == "left: [a].png\ngoing on from run.unfinished (12 outer iterations done)\n"


@pytest.mark.parametrize("method", ["rpca", "rasl", "meadmm"])
def test_the_bar_never_runs_backwards_and_names_every_stage(heads, method, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    watch = Watcher(silent=True)
    drawn = Recorder(watch)
    rf.align(heads.images, method=method, frame=heads.frame, init=heads.start, observe=watch)
    assert all(one <= other for one, other in pairwise(drawn.shares))
    assert 0.7 < drawn.shares[-1] <= 1.0
    named = {update["description"].split()[0] for update in drawn.updates}
    wanted = {"rpca": set(), "rasl": {"pixels"}, "meadmm": {*MOVING}}
    assert named == wanted[method] | {"decomposition", "occluders", "verdicts"}


def test_a_second_run_starts_the_bar_again(heads):
    watch = Watcher(silent=True)
    drawn = Recorder(watch)
    stages = ("pixels", "decomposition")
    watch.begin_stage("decomposition", stages)
    high = drawn.shares[-1]
    watch.begin_stage("pixels", stages)
    assert drawn.shares[-1] < high


def test_a_decomposition_alone_has_a_bar_too(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    watch = Watcher(silent=True)
    drawn = Recorder(watch)
    rf.decompose(np.random.default_rng(0).random((6, 40)), observe=watch)
    assert drawn.updates
    assert all("decomposition" in update["description"] for update in drawn.updates)


def test_without_a_terminal_there_is_a_line_a_stage(heads, capsys):
    with Watcher(silent=False) as watch:
        watch.say("reading", 8)
        rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start, observe=watch)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "reading"
    assert said[1] == "stage 1 of 4, pixels: align the pixels"
    assert [line.split(",")[0] for line in said[1:]] == [f"stage {k} of 4" for k in (1, 2, 3, 4)]


def test_a_silent_watcher_says_nothing(heads, capsys):
    with Watcher(silent=True) as watch:
        watch.say("reading", 8)
        watch.begin_stage("pixels", ("pixels",))
    assert capsys.readouterr() == ("", "")


class TestCounting:
    """What is looked for before a run has a bar, where one can be drawn."""

    def drawn(self, monkeypatch, silent, is_terminal=True):
        screen = Console(file=StringIO(), force_terminal=is_terminal, width=80)
        monkeypatch.setattr(progress, "errors", screen)
        with counting("looking for bad pictures", 4, silent) as watch:
            watch()
        return screen.file.getvalue()

    def test_it_is_drawn(self, monkeypatch):
        assert "looking for bad pictures" in self.drawn(monkeypatch, silent=False)

    def test_it_is_not_where_nobody_wants_or_sees_it(self, monkeypatch):
        assert self.drawn(monkeypatch, silent=True) == ""
        assert self.drawn(monkeypatch, silent=False, is_terminal=False) == ""


def test_pictures_that_stand_apart_are_counted():
    residual = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 9.0])
    assert standing_apart(residual) == 1
    assert standing_apart(np.ones(5)) == 0


def test_matching_is_counted_on_the_line(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    watch = Watcher(silent=True)
    watch.begin_stage("start", ("start", *MOVING))
    line = Recorder(watch)
    watch.count("pairs", 3, 10)
    assert line.updates == [{"description": "start · matching, pairs 3 of 10"}]
