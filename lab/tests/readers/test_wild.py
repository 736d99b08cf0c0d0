"""The readers of portraits with landmarks and of planes with homographies."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import write_picture
from rankfold_lab.readers import read_lfw, read_oxford

RNG = np.random.default_rng(0)


class TestWild:
    def test_landmarks_scale_with_the_pictures(self, tmp_path):
        folder = tmp_path / "lfw" / "A_B"
        folder.mkdir(parents=True)
        write_picture(folder / "A_B_0001.jpg", 255 * RNG.random((125, 125, 3)))
        (tmp_path / "lfw" / "landmarks.txt").write_text(
            "A_B/A_B_0001.jpg\t100\t110\t150\t110\t125\t140\t105\t160\t145\t160\n"
        )
        person = read_lfw(tmp_path, "A_B")
        np.testing.assert_allclose(person.landmarks[0, 0], [49.75, 54.75])
        write_picture(folder / "A_B_0002.jpg", 255 * RNG.random((125, 125, 3)))
        with pytest.raises(rf.FormatError, match=r"no line for A_B/A_B_0002\.jpg"):
            read_lfw(tmp_path, "A_B")
        with pytest.raises(rf.FormatError, match="lacks the folder C_D"):
            read_lfw(tmp_path, "C_D")

    def test_homographies_in_both_forms(self, tmp_path):
        folder = tmp_path / "oxford_affine" / "wall"
        folder.mkdir(parents=True)
        with pytest.raises(rf.FormatError, match="lacks img1"):
            read_oxford(tmp_path, "wall")
        for k in range(1, 7):
            write_picture(folder / f"img{k}.png", 255 * RNG.random((20, 30)))
        with pytest.raises(rf.FormatError, match="H1to2p is missing"):
            read_oxford(tmp_path, "wall")
        for k in range(2, 7):
            (folder / f"H1to{k}p").write_text(f"2 0 {k}\n0 2 -1.5e0\n0 0 2\n")
        (folder / "H1to3p").write_text(
            "<opencv><rows>3</rows><data>1 0 3 0 1 4 0 0 1</data></opencv>"
        )
        plane = read_oxford(tmp_path, "wall")
        np.testing.assert_allclose(plane.homographies[1], [[1, 0, 1], [0, 1, -0.75], [0, 0, 1]])
        np.testing.assert_allclose(plane.homographies[2], [[1, 0, 3], [0, 1, 4], [0, 0, 1]])
        (folder / "H1to4p").write_text("1 2 3")
        with pytest.raises(rf.FormatError, match="3 numbers; a homography has nine"):
            read_oxford(tmp_path, "wall")
