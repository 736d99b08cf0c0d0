"""What a run takes, and whether this machine has it."""

import os
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.plan import BASE_BYTES, plan
from rankfold.io import Source
from rankfold.runs import Choice, machine_memory, plan_run, planning
from rankfold.runs.planning import SINGLE_PRECISION


def source_of(n, *shape):
    """As many pictures of one size, of which nothing is known but that."""
    names = tuple(f"{k}.png" for k in range(n))
    kinds = (np.dtype(np.uint8),) * n
    return Source("photos", "pictures", names, (shape,) * n, kinds, iterate=lambda: iter(()))


def test_it_is_the_plan_for_the_frame():
    choice = Choice(rf.Frame(50, 60), 1, "centred")
    ours = plan_run(source_of(20, 50, 60), choice, "meadmm", "similarity")
    assert ours.memory == pytest.approx(plan(20, rf.Frame(50, 60)).memory)
    assert ours.images == 20


def test_single_precision_takes_less():
    choice = Choice(rf.Frame(500, 600), 1, "centred")
    double = plan_run(source_of(20, 500, 600), choice, "rasl")
    single = plan_run(source_of(20, 500, 600), choice, "rasl", dtype=np.float32)
    share = (single.memory - BASE_BYTES) / (double.memory - BASE_BYTES)
    assert share == pytest.approx(SINGLE_PRECISION)


def test_large_pictures_around_a_small_frame_count():
    choice = Choice(rf.Frame(50, 60), 1, np.tile(np.eye(3), (20, 1, 1)))
    small = plan_run(source_of(20, 50, 60), choice, "rasl")
    large = plan_run(source_of(20, 2000, 3000), choice, "rasl")
    assert large.memory - small.memory == pytest.approx(8 * 20 * (2000 * 3000 - 50 * 60))
    coarser = plan_run(source_of(20, 2000, 3000), replace(choice, reduction=10), "rasl")
    assert coarser.memory < small.memory + 8 * 20 * 200 * 300


class TestStart:
    """Matching needs small copies of pictures that are read coarser, a byte a pixel."""

    SOURCE = source_of(20, 2000, 3000)
    CHOICE = Choice(rf.Frame(200, 300), 10, "centred")
    # The long side becomes 1000 px.
    VIEWS = 20 * 666 * 1000

    def memory(self, monkeypatch, opencv, choice=CHOICE, **options):
        monkeypatch.setattr(planning, "available", lambda: opencv)
        return plan_run(self.SOURCE, choice, **{"method": "meadmm", **options}).memory

    def test_copies_are_kept_where_keypoints_may_be_looked_for(self, monkeypatch):
        without = self.memory(monkeypatch, True, start="given")
        assert self.memory(monkeypatch, True) - without == pytest.approx(self.VIEWS)
        assert self.memory(monkeypatch, True, start="auto") - without == pytest.approx(self.VIEWS)
        assert self.memory(monkeypatch, True, start="coarse") == without
        assert self.memory(monkeypatch, True, coarse=True) == without
        assert self.memory(monkeypatch, True, coarse=False) == without

    def test_without_opencv_nothing_is_kept(self, monkeypatch):
        without = self.memory(monkeypatch, False, start="given")
        assert self.memory(monkeypatch, False) == without

    def test_nor_for_a_method_that_looks_for_no_start(self, monkeypatch):
        rasl = self.memory(monkeypatch, True, method="rasl")
        assert rasl == self.memory(monkeypatch, True, method="rasl", start="given")
        asked = self.memory(monkeypatch, True, method="rasl", start="auto")
        assert asked - rasl == pytest.approx(self.VIEWS)

    def test_nor_for_a_decomposition(self, monkeypatch):
        still = self.memory(monkeypatch, True, moves=False)
        assert still == self.memory(monkeypatch, False, moves=False)

    def test_pictures_that_are_read_whole_have_theirs_made_later(self, monkeypatch):
        whole = replace(self.CHOICE, reduction=1)
        with_copies = self.memory(monkeypatch, True, whole)
        assert with_copies == self.memory(monkeypatch, True, whole, start="given")

    @pytest.mark.parametrize(
        ("route", "opencv", "kept"),
        [
            ("match", True, True),
            ("match", False, True),
            ("auto", True, True),
            ("auto", False, False),
            ("given", True, False),
            ("coarse", True, False),
            ("pyramid", True, False),
        ],
    )
    def test_which_routes_look_at_them(self, monkeypatch, route, opencv, kept):
        monkeypatch.setattr(planning, "available", lambda: opencv)
        assert planning.keeps_views(route) == kept

    def test_the_route_is_the_callers_or_the_methods(self):
        assert planning.resolved_route("meadmm") == "auto"
        assert planning.resolved_route("rasl") == "given"
        assert planning.resolved_route(rf.METHODS["rasl"], start="pyramid") == "pyramid"
        assert planning.resolved_route("meadmm", coarse=True) == "coarse"


def test_a_decomposition_takes_less_time_than_an_alignment():
    choice = Choice(rf.Frame(50, 60), 1, "identity")
    source = source_of(20, 50, 60)
    assert plan_run(source, choice, "rasl", moves=False).seconds < (
        plan_run(source, choice, "rasl").seconds
    )


def test_the_memory_of_the_machine(monkeypatch):
    known = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", known.__getitem__, raising=False)
    assert machine_memory() == 4_096_000


def test_a_machine_that_does_not_tell(monkeypatch):
    def unknown(name):
        raise ValueError(f"unrecognized configuration name {name}")

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert machine_memory() is None
    monkeypatch.setattr(os, "sysconf", lambda _: -1, raising=False)
    assert machine_memory() in (None, 1)
    monkeypatch.delattr(os, "sysconf")
    assert machine_memory() is None
