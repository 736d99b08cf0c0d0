import imageio.v3 as iio
import numpy as np
import pytest
from scipy.io import savemat

import rankfold as rf
from conftest import DATA, needs_rasl_sets
from rankfold.datasets import (
    facade,
    head,
    low_rank_plus_sparse,
    read_points,
    read_rasl,
    rendered_heads,
    warped_low_rank,
)
from rankfold.metrics import alignment_error, mean_scale, recovery_error, support_f1

PICTURE = np.arange(400, dtype=np.uint8).reshape(20, 20)


@pytest.mark.parametrize("make", [rendered_heads, warped_low_rank, facade])
def test_batches_are_seeded_and_their_truth_is_true(make):
    one, two, other = make(n=4, seed=1), make(n=4, seed=1), make(n=4, seed=2)
    np.testing.assert_array_equal(one.images, two.images)
    assert not np.array_equal(one.images, other.images)
    # through the true transforms all pictures show the same thing at the same place
    true = rf.align(one.clean, method="rpca", frame=one.frame, init=one.truth)
    false = rf.align(one.clean, method="rpca", frame=one.frame, init=one.start)
    assert true.objective < false.objective
    assert 0 <= np.min(one.images) <= np.max(one.images) <= 1 or make is warped_low_rank


def test_occluders_are_where_the_mask_says():
    batch = rendered_heads(10, occluded=1.0, seed=0)
    for image, clean, hidden in zip(batch.images, batch.clean, batch.hidden, strict=True):
        assert 0.1 < hidden.mean() < 0.15
        np.testing.assert_array_equal(image[~hidden], clean[~hidden])


def test_eyes_are_where_the_points_say():
    batch = rendered_heads(6, rotation=0, translation=0, lights=5, seed=0)
    aligned = rf.align(
        batch.images, method="rpca", frame=batch.frame, init=batch.truth
    ).aligned.mean(axis=0)
    for x, y in batch.points:
        window = aligned[round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2]
        brows_and_cheeks = aligned[round(y) - 8 : round(y) + 9, round(x) - 5 : round(x) + 6]
        assert window.min() < np.quantile(brows_and_cheeks, 0.05) + 1e-9


class TestLight:
    def test_a_flat_matte_surface_follows_the_cosine(self):
        lamp = head.light(30, 40)
        picture = head.shade(np.zeros((40, 40)), np.full((40, 40), 0.5), lamp, 20.0, ambient=0.0)
        expected = 0.5 * np.cos(np.radians(30)) * np.cos(np.radians(40))
        np.testing.assert_allclose(picture[5:-5, 5:-5], expected, rtol=1e-3)

    def test_normals_face_the_lamp(self):
        slope = 0.3 * np.mgrid[:50, :50][1] / 25.0  # rises to the right: brighter from the left
        left, right = (
            head.shade(slope, np.ones((50, 50)), head.light(a, 0), 25.0, 0.0)[25, 25]
            for a in (-20, 20)
        )
        angle = np.arctan(0.3)
        assert left == pytest.approx(np.cos(angle - np.radians(20)), abs=1e-3)
        assert right == pytest.approx(np.cos(angle + np.radians(20)), abs=1e-3)

    def test_a_wall_casts_a_shadow_of_the_right_length(self):
        heights = np.zeros((30, 120))
        heights[:, 30:34] = 0.5  # half a unit high, 40 px a unit
        seen = head.visible(heights, head.light(-45, 0), 40.0)  # lamp to the left at 45 degrees
        shadow = (seen[15, 34:] < 0.5).sum()
        assert shadow == pytest.approx(0.5 * 40, abs=3)
        assert (seen[15, :28] > 0.9).all()


def test_low_rank_plus_sparse_is_what_it_says():
    truth = low_rank_plus_sparse(50, 70, 4, 0.1, 0)
    np.testing.assert_array_equal(truth.data, truth.low_rank + truth.sparse)
    assert np.linalg.matrix_rank(truth.low_rank) == 4
    assert (truth.sparse != 0).mean() == pytest.approx(0.1, abs=0.02)


