"""Test-retest: what two alignments have in common is taken out, and nothing else."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.families import inverse, shift
from rankfold_lab.evaluate import retest
from rankfold_lab.evaluate.retest import disagreement, perturbed


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


def test_the_table_has_a_line_for_every_set():
    record = {"mean": 0.25, "above_1": 0.05, "max": 2.5}
    records = [{"set": name, "row": row, **record} for name in "ab" for row in retest.ROWS]
    lines = retest.table(records).splitlines()
    assert lines[0].startswith("| set | RASL | RASL + coarse | MeADMM (coarse, no features) |")
    assert lines[1] == "|---|" + "---|" * len(retest.ROWS)
    assert lines[3] == "| b |" + " 0.250 (5% > 1 px, max 2.5) |" * len(retest.ROWS)
