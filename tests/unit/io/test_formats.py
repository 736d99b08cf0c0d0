"""Every stack goes in and comes out as it was, whatever its format."""

import re
from pathlib import Path

import numpy as np
import pytest
import tifffile

import rankfold as rf
from rankfold import io
from rankfold.io import FORMATS, open_pictures, reopen, write_pictures
from unit.io.samples import noise, np_file, smooth


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(5, 16, 20), (5, 16, 20, 3), (5, 16, 20, 2)])
@pytest.mark.parametrize("kind", ["tif", "ome.tif", "npy", "npz", "zarr"])
def test_there_and_back(tmp_path, kind, shape, dtype):
    values = noise(shape, dtype)
    path = tmp_path / f"in.{kind}"
    if kind == "npy":
        np.save(path, values)
    elif kind == "npz":
        np.savez(path, stack=values)
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(str(path), data=values)
    else:
        planes = np.moveaxis(values, -1, 1) if shape[3:] == (2,) else values
        axes = {(): "TYX", (3,): "TYXS", (2,): "TCYX"}[shape[3:]]
        photometric = "rgb" if axes == "TYXS" else "minisblack"
        tifffile.imwrite(
            path,
            planes,
            metadata={"axes": axes},
            photometric=photometric,
            ome=kind == "ome.tif",
        )
    source = open_pictures(path)
    assert (len(source), source.dtype, source.shapes[0]) == (5, dtype, shape[1:])
    np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values)
    (tmp_path / "out").mkdir()
    pictures = (v.astype(np.float64) for v in values)
    written = write_pictures(tmp_path / "out" / "low_rank", source.names, pictures, source)
    assert written.name == f"low_rank.{kind}"
    again = open_pictures(written)
    assert again.dtype == dtype
    np.testing.assert_array_equal(np.stack([p.values for p in again.pictures()]), values)


@pytest.mark.parametrize("format", ["tiff", "array", "zarr", "video", "pictures"])
def test_nothing_is_written_over(tmp_path, format):
    """It may be the file that is read."""
    if format == "zarr":
        pytest.importorskip("zarr")
    values = noise((4, 16, 16))
    given = open_pictures(np_file(tmp_path, values))
    path = write_pictures(tmp_path / "a", given.names, values.astype(float), given, format)
    source = open_pictures(path)
    before = [one.values for one in source.pictures()]
    inverted = (255.0 - one.values for one in source.pictures())
    with pytest.raises(rf.InputError, match="exists already; choose another name, or move it"):
        write_pictures(tmp_path / "a", source.names, inverted, source)
    np.testing.assert_array_equal([one.values for one in open_pictures(path).pictures()], before)


def test_options_without_a_meaning_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", noise((3, 8, 8)))
    with pytest.raises(
        rf.InputError, match=r"^select has no meaning for an array file; leave it out$"
    ):
        open_pictures(tmp_path / "a.npy", select=("C=0",))
    with pytest.raises(rf.InputError, match=r"^key has no meaning for a folder of pictures"):
        open_pictures(tmp_path, key="a")


@pytest.mark.parametrize("format", ["tiff", "array", "zarr", "pictures", "video"])
def test_a_range_of_every_format(tmp_path, format):
    """It was refused for everything but videos."""
    if format == "zarr":
        pytest.importorskip("zarr")
    values = smooth(8, channels=1)
    source = open_pictures(np_file(tmp_path, values))
    path = write_pictures(tmp_path / "out", source.names, values.astype(float), source, format)
    whole = open_pictures(path)
    some = open_pictures(path, frames="1:6", stride=2)
    assert some.names == whole.names[1:6:2]
    expected = [picture.values for picture in whole.pictures()][1:6:2]
    for picture, values_there in zip(some.pictures(), expected, strict=True):
        np.testing.assert_array_equal(picture.values, values_there)
    again = reopen(path, some.opened_with)
    assert again.names == some.names
    with pytest.raises(rf.InputError, match=r"frames 8:9 selects nothing of .*\(0 to 7\)"):
        open_pictures(path, frames="8:9")
    with pytest.raises(rf.InputError, match="stride=-1 must be at least 1"):
        open_pictures(path, stride=-1)


def test_no_message_speaks_of_the_command_line():
    for file in Path(io.__file__).parent.glob("*.py"):
        assert not re.search(r"--[a-z]", file.read_text()), file


def test_every_format_has_a_summary():
    assert all(row.summary and row.name == name for name, row in FORMATS.items())
    with pytest.raises(rf.InputError, match="unknown format 'tape'"):
        write_pictures("x", (), [], None, "tape")
