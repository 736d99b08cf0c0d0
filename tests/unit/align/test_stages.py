"""The table of stages: its rows, who runs which, and what an observer and the trace are told."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.stages import STAGES, stages_of, usual_stages
from rankfold.datasets import rendered_heads
from rankfold.metrics import alignment_error
from samples import request_of

PICTURES = np.random.default_rng(0).random((4, 20, 20))
MOVING = ["start", "features", "rescue", "pixels"]
LAST = ["decomposition", "occluders", "verdicts"]


@pytest.fixture(scope="module")
def batch():
    return rendered_heads(24, occluded=0.3, seed=5)


def searching_on(side):
    """Settings under which places are searched on a frame of so many px, if it is larger."""
    return rf.AlignSettings().changed({"resolution.side": side})


def run(batch, **options):
    result = rf.align(batch.images, frame=batch.frame, init=batch.start, n_jobs=2, **options)
    return result, alignment_error(result.transforms, batch.truth, batch.points)


class TestTable:
    def test_the_stages_are_these_in_this_order(self):
        assert list(STAGES) == [*MOVING, "fine", *LAST]
        assert rf.STAGES is STAGES

    @pytest.mark.parametrize("name", STAGES)
    def test_every_row_can_be_shown(self, name):
        stage = STAGES[name]
        assert stage.name == name
        assert stage.cost > 0
        assert stage.cost == stage.outer * stage.inner
        assert re.fullmatch("#[0-9a-f]{6}", stage.colour)
        assert stage.sentence
        assert not stage.sentence.endswith(".")
        assert stage.sentence[0].islower()
        assert inspect.getdoc(stage.run)

    def test_no_two_rows_look_the_same(self):
        for what in ("name", "sentence", "colour", "run"):
            assert len({getattr(stage, what) for stage in STAGES.values()}) == len(STAGES)

    def test_the_search_for_transforms_comes_before_the_rest(self):
        moves = [stage.moves for stage in STAGES.values()]
        assert moves == sorted(moves, reverse=True)

    def test_from_the_first_that_needs_the_whole_frame_on_all_do(self):
        assert [name for name, stage in STAGES.items() if stage.whole] == ["fine", *LAST]
        assert [name for name, stage in STAGES.items() if stage.refines] == ["fine"]


class TestChoice:
    @pytest.mark.parametrize(
        ("options", "moving"),
        [
            ({"method": "rpca"}, []),
            ({"method": "rasl"}, ["pixels"]),
            ({"method": "meadmm"}, MOVING),
            ({"method": "meadmm", "init": np.tile(np.eye(3), (4, 1, 1))}, MOVING),
            ({"method": "meadmm", "start": "given"}, MOVING[1:]),
            ({"method": "meadmm", "start": "pyramid"}, MOVING),
            ({"method": "meadmm", "coarse": False, "rescue": False}, ["features", "pixels"]),
            ({"method": "meadmm", "features": None}, ["start", "rescue", "pixels"]),
            ({"method": "rasl", "features": "contrast"}, ["features", "pixels"]),
            ({"method": "rasl", "coarse": True, "rescue": True}, ["start", "rescue", "pixels"]),
        ],
    )
    def test_a_request_says_which_stages_run(self, options, moving):
        names = [stage.name for stage in stages_of(request_of(PICTURES, **options))]
        assert names == [*moving, *LAST]
        # A frame that is larger than the one of the search adds one stage, if anything moves.
        large = request_of(PICTURES, frame=(20, 20), settings=searching_on(19), **options)
        names = [stage.name for stage in stages_of(large)]
        assert names == [*moving, *(["fine"] if moving else []), *LAST]

    @pytest.mark.parametrize("method", rf.METHODS)
    def test_what_is_usual_for_a_method_is_what_runs(self, method):
        for side, large in ((20, False), (19, True)):
            settings = searching_on(side)
            request = request_of(PICTURES, method=method, frame=(20, 20), settings=settings)
            assert stages_of(request) == usual_stages(rf.METHODS[method], large)

    @pytest.mark.parametrize("shape", [(20, 30), (30, 20)])
    def test_the_short_side_says_whether_a_frame_is_large(self, shape):
        pictures = np.random.default_rng(0).random((4, 30, 30))
        for side, large in ((20, False), (19, True)):
            request = request_of(pictures, frame=shape, settings=searching_on(side))
            assert (STAGES["fine"] in stages_of(request)) == large

    @pytest.mark.parametrize("method", rf.METHODS)
    def test_as_published_everything_is_on_the_whole_frame(self, method):
        words = {"method": method, "frame": (20, 20), "settings": searching_on(16)}
        request = request_of(PICTURES, schedule="published", **words)
        assert STAGES["fine"] not in stages_of(request)

    @pytest.mark.parametrize("method", rf.METHODS)
    def test_every_method_ends_with_a_decomposition_a_look_for_occluders_and_verdicts(self, method):
        chosen = stages_of(request_of(PICTURES, method=method))
        assert [stage.name for stage in chosen[-3:]] == LAST
        assert any(stage.moves for stage in chosen) == rf.METHODS[method].moves

    @pytest.mark.parametrize("method", rf.METHODS)
    def test_nobody_looks_for_occluders_where_none_may_be(self, method):
        usual = stages_of(request_of(PICTURES, method=method))
        without = [stage for stage in usual if stage.name != "occluders"]
        assert stages_of(request_of(PICTURES, method=method, shared=0)) == without
        assert stages_of(request_of(PICTURES, method=method, shared=0.3)) == usual
        never = replace(rf.METHODS[method], shared=0.0)
        assert stages_of(request_of(PICTURES, method=never)) == without
        assert stages_of(request_of(PICTURES, method=never, shared=0.3)) == usual


def test_all_stages_of_meadmm_are_in_the_trace_and_beat_rasl(batch):
    full, error = run(batch)
    rasl, plain = run(batch, method="rasl")
    assert list(full.trace.stages) == MOVING
    assert list(rasl.trace.stages) == ["pixels"]
    assert {*full.trace.outer["stage"]} >= {"features", "pixels"}
    assert all(moved.shape == (24,) for moved in full.trace.stages.values())
    assert error.mean < 0.8 * plain.mean
    # The guard of the stage on pixels.
    assert full.trace.stages["pixels"].max() <= 0.51


def test_every_stage_can_be_left_out_and_used_by_rasl(batch):
    bare, _ = run(batch, features=None, rescue=False, coarse=False)
    assert list(bare.trace.stages) == ["pixels"]
    dressed, error = run(batch, method="rasl", features="contrast", rescue=True)
    assert list(dressed.trace.stages) == ["features", "rescue", "pixels"]
    assert dressed.method == "rasl"
    assert error.mean < 0.3


class Watcher:
    """An observer that is told of stages, too."""

    def __init__(self, stop_at=None):
        self.told = []
        self.records = []
        self.stop_at = stop_at

    def begin_stage(self, name, stages):
        self.told.append((name, stages))

    def __call__(self, record):
        self.records.append((self.told[-1][0], record))
        return isinstance(record, rf.OuterRecord) and record.stage == self.stop_at


class TestObservers:
    def test_one_with_begin_stage_is_told_every_stage_in_the_order_of_the_table(self, heads):
        watcher = Watcher()
        rf.align(heads.images, frame=heads.frame, coarse=True, max_outer=4, observe=watcher)
        assert [name for name, _ in watcher.told] == [*MOVING, *LAST]
        assert {stages for _, stages in watcher.told} == {(*MOVING, *LAST)}
        for stage, record in watcher.records:
            if isinstance(record, rf.OuterRecord):
                assert record.stage == stage
            if stage in LAST:
                assert record.outer == -1

    @pytest.mark.parametrize("method", ["rpca", "rasl"])
    def test_it_is_told_only_of_those_that_run(self, heads, method):
        watcher = Watcher()
        words = {"frame": heads.frame, "init": heads.start, "method": method}
        rf.align(heads.images, **words, observe=watcher)
        expected = [stage.name for stage in stages_of(request_of(heads.images, **words))]
        assert [name for name, _ in watcher.told] == expected

    def test_a_stopped_search_goes_on_with_the_stages_that_do_not_move(self, heads):
        watcher = Watcher(stop_at="features")
        words = {"frame": heads.frame, "init": heads.start, "start": "given"}
        result = rf.align(heads.images, **words, observe=watcher)
        assert [name for name, _ in watcher.told] == ["features", *LAST]
        assert result.status is rf.Status.STOPPED
        assert np.isfinite(result.lost).all()
        assert np.isfinite(result.confirmed).all()

    def test_a_plain_function_sees_records_and_nothing_else(self, heads):
        seen = []
        rf.align(heads.images, frame=heads.frame, init=heads.start, observe=seen.append)
        assert {type(record) for record in seen} == {rf.InnerRecord, rf.OuterRecord}
