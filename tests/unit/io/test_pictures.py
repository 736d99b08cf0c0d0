"""One picture goes in and comes out as it was: values, type, mask, orientation."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import rankfold as rf
from rankfold.io import open_pictures, write_picture
from rankfold.io.pictures import load_picture
from unit.io.samples import noise, smooth


@pytest.mark.parametrize("ending", ["png", "bmp", "webp", "tif"])
@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_eight_bits_come_back_exactly(tmp_path, ending, shape):
    values = noise(shape)
    path = tmp_path / f"a.{ending}"
    write_picture(path, values.astype(float))
    back = load_picture(path).values
    # webp knows colour only
    expected = np.dstack([values] * 3) if ending == "webp" and len(shape) == 2 else values
    np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize(
    ("ending", "shape"),
    [("png", (9, 7)), ("png", (9, 7, 3)), ("pgm", (9, 7)), ("ppm", (9, 7, 3))],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_and_pnm_keep_sixteen_bits(tmp_path, ending, shape, dtype):
    values = noise(shape, dtype)
    path = tmp_path / f"a.{ending}"
    write_picture(path, values.astype(float), dtype)
    back = load_picture(path)
    np.testing.assert_array_equal(back.values, values)
    assert back.values.dtype == dtype
    assert back.mask is None
    source = open_pictures(path)
    assert (source.shapes[0], source.dtype) == (shape, dtype)


def test_jpeg_is_close(tmp_path):
    values = smooth(1)[0]
    write_picture(tmp_path / "a.jpg", values.astype(float))
    assert np.abs(load_picture(tmp_path / "a.jpg").values.astype(int) - values).mean() < 2


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_alpha_is_the_mask_both_ways(tmp_path, shape, dtype):
    values = noise(shape, dtype).astype(float)
    values[2:4, 3] = np.nan
    write_picture(tmp_path / "a.png", values, dtype)
    back = load_picture(tmp_path / "a.png")
    hidden = np.isnan(values) if len(shape) == 2 else np.isnan(values)[..., 0]
    np.testing.assert_array_equal(back.mask, ~hidden)
    np.testing.assert_array_equal(back.values[back.mask], values[~hidden])
    assert open_pictures(tmp_path / "a.png").shapes[0] == shape


def test_pictures_stand_as_the_camera_was_held(tmp_path):
    values = noise((6, 10, 3))
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(values).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(load_picture(tmp_path / "a.png").values, np.rot90(values, -1))
    assert open_pictures(tmp_path / "a.png").shapes[0] == (10, 6, 3)


def test_palettes_and_bits_become_plain_pictures(tmp_path):
    Image.fromarray(noise((8, 8, 3))).quantize(16).save(tmp_path / "a.png")
    Image.fromarray(noise((8, 8)) > 128).save(tmp_path / "b.png")
    assert load_picture(tmp_path / "a.png").values.shape == (8, 8, 3)
    assert set(np.unique(load_picture(tmp_path / "b.png").values)) <= {0, 255}


def test_transparency_of_grey_and_comments_of_ppm(tmp_path):
    values = noise((6, 7))
    Image.fromarray(values).save(tmp_path / "a.png", transparency=int(values[2, 3]))
    np.testing.assert_array_equal(load_picture(tmp_path / "a.png").mask, values != values[2, 3])
    deep = noise((4, 5, 3), np.uint16)
    head = b"P6\n# made by hand\n5 4\n65535\n"
    (tmp_path / "a.ppm").write_bytes(head + deep.astype(">u2").tobytes())
    np.testing.assert_array_equal(load_picture(tmp_path / "a.ppm").values, deep)


def test_a_huge_header_is_refused_before_it_fills_the_memory(tmp_path):
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(b"0" * 100)), (b"IEND", b"")):
        data += (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )
    (tmp_path / "bomb.png").write_bytes(data)
    with pytest.raises(rf.FormatError, match=r"bomb\.png says it .*170,000,000"):
        load_picture(tmp_path / "bomb.png")
