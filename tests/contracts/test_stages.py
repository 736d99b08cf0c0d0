"""Every row of STAGES can be shown, estimated and switched, and the stages run in its order."""

import re

import pytest

import rankfold as rf
from rankfold.align.stages import STAGES, usual_stages
from rankfold.cli.progress import Watcher


@pytest.mark.parametrize("name", STAGES)
def test_a_row_can_be_shown_and_estimated(name):
    stage = STAGES[name]
    assert stage.name == name
    assert len(stage.sentence.split()) > 2
    assert re.fullmatch("#[0-9a-f]{6}", stage.colour)
    assert stage.outer >= 1
    assert stage.inner >= 1
    assert sum(other.colour == stage.colour for other in STAGES.values()) == 1
    # The progress bar knows it.
    Watcher(silent=True).begin_stage(name, tuple(STAGES))


@pytest.mark.parametrize("name", STAGES)
def test_its_switch_answers_for_every_method(name):
    for method in rf.METHODS.values():
        assert STAGES[name].on(method, rf.AlignSettings()) in (True, False)


def test_nothing_is_moved_by_a_method_that_does_not_move():
    for method in rf.METHODS.values():
        moving = [stage for stage in usual_stages(method) if stage.moves]
        assert bool(moving) == method.moves


def test_an_observer_hears_of_the_stages_in_the_order_of_the_table(heads):
    class Listener:
        def __init__(self):
            self.begun = []

        def begin_stage(self, name, stages):
            self.begun.append(name)
            self.stages = stages

        def __call__(self, record):
            return False

    listener = Listener()
    rf.align(heads.images, frame=heads.frame, init=heads.start, start="coarse", observe=listener)
    order = list(STAGES)
    assert tuple(listener.begun) == listener.stages
    assert listener.begun == sorted(listener.begun, key=order.index)
    assert {"start", "features", "rescue", "pixels"} <= set(listener.begun)
