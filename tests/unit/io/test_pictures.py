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


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_one_grey_value_of_a_png_may_be_transparent(tmp_path, bits):
    """With other than eight bits it was a value like any other."""
    values = np.random.default_rng(bits).integers(0, 2**bits, (8, 16))
    clear = int(values[3, 4])
    write_grey_png(tmp_path / "a.png", values, bits, clear)
    found = load_picture(tmp_path / "a.png")
    scale = {1: 255, 2: 85, 4: 17, 8: 1, 16: 1}[bits]
    np.testing.assert_array_equal(found.values, values * scale)
    np.testing.assert_array_equal(found.mask, values != clear)
    write_grey_png(tmp_path / "b.png", np.zeros((8, 16), int), bits, 1)
    assert load_picture(tmp_path / "b.png").mask is None


def write_grey_png(path, values, bits, clear):
    """Write a PNG as its specification says, with the chunk that names a transparent value."""

    def chunk(name, body):
        checksum = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + checksum

    height, width = values.shape
    # The highest bit of a sample comes first.
    spread = (values[..., None] >> np.arange(bits)[::-1]) & 1
    packed = np.packbits(spread.reshape(height, -1).astype(np.uint8), axis=1)
    rows = b"".join(b"\0" + row.tobytes() for row in packed)
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    chunks = [
        chunk(b"IHDR", header),
        chunk(b"tRNS", struct.pack(">H", clear)),
        chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


@pytest.mark.parametrize("ending", [".webp", ".jpg"])
def test_a_picture_that_is_too_long_for_its_format(tmp_path, ending):
    """It was called a defect of rankfold, or a broken data stream."""
    path = tmp_path / f"a{ending}"
    with pytest.raises(rf.InputError, match=rf"{ending} holds at most .* a side; use the format"):
        write_picture(path, np.zeros((2, 65_501)))
    assert not path.exists()


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
