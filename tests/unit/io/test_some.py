"""Some pictures of a source: read alone, from every format, and opened once more as before."""

import numpy as np
import pytest

from rankfold.errors import FormatError, InputError
from rankfold.io import open_pictures, reopen, write_picture, write_pictures
from unit.io.samples import noise, np_file, replace_path, smooth


def written(tmp_path, format):
    """Six small pictures in a format."""
    values = smooth(channels=1)
    like = open_pictures(np_file(tmp_path, values))
    if format == "video":
        like = replace_path(like, "clip.mp4")
    names = tuple(f"p{k}" for k in range(6))
    return write_pictures(tmp_path / "out", names, values, like, format)


@pytest.mark.parametrize("format", ["array", "pictures", "tiff", "video", "zarr"])
def test_some_are_the_same_as_among_all(tmp_path, format):
    if format == "zarr":
        pytest.importorskip("zarr")
    source = open_pictures(written(tmp_path, format))
    every = list(source.pictures())
    some = source.some([1, 4, 5])
    assert some.names == tuple(source.names[k] for k in (1, 4, 5))
    assert some.shapes == source.shapes[:3]
    for picture, k in zip(some.pictures(), (1, 4, 5), strict=True):
        np.testing.assert_array_equal(picture.values, every[k].values)
    # Some of some, and some of grey.
    (last,) = some.some([2]).pictures()
    np.testing.assert_array_equal(last.values, every[5].values)
    (grey,) = source.in_grey().some([4]).pictures()
    np.testing.assert_array_equal(grey.values, every[4].grey.values)


def test_no_other_file_is_read(tmp_path):
    for k in range(4):
        write_picture(tmp_path / f"{k}.png", noise((20, 20)))
    source = open_pictures(tmp_path)
    (tmp_path / "1.png").write_bytes(b"nothing")
    assert len(list(source.some([0, 3]).pictures())) == 2
    with pytest.raises(FormatError, match=r"1\.png"):
        list(source.some([0, 1]).pictures())


def test_numbers_are_those_of_the_good_pictures(tmp_path):
    for k in range(4):
        write_picture(tmp_path / f"{k}.png", noise((20, 20)))
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:60])
    good = open_pictures(tmp_path).without_bad()
    assert good.some([1, 2]).names == ("2.png", "3.png")
    every = list(good.pictures())
    for picture, k in zip(good.some([1, 2]).pictures(), (1, 2), strict=True):
        np.testing.assert_array_equal(picture.values, every[k].values)


@pytest.mark.parametrize("indices", [[], [2, 1], [1, 1], [-1], [6]])
def test_what_is_no_choice_is_refused(tmp_path, indices):
    source = open_pictures(np_file(tmp_path, smooth()))
    with pytest.raises(InputError, match="ascending"):
        source.some(indices)


def test_reopened_as_it_was_opened(tmp_path):
    np.savez(tmp_path / "in.npz", one=smooth(), two=255 - smooth())
    source = open_pictures(tmp_path / "in.npz", key="two").in_grey()
    again = reopen(source.path, source.opened_with)
    assert again.shapes == source.shapes
    for old, new in zip(source.pictures(), again.pictures(), strict=True):
        np.testing.assert_array_equal(old.values, new.values)
