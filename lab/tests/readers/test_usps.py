"""The reader of the USPS digits: every form gives the same pictures."""

import bz2
import gzip

import h5py
import numpy as np
import pytest

import rankfold as rf
from rankfold_lab.readers import read_usps

RNG = np.random.default_rng(0)


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


def test_usps_is_read_and_other_files_are_refused(tmp_path):
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
