"""Stacks in one TIFF: axes with and without names, one header for all, alpha."""

import numpy as np
import pytest
import tifffile

import rankfold as rf
from rankfold.io import open_pictures, write_pictures
from unit.io.samples import noise, np_file


def test_axes_of_an_ome_stack_are_chosen_by_name(tmp_path):
    values = noise((3, 4, 2, 8, 9))
    tifffile.imwrite(
        tmp_path / "a.ome.tif", values, metadata={"axes": "TZCYX"}, photometric="minisblack"
    )
    with pytest.raises(rf.InputError, match=r"T \(3\), Z \(4\).*as in select Z=0"):
        open_pictures(tmp_path / "a.ome.tif")
    source = open_pictures(tmp_path / "a.ome.tif", select=("Z=2", "C=1"))
    np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values[:, 2, 1])
    both = open_pictures(tmp_path / "a.ome.tif", select=("T=1",))
    np.testing.assert_array_equal(
        np.stack([p.values for p in both.pictures()]), np.moveaxis(values[1], 1, -1)
    )
    for bad in ("Z=9", "Q=0", "Y=1", "Z"):
        with pytest.raises(rf.InputError, match=rf"select {bad} does not fit .*Z=0\.\.3"):
            open_pictures(tmp_path / "a.ome.tif", select=(bad,))


def test_files_without_names_for_their_axes(tmp_path):
    values = noise((3, 4, 8, 9))
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack")
    with pytest.raises(rf.InputError, match=r"Q \(3\), R \(4\)"):
        open_pictures(tmp_path / "a.tif")
    source = open_pictures(tmp_path / "a.tif", select=("Q=2",))
    np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values[2])


def test_a_stack_with_one_header_for_all_pages(tmp_path):
    values = noise((5, 8, 9), np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", truncate=True)
    source = open_pictures(tmp_path / "a.tif")
    np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values)


def test_alpha_of_a_stack_is_a_mask_and_pages_of_another_size_are_named(tmp_path):
    values = noise((3, 8, 9, 4))
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="rgb", extrasamples=["unassalpha"])
    with tifffile.TiffWriter(tmp_path / "a.tif", append=True) as file:
        file.write(noise((5, 5)), photometric="minisblack")
    source = open_pictures(tmp_path / "a.tif")
    assert source.shapes[0] == (8, 9, 3)
    assert source.left_out == ("series 2 of a.tif",)
    first = next(source.pictures())
    np.testing.assert_array_equal(first.values, values[0, ..., :3])
    np.testing.assert_array_equal(first.mask, values[0, ..., 3] >= 127.5)


def test_pictures_are_written_one_at_a_time(tmp_path):
    source = open_pictures(np_file(tmp_path, noise((6, 8, 9))))
    made, seen = [], []

    def pictures():
        for k in range(6):
            made.append(k)
            yield np.zeros((8, 9))

    from rankfold.io import tiff_stack

    plain = tiff_stack.as_samples
    tiff_stack.as_samples = lambda *args: (seen.append(len(made)), plain(*args))[1]
    try:
        write_pictures(tmp_path / "out", source.names, pictures(), source, "tiff")
    finally:
        tiff_stack.as_samples = plain
    assert seen == [1, 2, 3, 4, 5, 6]
