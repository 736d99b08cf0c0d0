"""Readers of data sets: the layouts that people have, and what is said when something is missing."""

import bz2
import gzip

import numpy as np
import pytest
from scipy.io import savemat

import rankfold as rf
from conftest import DATA
from rankfold.datasets.ar import read_ar
from rankfold.datasets.usps import read_usps
from rankfold.datasets.wild import read_lfw, read_oxford
from rankfold.datasets.yale import read_yale_subject
from rankfold.io import write_picture

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


class TestUsps:
    labels = np.array([1, 4, 1, 0, 9, 1])
    values = np.round(RNG.random((6, 256)), 3)

    def lines(self, libsvm):
        for label, row in zip(self.labels, self.values, strict=True):
            scaled = 2 * row - 1
            if libsvm:
                yield f"{label + 1} " + " ".join(
                    f"{k + 1}:{v:.6f}" for k, v in enumerate(scaled) if v > -1
                )
            else:
                yield f"{label:.4f} " + " ".join(f"{v:.6f}" for v in scaled)

    NAMES = ("usps.h5", "usps", "usps.bz2", "zip.train", "zip.train.gz")
    PLACES = tuple(
        (name, below)
        for name in NAMES
        for below in ("", "usps")
        if (name, below) != ("usps", "usps")
    )

    @pytest.mark.parametrize(("name", "below"), PLACES)
    def test_every_form_gives_the_same_digits(self, tmp_path, name, below):
        folder = tmp_path / below
        folder.mkdir(exist_ok=True)
        if name.endswith(".h5"):
            import h5py

            with h5py.File(folder / name, "w") as file:
                file["train/data"], file["train/target"] = self.values, self.labels
        else:
            text = "\n".join(self.lines(libsvm=name.startswith("usps"))) + "\n"
            opener = {"bz2": bz2.open, "gz": gzip.open}.get(name.split(".")[-1], open)
            with opener(folder / name, "wt") as file:
                file.write(text)
        ones = read_usps(tmp_path, 1)
        np.testing.assert_allclose(ones.reshape(3, -1), self.values[self.labels == 1], atol=1e-5)
        with pytest.raises(
            rf.FormatError, match=r"no pictures of the digit 7; it has \[0, 1, 4, 9\]"
        ):
            read_usps(tmp_path, 7)

    def test_what_is_missing_is_said(self, tmp_path):
        with pytest.raises(rf.FormatError, match=r"has no USPS digits; put usps\.h5"):
            read_usps(tmp_path, 1)
        (tmp_path / "zip.train").write_text("1 2 3\n")
        with pytest.raises(rf.FormatError, match="3 numbers a line instead of 257"):
            read_usps(tmp_path, 1)


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


@pytest.mark.skipif(
    not (DATA / "ar").is_dir(),
    reason=f"needs the data sets in {DATA}; set RANKFOLD_DATA to their folder",
)
def test_the_real_sets_are_read():
    assert read_ar(DATA, 1).images.shape == (13, 60, 40)
    assert read_usps(DATA, 4).shape[1:] == (16, 16)
    assert read_lfw(DATA, "Laura_Bush").landmarks.shape == (41, 5, 2)
    assert read_oxford(DATA, "graf").homographies.shape == (6, 3, 3)
    assert len(read_yale_subject(DATA, 1).images) == 64