class TestRaslReader:
    def folder(self, tmp_path, points):
        for k, matrix in enumerate(points):
            iio.imwrite(tmp_path / f"{k}.png", PICTURE)
            savemat(tmp_path / f"{k}-points.mat", {"points": matrix})
        return tmp_path

    def test_points_become_zero_based_xy(self, tmp_path):
        folder = self.folder(tmp_path, [np.array([[1, 5], [2, 7]]), np.array([[3, 5], [2, 7]])])
        (folder / "Thumbs.db").write_bytes(b"not a picture")
        data = read_rasl(folder)
        assert data.names == ["0.png", "1.png"]
        np.testing.assert_array_equal(data.points[0], [[0, 1], [4, 6]])
        np.testing.assert_array_equal(data.images[0], PICTURE)

    @pytest.mark.parametrize(
        "content",
        [
            {"points": np.zeros((3, 2))},
            {"points": np.full((2, 2), np.nan)},
            {"x": 1},
            {"points": np.zeros(4)},
        ],
    )
    def test_points_of_the_wrong_shape_name_the_file(self, tmp_path, content):
        savemat(tmp_path / "a-points.mat", content)
        with pytest.raises(
            rf.FormatError, match=r"a-points.mat holds points of shape .* 2 x k matrix"
        ):
            read_points(tmp_path / "a-points.mat")

    def test_other_trouble_is_named_too(self, tmp_path):
        with pytest.raises(rf.FormatError, match=r"has no \*-points.mat files"):
            read_rasl(tmp_path)
        (tmp_path / "a-points.mat").write_bytes(b"nonsense")
        with pytest.raises(rf.FormatError, match="cannot be read as a MATLAB file"):
            read_points(tmp_path / "a-points.mat")
        savemat(tmp_path / "a-points.mat", {"points": np.ones((2, 2))})
        with pytest.raises(rf.FormatError, match="no picture a"):
            read_rasl(tmp_path)
        (tmp_path / "a.png").write_bytes(b"nonsense")
        with pytest.raises(rf.FormatError, match=r"a.png is not a picture"):
            read_rasl(tmp_path)
        (tmp_path / "a.png").unlink()
        folder = self.folder(tmp_path, [np.ones((2, 2)), np.ones((2, 3))])
        (tmp_path / "a-points.mat").unlink()
        with pytest.raises(rf.FormatError, match="different numbers of points"):
            read_rasl(folder)

    @needs_rasl_sets
    @pytest.mark.parametrize(
        ("name", "count"), [("Dummy_59_59", 100), ("Digits_3", 100), ("Al_Gore", 140)]
    )
    def test_the_published_sets_are_read(self, name, count):
        data = read_rasl(DATA / "rasl" / name)
        assert len(data.images) == count
        assert data.points.shape == (count, 2, 2)


def test_metrics_on_cases_done_by_hand():
    truth = np.tile(np.eye(3), (5, 1, 1))
    moved = truth.copy()
    moved[:, 0, 2] = [3, 3, 3, 3, 7]  # all shifted by 3 (gauge), one by 4 more
    error = alignment_error(moved, truth, np.zeros((2, 2)))
    assert error.mean == pytest.approx(0.8)
    assert error.max == pytest.approx(4)
    assert error.share_above_one == pytest.approx(0.2)
    assert mean_scale(
        truth * [[2, 2, 1], [2, 2, 1], [1, 1, 1]], truth, np.zeros(2)
    ) == pytest.approx(2)
    assert recovery_error(np.array([1.0, 2]), np.array([1.0, 1])) == pytest.approx(1 / np.sqrt(2))
    assert support_f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])) == pytest.approx(0.5)


def test_usps_is_read_and_other_files_are_refused(tmp_path):
    import h5py

    from rankfold.datasets.usps import read_usps

    with h5py.File(tmp_path / "usps.h5", "w") as file:
        file["train/data"] = np.tile(np.arange(256) / 255, (6, 1))
        file["train/target"] = [1, 4, 1, 1, 2, 4]
    assert read_usps(tmp_path / "usps.h5", 1).shape == (3, 16, 16)
    assert read_usps(tmp_path / "usps.h5", 1, 2).shape == (2, 16, 16)
    (tmp_path / "bad.h5").write_bytes(b"nonsense")
    with pytest.raises(rf.FormatError, match="is not the USPS file"):
        read_usps(tmp_path / "bad.h5", 1)
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file["train/data"], file["train/target"] = np.zeros((6, 100)), np.zeros(6)
    with pytest.raises(rf.FormatError, match="digits are 16 x 16"):
        read_usps(tmp_path / "odd.h5", 1)
