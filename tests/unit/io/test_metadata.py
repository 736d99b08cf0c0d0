"""What a file says of its picture survives when the picture is written again."""

import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms

import rankfold as rf
from rankfold.io import Metadata, read_metadata, read_picture, write_picture
from unit.io.samples import noise, smooth

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
MODEL = 0x0110
ORIENTATION = 0x0112
EXPOSURE = 0x829A
CAMERA = 0x8769


def exif(orientation=1):
    """What a camera says: its name, how it was held, how long it looked."""
    said = Image.Exif()
    said[MODEL] = "Pinhole 3"
    said[ORIENTATION] = orientation
    said.get_ifd(CAMERA)[EXPOSURE] = 0.25
    return said


def photograph(path, orientation=1):
    """A picture with all that a file can say of it."""
    values = smooth(1)[0]
    Image.fromarray(values).save(path, exif=exif(orientation), icc_profile=PROFILE, dpi=(300, 240))
    return values


@pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
def test_a_photograph_keeps_what_is_said_of_it(tmp_path, ending):
    photograph(tmp_path / f"a.{ending}")
    said = read_metadata(tmp_path / f"a.{ending}")
    write_picture(tmp_path / f"b.{ending}", smooth(1)[0].astype(float), np.uint8, said)
    with Image.open(tmp_path / f"b.{ending}") as back:
        assert back.info["icc_profile"] == PROFILE
        assert back.getexif()[MODEL] == "Pinhole 3"
        assert back.getexif().get_ifd(CAMERA)[EXPOSURE] == pytest.approx(0.25)
        if ending != "webp":
            # WebP has no room for it.
            np.testing.assert_allclose(back.info["dpi"], (300, 240), atol=0.1)


@pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_pictures_are_upright_and_say_so(tmp_path, ending, orientation):
    """They are turned when they are read, and must not be turned again."""
    photograph(tmp_path / f"a.{ending}", orientation)
    values = read_picture(tmp_path / f"a.{ending}")
    said = read_metadata(tmp_path / f"a.{ending}")
    write_picture(tmp_path / "b.png", values.astype(float), np.uint8, said)
    with Image.open(tmp_path / "b.png") as back:
        assert back.getexif()[ORIENTATION] == 1
    np.testing.assert_array_equal(read_picture(tmp_path / "b.png"), values)


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_sixteen_bits_keep_it_too(tmp_path, shape):
    photograph(tmp_path / "a.jpg", 6)
    said = read_metadata(tmp_path / "a.jpg")
    values = noise(shape, np.uint16)
    write_picture(tmp_path / "b.png", values.astype(float), np.uint16, said)
    np.testing.assert_array_equal(read_picture(tmp_path / "b.png"), values)
    again = read_metadata(tmp_path / "b.png")
    assert again.profile == PROFILE
    np.testing.assert_allclose(again.resolution, (300, 240), atol=0.1)
    with Image.open(tmp_path / "b.png") as back:
        assert back.getexif()[MODEL] == "Pinhole 3"
        assert back.getexif()[ORIENTATION] == 1


TEXTS = {
    270: "a wall",
    271: "Box",
    272: "Pinhole 3",
    306: "2026:01:02 03:04:05",
    315: "me",
    33432: "free",
}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
def test_a_tiff_keeps_what_is_said_of_it(tmp_path, dtype, shape):
    said = Metadata(profile=PROFILE, resolution=(300.0, 240.0), texts=TEXTS)
    values = noise(shape, dtype)
    for name in ("a.tif", "b.tif"):
        write_picture(tmp_path / name, values.astype(float), dtype, said)
        np.testing.assert_array_equal(read_picture(tmp_path / name), values)
        # Written a second time from what was read.
        said = read_metadata(tmp_path / name)
        assert said.profile == PROFILE
        np.testing.assert_allclose(said.resolution, (300, 240), rtol=1e-3)
        assert said.texts == TEXTS
    if dtype == np.uint8:
        # Others read it too; Pillow knows bytes best.
        with Image.open(tmp_path / "b.tif") as back:
            assert back.tag_v2[272] == "Pinhole 3"


