"""What a journal remembers, when it writes it, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold.align import Checkpoint, checkpoints, remembering
from rankfold.align.checkpoints import (
    HEAD,
    LOCK,
    NEWEST,
    finished_calls,
    is_checkpoint,
    iterations_in,
    read_facts,
    read_packed,
    write_packed,
)
from rankfold.align.loop import LoopState, OuterResult
from rankfold.align.matching.result import Link, Matches
from rankfold.align.packing import (
    Packed,
    pack_matches,
    pack_state,
    unpack_matches,
    unpack_state,
)
from rankfold.align.remembering import Remembering
from rankfold.families import FAMILIES
from rankfold.locking import take
from rankfold.warp.linearisation import Motion

# A few iterations are enough here.
pytestmark = pytest.mark.filterwarnings("ignore::rankfold.ConvergenceWarning")

OPTIONS = {"method": "rasl", "max_outer": 3, "family": "translation"}


class Interruption(Exception):
    """Stands for a kill."""


def interrupting(record):
    """Interrupt after every outer iteration."""
    if isinstance(record, rf.OuterRecord):
        raise Interruption


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoint"


@pytest.fixture
def given(heads):
    return {"images": heads.images, "frame": heads.frame, "init": heads.start, **OPTIONS}


@pytest.fixture
def interrupted(folder, given):
    """A checkpoint with one outer iteration."""
    with pytest.raises(Interruption):
        rf.align(**given, checkpoint=folder, observe=interrupting)
    return folder


def same(one, two):
    return all(
        getattr(one, name).tobytes() == getattr(two, name).tobytes()
        for name in ("transforms", "low_rank", "sparse")
    )


class TestFolder:
    def test_is_there_while_a_run_goes_on_and_gone_when_it_is_complete(self, folder, given):
        seen = []

        def observe(record):
            if isinstance(record, rf.OuterRecord):
                seen.append(iterations_in(folder))

        result = rf.align(**given, checkpoint=Checkpoint(folder, every=0), observe=observe)
        # The state is written before the observer sees the record.
        assert seen == list(range(1, len(seen) + 1))
        assert not folder.exists()
        assert same(result, rf.align(**given))

    def test_can_be_kept_and_then_nothing_is_computed_again(self, folder, given):
        first = rf.align(**given, checkpoint=Checkpoint(folder, keep=True))
        assert is_checkpoint(folder)
        seen = []
        second = rf.align(**given, checkpoint=str(folder), observe=seen.append)
        assert {record.outer for record in seen} == {-1}  # the last decomposition
        assert same(first, second)
        assert not folder.exists()

    def test_an_observer_is_told_what_is_done(self, interrupted, given):
        class Watch:
            def __call__(self, record):
                pass

            def going_on(self, place, done):
                self.told = (place, done)

        watch = Watch()
        rf.align(**given, checkpoint=interrupted, observe=watch)
        assert watch.told == (interrupted, 1)

    def test_a_run_that_an_observer_stops_ends_as_usual(self, folder, given):
        result = rf.align(**given, checkpoint=folder, observe=lambda _: True)
        assert result.status is rf.Status.STOPPED
        assert not folder.exists()

    def test_a_loop_that_was_stopped_goes_on(self, folder, given):
        def stopping(record):
            return isinstance(record, rf.OuterRecord)

        kept = Checkpoint(folder, every=0, keep=True)
        assert rf.align(**given, checkpoint=kept, observe=stopping).status is rf.Status.STOPPED
        assert iterations_in(folder) == 1
        assert same(rf.align(**given, checkpoint=folder), rf.align(**given))

    def test_threads_are_no_part_of_it(self, interrupted, given):
        assert same(rf.align(**given, n_jobs=2, checkpoint=interrupted), rf.align(**given))

    def test_goes_where_a_run_ends_by_itself(self, folder, given):
        with pytest.raises(rf.ConvergenceError):
            rf.align(**{**given, "outer_tol": 0.0}, checkpoint=folder, strict=True)
        assert not folder.exists()

    def test_a_method_that_moves_nothing_has_none(self, folder, given):
        with pytest.raises(rf.InputError, match=r"checkpoint=.* has no effect with method 'rpca'"):
            rf.align(given["images"], "rpca", frame=given["frame"], checkpoint=folder)


class TestDamage:
    def test_a_lost_state_costs_the_loop_and_no_bits(self, interrupted, given):
        whole = (interrupted / NEWEST).read_bytes()
        for bad in (whole[:-20], whole[:50], b"", whole.replace(whole[900:910], b"0123456789")):
            (interrupted / NEWEST).write_bytes(bad)
            assert read_facts(interrupted / NEWEST) is None
            assert iterations_in(interrupted) == 0
        assert same(rf.align(**given, checkpoint=interrupted), rf.align(**given))

    @pytest.mark.parametrize("lost", ["newest", "call", "both"])
    def test_so_does_a_lost_loop(self, folder, heads, lost):
        options = {"frame": heads.frame, "init": heads.start, "method": "rasl", "max_outer": 3}
        options |= {"features": "contrast"}
        plain = rf.align(heads.images, **options)
        rf.align(heads.images, **options, checkpoint=Checkpoint(folder, keep=True))
        assert len(finished_calls(folder)) == 2
        if lost in ("newest", "both"):
            (folder / NEWEST).write_bytes(b"half of it")
        if lost in ("call", "both"):
            finished_calls(folder)[0].write_bytes(b"half of it")
        assert same(rf.align(heads.images, **options, checkpoint=folder), plain)

    def test_a_call_that_is_made_again_leaves_later_states_alone(self, folder):
        journal = Remembering(folder_with_two_loops(folder), every=0)
        journal.loop(MOTION, lambda _, keep: keep(STATE) or OuterResult.of(STATE), True)
        assert read_facts(folder / NEWEST)["call"] == 1

    def test_a_file_in_the_making_is_ignored(self, interrupted, given):
        (interrupted / (NEWEST + checkpoints.PARTIAL)).write_bytes(b"half of it")
        assert iterations_in(interrupted) == 1
        assert same(rf.align(**given, checkpoint=interrupted), rf.align(**given))

    def test_a_damaged_head_is_refused(self, interrupted, given):
        (interrupted / HEAD).write_text("{")
        with pytest.raises(rf.FormatError, match=r"damaged checkpoint .* `rankfold clean .*`"):
            rf.align(**given, checkpoint=interrupted)

    def test_a_folder_that_was_killed_at_birth_is_good(self, folder, given):
        folder.mkdir()
        (folder / LOCK).touch()
        assert same(rf.align(**given, checkpoint=folder), rf.align(**given))


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda o: {"images": [*o["images"][:-1], o["images"][0]]}, "other pictures"),
            (lambda o: {"masks": [np.ones(i.shape) - np.eye(*i.shape) for i in o["images"]]},
             "other pictures"),
            (lambda _: {"frame": (40, 40)}, "another frame than 40x40"),
            (lambda o: {"init": o["init"] @ np.diag([1.01, 1.01, 1])}, "another init"),
            (lambda _: {"max_outer": 4}, r"max_outer=3 \(now 4\)"),
            (lambda _: {"family": "affine"}, r'family="translation" \(now "affine"\)'),
            (lambda _: {"settings": rf.AlignSettings().changed({"steps.trust": 2.5})},
             r"steps.trust=3.0 \(now 2.5\)"),
        ],
    )  # fmt: skip
    def test_what_differs_is_named(self, interrupted, given, change, words):
        said = f"is the checkpoint of a run with {words}; remove it with `rankfold clean "
        with pytest.raises(rf.InputError, match=said):
            rf.align(**{**given, **change(given)}, checkpoint=interrupted)
        # What was refused is still there.
        assert same(rf.align(**given, checkpoint=interrupted), rf.align(**given))

    @pytest.mark.parametrize(("name", "error"), [("version", rf.InputError),
                                                 ("format_version", rf.FormatError)])  # fmt: skip
    def test_another_version_is_refused(self, interrupted, given, name, error):
        head = json.loads((interrupted / HEAD).read_text())
        (interrupted / HEAD).write_text(json.dumps({**head, name: "0.0.9"}))
        with pytest.raises(error, match=r"checkpoint of .* rankfold"):
            rf.align(**given, checkpoint=interrupted)

    def test_an_address_in_memory_is_no_difference(self, folder, given):
        class Still:
            def __call__(self, context):
                return context.low_rank

        options = {**given, "projector": Still()}
        with pytest.raises(Interruption):
            rf.align(**options, checkpoint=folder, observe=interrupting)
        options["projector"] = Still()
        rf.align(**options, checkpoint=folder)

    def test_a_folder_with_something_else_in_it(self, tmp_path, given):
        (tmp_path / "mine.txt").touch()
        with pytest.raises(rf.InputError, match="is no checkpoint, and something is in it"):
            rf.align(**given, checkpoint=tmp_path)

    def test_a_checkpoint_in_use(self, interrupted, given):
        with take(interrupted / LOCK, stays=True):
            with pytest.raises(rf.InputError, match=r"used by another run \(process \d+ on"):
                rf.align(**given, checkpoint=interrupted)
            with pytest.raises(rf.InputError, match="used by another run"):
                rf.align(**{**given, "max_outer": 9}, checkpoint=interrupted)

    def test_a_place_that_cannot_be_written(self, tmp_path, given):
        (tmp_path / "file").touch()
        with pytest.raises(rf.WriteError, match="cannot be written"):
            rf.align(**given, checkpoint=tmp_path / "file" / "checkpoint")

    def test_a_full_disk(self, folder, given, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(checkpoints, "write_arrays", full)
        said = r"the checkpoint .* cannot be written \(no space is left\); make room"
        with pytest.raises(rf.WriteError, match=said):
            rf.align(**given, checkpoint=folder)

    def test_a_time_that_is_none(self):
        with pytest.raises(rf.InputError, match="every=-1 must be zero or a number of seconds"):
            Checkpoint(Path("x"), every=-1)


MOTION = Motion.starting_at(np.tile(np.eye(3), (2, 1, 1)), FAMILIES["translation"], np.zeros(2))
STATE = LoopState(MOTION)


def folder_with_two_loops(folder):
    """A checkpoint in which two loops are remembered, and the file of the first is damaged."""
    folder.mkdir()
    journal = Remembering(folder, every=0)
    for _ in range(2):
        journal.loop(MOTION, lambda *_: OuterResult.of(STATE), False)
    finished_calls(folder)[0].write_bytes(b"half of it")
    return folder


class TestWriting:
    @pytest.mark.parametrize(
        ("every", "takes", "written"),
        [(1.0, 0.0, [1, 3, 5]), (0.0, 0.5, [1, 2, 3, 4, 5]), (0.4, 0.2, [1, 4])],
        ids=["every second", "always", "a tenth of the time"],
    )
    def test_takes_its_turn(self, folder, monkeypatch, every, takes, written):
        folder.mkdir()
        now = [0.0]
        states = []
        pack = remembering.pack_state

        def packing(state, with_solution):
            now[0] += takes
            states.append(state.level)
            return pack(state, with_solution)

        monkeypatch.setattr(remembering, "pack_state", packing)
        journal = Remembering(folder, every, clock=lambda: now[0])

        def run(_, keep):
            for k in range(1, 6):
                keep(replace(STATE, level=k))
                now[0] += 0.7
            raise Interruption

        with pytest.raises(Interruption):
            journal.loop(MOTION, run, False)
        assert states == written
        journal.flush()
        journal.flush()
        assert read_packed(folder / NEWEST).facts["level"] == 5

    def test_arrays_are_only_where_they_are_needed(self, folder, heads):
        options = {"frame": heads.frame, "init": heads.start, "method": "rasl"}
        for schedule, needed in (("auto", True), ("published", False)):
            kept = Checkpoint(folder / schedule, keep=True)
            rf.align(heads.images, **options, schedule=schedule, checkpoint=kept)
            assert ("sparse" in read_packed(kept.folder / NEWEST).arrays) == needed
            assert "sparse" not in read_packed(finished_calls(kept.folder)[0]).arrays


class TestPacking:
    def test_a_state_comes_back_as_it_was(self, tmp_path, heads, monkeypatch):
        kept = []
        monkeypatch.setattr(Remembering, "_keep", lambda _, pending: kept.append(pending.state))
        options = {"frame": heads.frame, "init": heads.start, "method": "rasl", "max_outer": 2}
        rf.align(heads.images, **options, checkpoint=tmp_path / "checkpoint")
        state = kept[-1]
        write_packed(tmp_path / "state.npz", pack_state(state, with_solution=True))
        again = unpack_state(read_packed(tmp_path / "state.npz"), state.motion)
        # As text, because a gap may be NaN, which equals nothing; it has all digits.
        assert repr(again.inner) == repr(state.inner)
        assert repr(again.solution.records) == repr(state.solution.records)
        assert (again.level, again.since, again.status) == (state.level, state.since, state.status)
        for name in ("low_rank", "sparse", "dual", "delta", "singular_values"):
            one = getattr(again.solution, name)
            assert one.tobytes() == getattr(state.solution, name).tobytes()
        for one, two in zip(again.outer, state.outer, strict=True):
            assert (one.stage, one.inner_status) == (two.stage, two.inner_status)
            assert one.transforms.tobytes() == two.transforms.tobytes()
            assert one.objective == two.objective

    def test_so_do_matches(self, tmp_path):
        rng = np.random.default_rng(0)
        links = (
            Link(0, 1, rng.random((4, 2)), rng.random((4, 2))),
            Link(0, 2, rng.random((3, 2)), rng.random((3, 2))),
        )
        found = Matches(
            names=("a", "b", "c", "d"),
            family="affine",
            reference=1,
            transforms=rng.random((4, 3, 3)),
            reached=np.array([True, True, True, False]),
            groups=((0, 1, 2), (3,)),
            links=links,
            keypoints=np.arange(4),
            residual=np.array([0.1, 0.2, 0.3, np.nan]),
        )
        for matches in (found, replace(found, links=())):
            write_packed(tmp_path / "matches.npz", pack_matches(matches))
            again = unpack_matches(read_packed(tmp_path / "matches.npz"))
            assert repr(again) == repr(matches)
            assert again.groups == matches.groups
            np.testing.assert_array_equal(again.residual, matches.residual)
            for one, two in zip(again.links, matches.links, strict=True):
                assert (one.one, one.two) == (two.one, two.two)
                np.testing.assert_array_equal(one.points_one, two.points_one)
                np.testing.assert_array_equal(one.points_two, two.points_two)

    def test_nothing_is_pickled(self, tmp_path):
        objects = np.array([{}], dtype=object)
        np.savez(tmp_path / "bad.npz", facts=objects)
        assert read_packed(tmp_path / "bad.npz") is None
        assert read_facts(tmp_path / "bad.npz") is None
        assert Packed({}, {}).arrays == {}
