"""Matrices, pictures, threads: what the cases are measured on."""

from pathlib import Path

import numpy as np
import pytest

from rankfold.stack import Frame
from rankfold_lab.bench.inputs import cut_with_margin, generated, heads
from rankfold_lab.bench.robust_pca import objective
from rankfold_lab.bench.setting import Setting


def test_the_objective_is_that_of_a_feasible_point():
    X = np.diag([3.0, 2.0])
    assert objective(X, np.zeros((2, 2)), 0.5) == pytest.approx(5)
    assert objective(X, X, 0.5) == pytest.approx(2.5)


def test_generated_matrices_are_low_rank_and_errors():
    clean, hit = (generated(20, 3000, rank=3, corrupted=share) for share in (0.0, 0.1))
    assert np.linalg.matrix_rank(clean) == 3
    assert np.linalg.matrix_rank(hit) == 20
    np.testing.assert_array_equal(hit, generated(20, 3000, rank=3, corrupted=0.1))


def test_pictures_cut_with_a_margin_hold_the_frame_inset():
    batch = heads(3)
    frame = Frame(*batch["frame"])
    wide = cut_with_margin(batch["images"], batch["start"], frame, 4)
    plain = cut_with_margin(batch["images"], batch["start"], frame, 0)
    assert wide[0].shape == (frame.height + 8, frame.width + 8)
    inset = np.stack(wide)[:, 4:-4, 4:-4]
    ratio = np.max(inset)
    np.testing.assert_allclose(inset / ratio, np.stack(plain), atol=1e-12)


def test_all_threads_are_measured_beside_one():
    threads = Setting(Path(), 1, quick=False).threads
    assert threads[0] == 1
    assert Setting(None, 1, quick=True).threads == [1]
