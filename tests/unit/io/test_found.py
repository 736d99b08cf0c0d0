"""Files on which an attempt of the campaign once ended badly (tests/campaign)."""

import logging
from pathlib import Path

import pytest

import bombs
from rankfold.errors import FormatError
from rankfold.io import open_pictures

FOUND = Path(__file__).parents[2] / "data" / "found"
PICTURES = [path.name for path in sorted(FOUND.iterdir()) if path.suffix in (".tif", ".ppm")]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_header_says_or_an_error(name, tmp_path):
    """Decoders gave no pixels at all, others than the header said, or another type."""
    (tmp_path / name).write_bytes((FOUND / name).read_bytes())
    (tmp_path / "good.ppm").write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    source = open_pictures(tmp_path).without_bad()
    for shape, dtype, picture in zip(source.shapes, source.dtypes, source.pictures(), strict=True):
        assert picture.values.shape == shape
        assert picture.values.dtype == dtype
        assert 0 not in shape


@pytest.mark.parametrize(
    "name", ["no-pixels.tif", "no-columns.tif", "no-samples.tif", "taller-than-its-header.ppm"]
)
def test_a_picture_that_is_none_is_left_out(name, tmp_path):
    (tmp_path / name).write_bytes((FOUND / name).read_bytes())
    (tmp_path / "good.ppm").write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    assert open_pictures(tmp_path).without_bad().left_out == (name,)


def test_pages_of_another_type_than_the_series(tmp_path):
    source = open_pictures(FOUND / "another-type.tif")
    with pytest.raises(FormatError, match=r"another picture than its header says"):
        list(source.pictures())


def read_or_refused(path):
    """Read all pictures of a file; the error in words where that is refused, else nothing."""
    try:
        list(open_pictures(path).pictures())
    except FormatError as error:
        return str(error)
    return ""


def test_a_decoder_that_logs_every_bad_tag_prints_nothing(capfd):
    """Python prints what is logged where nobody has set up logging."""
    assert "many-bad-tags.tif" in read_or_refused(FOUND / "many-bad-tags.tif")
    assert capfd.readouterr() == ("", "")


def test_who_has_set_up_logging_still_gets_it(caplog, tmp_path):
    bad_tag = {"t60000": (0, 1, 0)}
    path = bombs.tiff(tmp_path / "a.tif", [bombs.page(8, 8, **bad_tag)])
    with caplog.at_level(logging.ERROR, "tifffile"):
        read_or_refused(path)
    assert "invalid data type" in caplog.text


def test_a_decoder_that_quotes_its_input_is_cut_short():
    with pytest.raises(FormatError, match=r"name-of-noise\.npz cannot be read") as caught:
        open_pictures(FOUND / "name-of-noise.npz")
    assert len(str(caught.value)) < 600