def test_centimetres_become_inches(tmp_path):
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", noise((9, 7)), resolution=(100, 50), resolutionunit=3)
    np.testing.assert_allclose(read_metadata(tmp_path / "a.tif").resolution, (254, 127), rtol=1e-3)
    tifffile.imwrite(tmp_path / "b.tif", noise((9, 7)), resolution=(2, 1), resolutionunit=1)
    assert read_metadata(tmp_path / "b.tif").resolution is None


@pytest.mark.parametrize("ending", ["png", "jpg", "tif", "webp", "bmp"])
@pytest.mark.parametrize("resolution", [(2**32 - 1, 1), (1, 2**32 - 1), (3 * 10**6, 1)])
def test_a_resolution_that_nothing_has_is_none(tmp_path, resolution, ending):
    """It could not be written again, which was found when everything was computed."""
    import tifffile

    values = noise((9, 7))
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, values, resolution=(resolution, resolution), resolutionunit=3)
    for dtype in (np.uint8, np.uint16):
        write_picture(tmp_path / f"b.{ending}", values, dtype, read_metadata(path))


def test_too_much_exif_for_a_jpeg_is_left_out(tmp_path):
    much = Metadata(exif=b"Exif\0\0" + bytes(70_000), resolution=(300.0, 300.0))
    write_picture(tmp_path / "a.jpg", noise((9, 7)), metadata=much)
    found = read_metadata(tmp_path / "a.jpg")
    assert (found.exif, found.resolution) == (None, (300.0, 300.0))
    write_picture(tmp_path / "b.jpg", noise((9, 7)), metadata=Metadata(resolution=(70_000, 300)))
    assert read_metadata(tmp_path / "b.jpg").resolution is None


def test_from_one_format_to_another(tmp_path):
    """What both have room for."""
    photograph(tmp_path / "a.jpg")
    write_picture(
        tmp_path / "b.tif", noise((9, 7, 3)) * 1.0, np.uint8, read_metadata(tmp_path / "a.jpg")
    )
    said = read_metadata(tmp_path / "b.tif")
    assert said.profile == PROFILE
    np.testing.assert_allclose(said.resolution, (300, 240), rtol=1e-3)
    write_picture(tmp_path / "c.png", noise((9, 7, 3)) * 1.0, np.uint8, said)
    assert read_metadata(tmp_path / "c.png").profile == PROFILE


@pytest.mark.parametrize("ending", ["png", "tif", "bmp", "ppm", "jpg"])
def test_files_that_say_nothing(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_picture(path, noise((9, 7, 3)) * 1.0)
    said = read_metadata(path)
    assert (said.profile, said.exif, said.texts) == (None, None, {})
    # What else is no picture says nothing either.
    assert read_metadata(tmp_path / "nowhere.png") == Metadata()
    assert read_metadata(tmp_path) == Metadata()
    (tmp_path / "a.npy").write_bytes(b"no picture")
    assert read_metadata(tmp_path / "a.npy") == Metadata()


def test_a_damaged_tiff_gets_a_sentence(tmp_path):
    write_picture(tmp_path / "a.tif", noise((9, 7)) * 1.0)
    (tmp_path / "a.tif").write_bytes((tmp_path / "a.tif").read_bytes()[:6])
    with pytest.raises(
        rf.FormatError, match=r"a\.tif cannot be read as a picture \(.*\); replace it"
    ):
        read_metadata(tmp_path / "a.tif")


@pytest.mark.parametrize("ending", ["png", "jpg", "tif"])
def test_cut_off_files_raise_nothing_else(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    photograph(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), max(len(whole) // 40, 1)):
        path.write_bytes(whole[:length])
        try:
            read_metadata(path)
        except rf.FormatError as error:
            assert str(path) in str(error)  # noqa: PT017


def test_a_large_photograph_is_read_without_a_warning(tmp_path):
    """Pillow warns from 89 million pixels on; up to 170 million are read here."""
    header = struct.pack(">IIBBBBB", 12_000, 10_000, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    # Too small a file for its pixels would be refused.
    pixels = np.random.default_rng(0).bytes(400_000)
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")):
        checksum = struct.pack(">I", zlib.crc32(name + body))
        data += struct.pack(">I", len(body)) + name + body + checksum
    (tmp_path / "a.png").write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_metadata(tmp_path / "a.png").profile is None
