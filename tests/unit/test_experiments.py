"""The experiments' machinery, on little data."""

import itertools

import numpy as np
import pytest

import rankfold as rf
from conftest import DATA
from rankfold.admm import solve
from rankfold.experiments import ablation, speed
from rankfold.experiments.faces import OCCLUDERS, PROTOCOLS, make_batch
from rankfold.experiments.retest import disagreement, perturbed
from rankfold.families import inverse, shift
from rankfold.metrics import alignment_error

FACES = DATA / "extended_yale_b"
needs_faces = pytest.mark.skipif(
    not FACES.is_dir(),
    reason=f"needs the Extended Yale B faces in {FACES}; set RANKFOLD_DATA to the folder above",
)


@needs_faces
class TestFaces:
    def test_lights_are_selected_and_the_truth_is_true(self):
        for name, count in (("P1", 64), ("P2", 50), ("P4", 33)):
            batch = make_batch(FACES, 1, PROTOCOLS[name], 0)
            assert len(batch.images) == count
        start = alignment_error(batch.start, batch.truth, batch.points).mean
        assert 1.3 < start < 2.0
        one, two = (make_batch(FACES, 1, PROTOCOLS["P4"], 0).images for _ in range(2))
        np.testing.assert_array_equal(one, two)
        true = rf.align(batch.clean, method="rpca", frame=batch.frame, init=batch.truth)
        false = rf.align(batch.clean, method="rpca", frame=batch.frame, init=batch.start)
        assert true.objective < false.objective

    def test_a_killed_run_goes_on_where_it_was(self, tmp_path):
        log = tmp_path / "log.jsonl"
        todo = ablation.cells(["P4"], [7], 1)
        rows = ["RASL", "MeADMM"]
        assert list(ablation.run(FACES, log, todo, rows[:1])) == [(1, 1)]
        first = log.read_text()
        log.write_text(first + '{"protocol": "P4", "subj')  # cut short by a kill
        assert list(ablation.run(FACES, log, todo, rows)) == [(1, 1)]
        assert log.read_text().startswith(first)
        assert list(ablation.run(FACES, log, todo, rows)) == []
        records = ablation.read_log(log)
        assert [r["row"] for r in records] == rows
        rasl, meadmm = records
        assert meadmm["eye"] < rasl["eye"]
        assert meadmm["rec_occ"] < 0.82 * rasl["rec_occ"]
        table = ablation.page(records, ["P4"])
        assert f"| MeADMM | 1 | {meadmm['eye']:.3f} |" in table
        assert "1/1" in table


def test_the_table_counts_wins_by_subject_and_pairs_its_t():
    def record(subject, seed, row, eye):
        zero = dict.fromkeys(
            ["above_1", "above_3", "rank", "lost", "flagged", "flagged_lost", "seconds"], 0
        )
        return {
            "protocol": "P1",
            "subject": subject,
            "seed": seed,
            "row": row,
            "eye": eye,
            "rec_occ": eye,
            "rec_all": 1.0,
            **zero,
        }

    values = {1: (1.0, 0.5), 2: (1.0, 0.7), 3: (1.0, 1.2)}
    records = [
        record(s, k, r, v)
        for s, pair in values.items()
        for k in (0, 1)
        for r, v in zip(("RASL", "MeADMM"), pair, strict=True)
    ]
    from scipy.stats import ttest_rel

    t = ttest_rel([0.5, 0.7, 1.2], [1.0, 1.0, 1.0]).statistic
    assert f"0.80, 2/3, {t:.1f}" in ablation.table(records, "P1")


def test_unknown_names_are_refused_with_the_known_ones(tmp_path):
    with pytest.raises(rf.InputError, match="unknown protocol 'P9'; choose from P1"):
        ablation.cells(["P9"], [1], 1)
    with pytest.raises(rf.InputError, match="unknown row 'Magic'; choose from RASL"):
        next(ablation.run(tmp_path, tmp_path / "log", [], ["Magic"]))
    with pytest.raises(rf.FormatError, match=r"has no folders yaleB01.*ask the University"):
        make_batch(tmp_path, 3, PROTOCOLS["P1"], 0)


@pytest.mark.parametrize("name", list(OCCLUDERS))
def test_occluders_hide_what_they_should(name):
    share = {"rectangle": 0.12, "large": 0.4, "branches": 0.14, "salt": 0.1, "band": 0.22}[name]
    masks = [OCCLUDERS[name]((96, 84), np.random.default_rng(k))[0].mean() for k in range(20)]
    assert np.mean(masks) == pytest.approx(share, rel=0.3)


class TestRetest:
    frame = rf.Frame(20, 24)
    start = np.tile(np.diag([1.5, 1.5, 1.0]), (12, 1, 1))

    def test_equal_answers_agree_whatever_they_have_in_common(self):
        one = perturbed(self.start, self.frame, 10, 2, 0)
        common = shift(np.array([3.0, -1])) @ np.array([[1.1, -0.2, 0], [0.2, 1.1, 0], [0, 0, 1]])
        assert disagreement(one, one @ common, self.frame).max() < 1e-9

    def test_one_that_disagrees_does_not_pull_the_others_along(self):
        two = self.start.copy()
        two[5] = two[5] @ shift(np.array([4.0, 0]))
        off = disagreement(self.start, two, self.frame)
        assert off[5] == pytest.approx(4, abs=1e-6)
        assert np.delete(off, 5).max() < 1e-6

    def test_perturbations_are_as_large_as_asked(self):
        moved = inverse(self.start) @ perturbed(self.start, self.frame, 15, 2, 1)
        angles = np.degrees(np.arctan2(moved[:, 1, 0], moved[:, 0, 0]))
        assert 5 < np.abs(angles).max() <= 15


def test_the_speed_command_measures_both():
    timings = speed.iteration_times(repeats=1)
    assert [shape.split(" (")[0] for shape in timings] == ["64 x 1,890", "140 x 4,800"]
    assert all(t.rasl > 0 and t.meadmm > 0 for t in timings.values())


@pytest.mark.parametrize(("repeats", "seconds", "turns"), [(3, 0.0, 3), (1, 7.0, 3)])
def test_both_methods_are_timed_until_the_time_is_up(monkeypatch, repeats, seconds, turns):
    ticks, ends = itertools.count(), []
    monkeypatch.setattr(
        speed.time, "perf_counter", lambda: float(next(ticks))
    )  # a run takes a second
    monkeypatch.setattr(speed, "solve", lambda *words: ends.append(solve(*words)) or ends[-1])
    timing = speed.time_both(speed.moving_problem((8, 6, 5)), repeats=repeats, seconds=seconds)
    assert len(ends) == 2 + 3 * turns  # the first of each is not timed
    assert timing.rasl == timing.meadmm == pytest.approx(1e3 / speed.ITERATIONS)
    assert timing.ratio == timing.free == 1
    rasl, meadmm = ends[:2]
    assert not np.array_equal(rasl.low_rank, meadmm.low_rank)
    for again, made, given in zip(
        *[iter(ends[2:])] * 3, strict=True
    ):  # what is given is what is made
        np.testing.assert_array_equal(again.low_rank, rasl.low_rank)
        np.testing.assert_array_equal(made.low_rank, meadmm.low_rank)
        np.testing.assert_array_equal(given.low_rank, meadmm.low_rank)
    assert all(1 <= rank <= 8 for rank in timing.ranks)
