"""One picture in a TIFF: colours, transparency, channels, orientation."""

import shutil
import struct
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import rankfold as rf
from rankfold.io import open_pictures, write_picture, write_pictures
from rankfold.io.pictures import load_picture
from unit.io.samples import noise, smooth


def test_tiff_alpha_and_float(tmp_path):
    values = noise((8, 9, 4), np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="rgb", extrasamples=["unassalpha"])
    back = load_picture(tmp_path / "a.tif")
    np.testing.assert_array_equal(back.values, values[..., :3])
    np.testing.assert_array_equal(back.mask, values[..., 3] >= 65535 / 2)
    floats = noise((8, 9), np.float32)
    write_picture(tmp_path / "b.tif", floats, np.float32)
    np.testing.assert_array_equal(load_picture(tmp_path / "b.tif").values, floats)


@pytest.mark.parametrize("bands", [2, 5])
def test_bands_of_a_tiff_are_channels_and_no_mask(tmp_path, bands):
    values = noise((8, 9, bands), np.uint16)
    write_picture(tmp_path / "a.tif", values.astype(float), np.uint16)
    back = load_picture(tmp_path / "a.tif")
    np.testing.assert_array_equal(back.values, values)
    assert back.mask is None
    assert open_pictures(tmp_path / "a.tif").shapes[0] == (8, 9, bands)
    with pytest.raises(rf.InputError, match=f"would have {bands} channels.*use the format tiff"):
        write_picture(tmp_path / "a.png", values.astype(float))


@pytest.mark.parametrize("mode", ["P", "CMYK", "RGBA", "L", "RGB"])
@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate"])
def test_colours_of_a_tiff_are_those_that_pillow_sees(tmp_path, mode, compression):
    image = Image.fromarray(smooth(1, (12, 14))[0]).convert(mode)
    image.save(tmp_path / "a.tif", compression=compression)
    back = load_picture(tmp_path / "a.tif").values
    expected = np.array(image if mode == "L" else image.convert("RGB"))
    np.testing.assert_allclose(back.astype(int), expected.astype(int), atol=1)
    assert open_pictures(tmp_path / "a.tif").shapes[0] == back.shape


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_of_a_tiff(tmp_path, orientation):
    from PIL import ImageOps

    values = noise((6, 10))
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(values).save(tmp_path / "a.png", exif=exif)
    tifffile.imwrite(tmp_path / "a.tif", values, extratags=[(274, 3, 1, orientation, True)])
    expected = np.array(ImageOps.exif_transpose(Image.open(tmp_path / "a.png")))
    np.testing.assert_array_equal(load_picture(tmp_path / "a.tif").values, expected)
    (tmp_path / "folder").mkdir()
    shutil.copy(tmp_path / "a.tif", tmp_path / "folder" / "a.tif")
    assert open_pictures(tmp_path / "folder").shapes[0] == expected.shape


def test_white_is_zero(tmp_path):
    values = noise((6, 7))
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="miniswhite")
    np.testing.assert_array_equal(load_picture(tmp_path / "a.tif").values, 255 - values)


def test_white_is_zero_in_one_bit_too(tmp_path):
    """It was read as its opposite, so that of a painted mask all but the paint was replaced."""
    values = noise((6, 7)) > 128
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="miniswhite")
    np.testing.assert_array_equal(load_picture(tmp_path / "a.tif").values, ~values)
    with Image.open(tmp_path / "a.tif") as image:
        np.testing.assert_array_equal(np.asarray(image), ~values)


@pytest.mark.parametrize("bits", [2, 4, 12])
def test_white_is_zero_in_few_bits(tmp_path, bits):
    """The bits that a sample does not have were set."""
    values = noise((6, 7), np.uint16) >> (16 - bits)
    write_packed(tmp_path / "a.tif", values, bits)
    found = load_picture(tmp_path / "a.tif").values
    np.testing.assert_array_equal(found, 2**bits - 1 - values)


def write_packed(path, values, bits):
    """Write a TIFF in which white is zero, as its specification says; rows begin with a byte."""
    height, width = values.shape
    spread = (values[..., None] >> np.arange(bits)[::-1]) & 1
    strip = np.packbits(spread.reshape(height, -1).astype(np.uint8), axis=1).tobytes()
    strip += bytes(len(strip) % 2)
    # Width, height, bits, not compressed, white is zero, the strip, samples, rows, bytes.
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: 0}
    tags |= {273: 8, 277: 1, 278: height, 279: len(strip)}
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    header = struct.pack("<2sHI", b"II", 42, 8 + len(strip))
    path.write_bytes(header + strip + struct.pack("<H", len(tags)) + directory + bytes(4))


@pytest.mark.parametrize("kind", ["tiff", "pictures"])
@pytest.mark.parametrize(("given", "read"), [(bool, np.uint8), (np.longdouble, np.float64)])
def test_what_no_program_could_read_again_is_stored_in_another_type(tmp_path, given, read, kind):
    """Colours of one bit came back as others, and the longest floats not at all."""
    values = noise((3, 6, 7, 3)) > 128
    (tmp_path / "in").mkdir()
    for k, one in enumerate(values):
        tifffile.imwrite(tmp_path / "in" / f"{k}.tif", one.astype(np.uint8))
    like = replace(open_pictures(tmp_path / "in"), dtypes=(np.dtype(given),) * 3)
    path = write_pictures(tmp_path / "out", like.names, values.astype(float), like, kind)
    again = open_pictures(path)
    found = np.stack([one.values for one in again.pictures()])
    assert found.dtype == read
    np.testing.assert_array_equal(found > 0, values)


def test_a_stack_among_pictures_is_named(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", noise((3, 6, 7)), photometric="minisblack")
    with pytest.raises(
        rf.FormatError, match=r"a\.tif is a stack of 3 pages; give it alone, or skip bad pictures"
    ):
        load_picture(tmp_path / "a.tif")
