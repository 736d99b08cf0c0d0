"""The reader of the AR faces: folders and MATLAB files."""

import numpy as np
import pytest
from scipy.io import savemat

import rankfold as rf
from rankfold.io import write_picture
from rankfold_lab.readers import read_ar

RNG = np.random.default_rng(0)


class TestAr:
    pictures = RNG.integers(0, 255, (26, 12, 10)).astype(np.uint8)

    @pytest.mark.parametrize("count", [13, 26])
    def test_a_folder_and_a_matlab_file(self, tmp_path, count):
        folder = tmp_path / "ar" / "person03"
        folder.mkdir(parents=True)
        for k in range(count):
            write_picture(folder / f"{k + 1}.png", self.pictures[k].astype(float))
        one = read_ar(tmp_path, 3)
        np.testing.assert_array_equal(one.images, self.pictures[:count])
        assert one.hidden[:13] == ("",) * 7 + ("sunglasses",) * 3 + ("scarf",) * 3
        assert len(one.hidden) == count
        savemat(
            tmp_path / "ar" / "person04.mat", {"images": np.moveaxis(self.pictures[:count], 0, -1)}
        )
        np.testing.assert_array_equal(read_ar(tmp_path, 4).images, self.pictures[:count])

    def test_what_is_missing_is_said(self, tmp_path):
        with pytest.raises(rf.FormatError, match=r"neither person01 nor person01\.mat; ask Aleix"):
            read_ar(tmp_path, 1)
        (tmp_path / "person01").mkdir()
        write_picture(tmp_path / "person01" / "1.png", self.pictures[0].astype(float))
        with pytest.raises(rf.FormatError, match="has 1 pictures; a person of the AR set has 13"):
            read_ar(tmp_path, 1)
        savemat(tmp_path / "person02.mat", {"images": np.zeros((5, 6, 7))})
        with pytest.raises(rf.FormatError, match="13 or 26 pictures"):
            read_ar(tmp_path, 2)
