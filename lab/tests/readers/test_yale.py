"""The reader of the Extended Yale B faces: the layouts that people have."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import write_picture
from rankfold_lab.readers import read_yale_subject

RNG = np.random.default_rng(0)


class TestYale:
    def fill(self, folder, lamps=5, shape=(192, 168)):
        folder.mkdir(parents=True)
        for k in range(lamps):
            write_picture(
                folder / f"yaleB01_P00A{5 * k:+04d}E+{k:02d}.pgm", 255 * RNG.random(shape)
            )
        return folder

    @pytest.mark.parametrize("below", ["", "CroppedYale", "extended_yale_b"])
    def test_folders_as_they_are_unpacked(self, tmp_path, below):
        folder = self.fill(tmp_path / below / "yaleB01")
        (folder / "yaleB01_P00_Ambient.pgm").write_bytes(b"P5\n")
        (folder / "yaleB01_P00A+050E-40.pgm.bad").write_bytes(b"x")
        (folder / "yaleB01_P00.info").write_text("x")
        subject = read_yale_subject(tmp_path, 1)
        assert subject.images.shape == (5, 192, 168)
        assert subject.azimuth.tolist() == [0, 5, 10, 15, 20]
        assert subject.elevation.tolist() == [0, 1, 2, 3, 4]
        assert subject.missing == 59

    def test_what_is_missing_is_said(self, tmp_path):
        with pytest.raises(rf.FormatError, match=r"no folders yaleB01.*San Diego"):
            read_yale_subject(tmp_path, 1)
        self.fill(tmp_path / "yaleB01")
        with pytest.raises(rf.FormatError, match=r"yaleB02 does not exist.*San Diego"):
            read_yale_subject(tmp_path, 2)
        self.fill(tmp_path / "yaleB03", lamps=1)
        with pytest.raises(rf.FormatError, match="has 1 pictures named like"):
            read_yale_subject(tmp_path, 3)
        self.fill(tmp_path / "yaleB04", shape=(20, 20))
        with pytest.raises(rf.FormatError, match=r"are \(192, 168\)"):
            read_yale_subject(tmp_path, 4)
        self.fill(tmp_path / "yaleB05", lamps=65)
        with pytest.raises(rf.FormatError, match=r"65 pictures.*one pose only"):
            read_yale_subject(tmp_path, 5)
