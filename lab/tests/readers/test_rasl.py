"""The reader of the published RASL sets."""

import numpy as np
import pytest
from scipy.io import savemat

import rankfold as rf
from rankfold.io import write_picture
from rankfold_lab.readers import read_points, read_rasl
from real_data import DATA, needs

PICTURE = np.arange(400, dtype=np.uint8).reshape(20, 20)


class TestRaslReader:
    def folder(self, tmp_path, points):
        for k, matrix in enumerate(points):
            write_picture(tmp_path / f"{k}.png", PICTURE)
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

    @needs("rasl")
    @pytest.mark.parametrize(
        ("name", "count"), [("Dummy_59_59", 100), ("Digits_3", 100), ("Al_Gore", 140)]
    )
    def test_the_published_sets_are_read(self, name, count):
        data = read_rasl(DATA / "rasl" / name)
        assert len(data.images) == count
        assert data.points.shape == (count, 2, 2)
