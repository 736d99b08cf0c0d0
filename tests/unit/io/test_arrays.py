"""Array files: which array is meant, and what is no stack."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import open_pictures
from unit.io.samples import noise


def test_one_of_several_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", one=noise((2, 8, 8)), two=noise((3, 8, 8)))
    with pytest.raises(rf.InputError, match=r"has 2 arrays; choose one by its key: one, two"):
        open_pictures(tmp_path / "a.npz")
    assert len(open_pictures(tmp_path / "a.npz", key="two")) == 3
    with pytest.raises(rf.InputError, match="no array 'three'"):
        open_pictures(tmp_path / "a.npz", key="three")


def test_arrays_that_are_no_stacks(tmp_path):
    np.save(tmp_path / "a.npy", noise((8, 8)))
    with pytest.raises(rf.InputError, match=r"shape \(8, 8\)"):
        open_pictures(tmp_path / "a.npy")
    (tmp_path / "b.npy").write_text("no")
    with pytest.raises(rf.FormatError, match=r"b\.npy cannot be read"):
        open_pictures(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(rf.FormatError, match=r"c\.npy cannot be read"):
        open_pictures(tmp_path / "c.npy")


def test_a_file_that_was_replaced_meanwhile(tmp_path):
    """Its bytes were taken for values of the type that was there before."""
    np.save(tmp_path / "a.npy", np.zeros((4, 6, 8)))
    source = open_pictures(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.ones((4, 6, 8), np.int64))
    with pytest.raises(rf.FormatError, match="the file was replaced meanwhile"):
        list(source.pictures())
