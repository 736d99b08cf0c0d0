"""Headers that ask for more than anybody has are refused at once, whatever the format."""

import gzip
import io
import json
import os
import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

import bombs
import rankfold as rf
from commands import QUICK, RESULT_ONLY, run
from memory import peak_of
from rankfold.io import (
    isolated,
    open_pictures,
    pictures,
    read_metadata,
    read_picture,
    write_picture,
)
from rankfold.io.budgets import MAX_PICTURES
from rankfold.io.pictures import load_picture, picture_header
from rankfold.io.tiff_directories import MAX_TEXT


class TestPictures:
    def test_a_header_alone_is_no_picture(self, tmp_path):
        path = bombs.png(tmp_path / "a.png", 12_000, 12_000, zlib.compress(b"0"))
        for read in (load_picture, picture_header, read_metadata):
            with pytest.raises(rf.FormatError, match=r"bytes for a picture of 144,000,000"):
                read(path)

    def test_a_jpeg_that_goes_over_its_pixels_again_and_again(self, tmp_path):
        """Half a minute for 400 kB: the last of its scans was there 1,500 times."""
        noise = np.random.default_rng(0).integers(0, 256, (40, 50), np.uint8)
        picture = Image.fromarray(noise).resize((4000, 4000))
        picture.save(tmp_path / "a.jpg", progressive=True, quality=30)
        assert load_picture(tmp_path / "a.jpg").values.shape == (4000, 4000)
        whole = (tmp_path / "a.jpg").read_bytes()
        last = whole[whole.rindex(b"\xff\xda") : -2]
        (tmp_path / "a.jpg").write_bytes(whole[:-2] + 1500 * last + whole[-2:])
        with pytest.raises(rf.FormatError, match=r"has 1,5\d\d scans of 4000 x 4000 pixels"):
            load_picture(tmp_path / "a.jpg")

    def test_too_many_pixels(self, tmp_path):
        path = bombs.png(tmp_path / "a.png", 60_000, 60_000)
        with pytest.raises(rf.FormatError, match="more than 170,000,000 pixels"):
            load_picture(path)

    def test_the_header_of_a_large_png_costs_no_memory(self, tmp_path):
        """Pillow decodes all of it to look for notes behind the pixels: 714 MB."""
        noise = np.random.default_rng(0).bytes(500_000)
        bombs.png(tmp_path / "a.png", 13_000, 13_000, zlib.compress(noise))
        script = (
            "from rankfold.io.pictures import picture_header\n---\npicture_header(sys.argv[1])\n"
        )
        assert peak_of(script, tmp_path / "a.png") < 100 * 2**20

    def test_notes_behind_the_pixels_turn_a_picture_all_the_same(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6
        values = np.random.default_rng(0).integers(0, 256, (8, 12), np.uint8)
        Image.fromarray(values).save(tmp_path / "before.png", exif=exif)
        rows = np.column_stack([np.zeros(8, np.uint8), values]).tobytes()
        path = bombs.png(tmp_path / "a.png", 12, 8, zlib.compress(rows))
        notes = exif.tobytes().removeprefix(b"Exif\0\0")
        chunk = b"eXIf" + notes
        chunk = len(notes).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4)
        whole = path.read_bytes()
        path.write_bytes(whole[:-12] + chunk + whole[-12:])
        assert picture_header(path)[0] == (12, 8)
        np.testing.assert_array_equal(read_picture(path), read_picture(tmp_path / "before.png"))

    @pytest.mark.parametrize("format", ["GIF", "ICO", "TGA", "PCX", "SGI", "EPS", "TIFF"])
    def test_formats_that_nobody_asked_for(self, tmp_path, format):
        """Pillow looks at what a file holds, not at its name."""
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "a", format)
        (tmp_path / "a").rename(tmp_path / "a.png")
        with pytest.raises(rf.FormatError, match="is not a picture"):
            load_picture(tmp_path / "a.png")

    def test_a_picture_of_cameras_that_write_two_in_a_file(self, tmp_path):
        values = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
        two = [Image.fromarray(values)]
        Image.fromarray(values).save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=two)
        assert load_picture(tmp_path / "a.jpg").values.shape == (16, 16, 3)


class TestWantOfMemory:
    """It is an error of the one file that asks for it."""

    @pytest.fixture
    def source(self, tmp_path, monkeypatch):
        """Four pictures; there is no memory to decode the second."""
        for k in range(4):
            write_picture(tmp_path / f"{k}.png", np.random.default_rng(k).random((8, 8)))
        real = pictures._read

        def read(path):
            if path.name == "1.png":
                raise MemoryError
            return real(path)

        monkeypatch.setattr(pictures, "_read", read)
        return open_pictures(tmp_path)

    def test_it_is_named(self, source):
        with pytest.raises(rf.FormatError, match=r"1\.png .*asks for more memory than there is"):
            list(source.pictures())

    def test_the_others_are_read_without_it(self, source):
        others = source.without_bad()
        assert others.left_out == ("1.png",)
        assert len(list(others.pictures())) == 3

    def test_and_aligned(self, source):
        words = ["align", source.path, "-o", f"{source.path}-run", "--frame", "8x8", *QUICK]
        # Noise has no place in other noise.
        said = run(*words, *RESULT_ONLY, "--skip-bad", code=1).stderr
        assert "left out: 1.png" in said


class TestTiff:
    @pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.95])
    @pytest.mark.parametrize("writer", ["tifffile", "pillow", "ome"])
    def test_a_stack_that_is_cut_off_says_so(self, tmp_path, share, writer):
        """At 50-70 % it opened as one picture without a word."""
        values = np.random.default_rng(0).integers(0, 256, (12, 40, 50), np.uint8)
        path = tmp_path / ("a.ome.tif" if writer == "ome" else "a.tif")
        if writer == "pillow":
            first, *others = [Image.fromarray(one) for one in values]
            first.save(path, save_all=True, append_images=others)
        else:
            tifffile.imwrite(path, values, photometric="minisblack")
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(rf.FormatError, match=r"is cut off or damaged|bytes"):
            list(open_pictures(path).pictures())

    def test_a_stack_with_one_header_that_is_cut_off_says_so(self, tmp_path):
        values = np.random.default_rng(0).integers(0, 256, (12, 40, 50), np.uint8)
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", truncate=True)
        whole = (tmp_path / "a.tif").read_bytes()
        (tmp_path / "a.tif").write_bytes(whole[:-3000])
        with pytest.raises(rf.FormatError, match="is cut off"):
            open_pictures(tmp_path / "a.tif")

    @pytest.mark.parametrize("share", [0.2, 0.5, 0.7, 0.99])
    def test_a_stack_of_imagej_that_is_cut_off_says_so(self, tmp_path, share):
        """Where only the first page has a header, it opened as one picture."""
        values = np.random.default_rng(0).integers(0, 2**16, (12, 40, 50), np.uint16)
        path = tmp_path / "a.tif"
        tifffile.imwrite(path, values, imagej=True, truncate=True, metadata={"axes": "TYX"})
        assert len(open_pictures(path)) == 12
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(rf.FormatError, match="is cut off: it says that it has 12 pages"):
            open_pictures(path)

    def test_one_picture_that_was_cut_out_of_such_a_stack(self, tmp_path):
        """Its description is that of the stack, and nothing lies behind its pixels."""
        values = np.random.default_rng(0).integers(0, 256, (40, 50), np.uint8)
        text = "ImageJ=1.53t\nimages=12\nframes=12\nhyperstack=true\n"
        tifffile.imwrite(tmp_path / "a.tif", values, description=text, metadata=None)
        assert len(open_pictures(tmp_path / "a.tif")) == 1

    def test_one_that_shrinks_while_it_is_read(self, tmp_path):
        """Whoever reads a mapped file beyond its end is killed by the system."""
        values = np.random.default_rng(0).integers(0, 256, (4, 400, 500), np.uint8)
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", truncate=True)
        source = open_pictures(tmp_path / "a.tif")
        pictures = source.pictures()
        next(pictures)
        with (tmp_path / "a.tif").open("r+b") as file:
            file.truncate(250_000)
        with pytest.raises(rf.FormatError, match="cut off"):
            list(pictures)

    def test_pages_in_a_circle(self, tmp_path):
        path = bombs.tiff(tmp_path / "a.tif", [bombs.page(8, 8)], [8])
        with pytest.raises(rf.FormatError, match="go round in a circle"):
            open_pictures(path)

    @pytest.mark.parametrize(
        ("tags", "said"),
        [
            (bombs.page(2**31 - 1, 2**31 - 1), "says it is"),
            (bombs.page(0, 5), "which is no picture"),
            (bombs.page(1, 150_000_000, t278=(4, 1, 1)), "parts"),
            (bombs.page(9000, 9000, t277=(3, 1, 60_000)), "says it is"),
            (bombs.page(8, 8, t32997=(4, 1, 2**31)), "says it is"),
            # Width and height as numbers with a sign.
            (bombs.page(8, 8, t256=(9, 1, 10**6), t257=(9, 1, 10**6)), "says it is"),
            # As a fraction, which is read from somewhere else.
            (bombs.page(8, 8, t256=(5, 1, 0)), "which is no picture"),
            (bombs.page(8, 8, t273=(4, 2**31, 8)), "lies outside of the file"),
            (bombs.page(8, 8, t322=(4, 1, 2**30), t323=(4, 1, 2**30), t324=(4, 1, 8)), "parts"),
        ],
    )
    def test_pages_that_cannot_be(self, tmp_path, tags, said):
        path = bombs.tiff(tmp_path / "a.tif", [tags])
        with pytest.raises(rf.FormatError, match=said):
            open_pictures(path)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (np.zeros((9000, 9000), np.uint8), {"compression": "zlib"}),
            (np.zeros((5000, 5000), np.uint16), {"compression": "zlib"}),
            (
                np.zeros((4000, 4000, 4), np.uint8),
                {"compression": "zlib", "photometric": "separated"},
            ),
        ],
    )
    def test_large_pictures_in_hardly_any_bytes(self, tmp_path, values, words):
        tifffile.imwrite(tmp_path / "a.tif", values, **words)
        with pytest.raises(rf.FormatError, match="or says that it is larger than it is"):
            picture_header(tmp_path / "a.tif")

    def test_small_stacks_that_would_be_decoded_for_minutes(self, tmp_path):
        one = bombs.page(5000, 5000)
        path = bombs.tiff(tmp_path / "a.tif", [one] * 200)
        with path.open("ab") as file:
            # As much as one page needs not to be too dense.
            file.write(bytes(70_000))
        with pytest.raises(rf.FormatError, match="which can show hardly anything"):
            open_pictures(path)

    def test_a_part_that_holds_a_larger_picture_than_the_page(self, tmp_path):
        """It was decoded whole, and cut without a word."""
        inside = io.BytesIO()
        Image.fromarray(np.zeros((90, 70), np.uint8)).save(inside, "JPEG")
        data = inside.getvalue()
        place = {"t273": (4, 1, 200), "t279": (4, 1, len(data)), "t259": (3, 1, 7)}
        path = bombs.tiff(tmp_path / "a.tif", [bombs.page(64, 64, **place)])
        path.write_bytes(path.read_bytes().ljust(200, b"\0") + data)
        with pytest.raises(rf.FormatError, match=r"70 x 90 pixels in a part of 64 x 64"):
            open_pictures(path)

    @pytest.mark.parametrize("method", [34712, 34933, 50001, 50002, 9])
    def test_methods_that_decode_to_whatever_they_hold(self, tmp_path, method):
        path = bombs.tiff(tmp_path / "a.tif", [bombs.page(64, 64, t259=(3, 1, method))])
        with pytest.raises(rf.FormatError, match=f"compressed by method {method} of TIFF"):
            open_pictures(path)

    def test_inks_and_palettes_need_little_more_than_the_picture(self, tmp_path):
        """They took a hundred bytes a pixel."""
        rng = np.random.default_rng(0)
        inks = rng.integers(0, 256, (3000, 3000, 4), np.uint8)
        tifffile.imwrite(tmp_path / "a.tif", inks, photometric="separated")
        script = "from rankfold.io.pictures import load_picture\n---\nload_picture(sys.argv[1])\n"
        assert peak_of(script, tmp_path / "a.tif") < 4 * inks.nbytes
        white = 255.0
        expected = (white - inks[:2, ..., :3]) * (white - inks[:2, ..., 3:]) / white
        found = load_picture(tmp_path / "a.tif").values
        np.testing.assert_array_equal(found[:2], np.rint(expected))

    def test_bits_that_are_written_somewhere_else(self, tmp_path):
        """They were taken for 16: nine gigabytes went through."""
        tags = bombs.page(9600, 9600, t258=(3, 3, 200), t277=(3, 1, 3))
        path = bombs.tiff(tmp_path / "a.tif", [tags])
        path.write_bytes(path.read_bytes().ljust(200, b"\0") + struct.pack("<3H", 64, 64, 64))
        with pytest.raises(rf.FormatError, match=r"9600 x 9600 pixels of 24 bytes"):
            open_pictures(path)

    def test_a_tag_that_is_there_twice_counts_as_libraries_read_it(self, tmp_path):
        path = bombs.tiff(tmp_path / "a.tif", [bombs.page(10**6, 10**6)])
        whole = bytearray(path.read_bytes())
        # One more tag: the width once again, behind the first.
        (count,) = struct.unpack_from("<H", whole, 8)
        struct.pack_into("<H", whole, 8, count + 1)
        whole[22:22] = struct.pack("<HHII", 256, 4, 1, 8)
        path.write_bytes(whole)
        with pytest.raises(rf.FormatError, match="says it is 1000000 x 1000000"):
            open_pictures(path)

    def test_a_description_without_end(self, tmp_path):
        path = tmp_path / "a.tif"
        tifffile.imwrite(path, np.zeros((8, 8), np.uint8), description="x" * (MAX_TEXT + 1))
        with pytest.raises(rf.FormatError, match="has a description of 33,554,4"):
            open_pictures(path)

    OME = (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
        '<Image ID="0"><Pixels ID="0" DimensionOrder="XYCZT" Type="uint8" SizeX="8" SizeY="8" '
        'SizeC="1" SizeZ="1" SizeT="1">{}<TiffData/></Pixels></Image>{}</OME>'
    )

    @pytest.mark.parametrize(
        "change",
        [
            ('SizeT="1"', 'SizeT=" 2000000000 "'),
            ('SizeT="1"', 'SizeT="+2_000_000_000"'),
            ('SizeT="1"', 'SizeT="&#50;000000000"'),
            ("<TiffData/>", '<TiffData IFD="0" PlaneCount="2000000000"/>'),
            ("<TiffData/>", '<TiffData IFD="0" NumPlanes="2000000000"/>'),
            ('SizeX="8"', 'SizeX="2000000000"'),
            ('"XYCZT"', '"TZCYX"'),
            ('ID="0"><Pixels', 'Name=">"><Pixels SizeQ="2"'),
            ("</OME>", '<ModuloAlongT Start="0" End="2e9" Step="1"/></OME>'),
        ],
    )
    def test_ome_of_more_than_there_can_be(self, tmp_path, change):
        """Libraries make room for what it says, however it says so: 6 GiB for 8 x 8 pixels."""
        text = self.OME.format("", "").replace(*change)
        if "TZCYX" in text or "SizeQ" in text:
            text = text.replace('SizeT="1"', 'SizeT="2000000000"')
        values = np.zeros((8, 8), np.uint8)
        tifffile.imwrite(tmp_path / "a.ome.tif", values, description=text, metadata=None)
        with pytest.raises(rf.FormatError, match=r"says it (has|is) [\dx ]*2,?000,?000,?00"):
            open_pictures(tmp_path / "a.ome.tif")

    def test_many_images_of_ome_count_together(self, tmp_path):
        one = '<Image><Pixels SizeX="8" SizeY="8" SizeT="900000"/></Image>'
        values = np.zeros((8, 8), np.uint8)
        text = f"<OME>{2 * one}</OME>"
        tifffile.imwrite(tmp_path / "a.tif", values, description=text, metadata=None)
        with pytest.raises(rf.FormatError, match="says it has 1,800,000 pictures"):
            open_pictures(tmp_path / "a.tif")

    def test_the_headers_of_other_files_that_ome_names(self, tmp_path):
        bombs.tiff(tmp_path / "other.tif", [bombs.page(8, 8)], [8])
        text = self.OME.format("", "").replace(
            "<TiffData/>", '<TiffData><UUID FileName="other.tif">urn:uuid:1</UUID></TiffData>'
        )
        values = np.zeros((8, 8), np.uint8)
        tifffile.imwrite(tmp_path / "a.ome.tif", values, description=text, metadata=None)
        with pytest.raises(rf.FormatError, match=r"pages of .*other\.tif go round in a circle"):
            open_pictures(tmp_path / "a.ome.tif")

    @pytest.mark.parametrize(
        "text",
        [
            '<OME><Image><Pixels SizeT="2000000000" SizeX="8" SizeY="8"></Pixels></Image></OME>',
            "ImageJ=1.53\nimages=2000000000\nslices=2000000000\n",
            "ImageJ=1.53\n images = +2_000_000_000 \n",
            json.dumps({"shape": [2_000_000_000, 8, 8]}),
            "shape=(2000000000, 8, 8)",
        ],
    )
    def test_descriptions_of_more_pictures_than_there_can_be(self, tmp_path, text):
        values = np.zeros((8, 8), np.uint8)
        tifffile.imwrite(tmp_path / "a.tif", values, description=text, metadata=None)
        with pytest.raises(rf.FormatError, match="says it has 2,000,000,000 pictures"):
            open_pictures(tmp_path / "a.tif")


class TestArrays:
    @pytest.mark.parametrize("ending", ["npy", "npz"])
    def test_more_pictures_than_there_can_be(self, tmp_path, ending):
        head = bombs.npy_header((2 * MAX_PICTURES, 8, 8))
        path = tmp_path / f"a.{ending}"
        if ending == "npy":
            path.write_bytes(head)
        else:
            bombs.npz(path, {"a.npy": head})
        with pytest.raises(rf.FormatError, match="says it has 2,000,000 pictures"):
            open_pictures(path)

    def test_a_header_that_asks_for_more_than_is_there(self, tmp_path):
        path = bombs.npz(tmp_path / "a.npz", {"a.npy": bombs.npy_header((9, 9000, 9000))})
        with pytest.raises(rf.FormatError, match="is cut off in a"):
            open_pictures(path)

    @pytest.mark.parametrize("size", [-1, 200, 60])
    def test_one_that_is_cut_off(self, tmp_path, size):
        np.save(tmp_path / "a.npy", np.zeros((3, 8, 8), np.uint8))
        whole = (tmp_path / "a.npy").read_bytes()
        (tmp_path / "a.npy").write_bytes(whole[:size])
        with pytest.raises(rf.FormatError, match=r"a\.npy (is cut off|cannot be read)"):
            open_pictures(tmp_path / "a.npy")

    def test_one_that_shrinks_while_it_is_read(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((3, 400, 400), np.uint8))
        source = open_pictures(tmp_path / "a.npy")
        pictures = source.pictures()
        next(pictures)
        with (tmp_path / "a.npy").open("r+b") as file:
            file.truncate(200_000)
        with pytest.raises(rf.FormatError, match="cut off meanwhile"):
            list(pictures)

    def test_an_archive_that_would_fill_the_memory(self, tmp_path):
        path = bombs.npz_of_zeros(tmp_path / "a.npz", 2**30 + 2**20)
        with pytest.raises(rf.FormatError, match="can only be read whole"):
            open_pictures(path)
        script = (
            "import rankfold.io\n---\n"
            "try:\n    rankfold.io.open_pictures(sys.argv[1])\n"
            "except rankfold.errors.FormatError:\n    pass\n"
        )
        assert peak_of(script, path) < 100 * 2**20

    @pytest.mark.parametrize(
        "members", [{}, {"a.txt": b"hello"}, {"a.npy": b""}, {"a.npy": b"\x93NUMPY\x03\x00"}]
    )
    def test_archives_with_nothing_to_see(self, tmp_path, members):
        path = bombs.npz(tmp_path / "a.npz", members)
        with pytest.raises(rf.RankfoldError, match=r"a\.npz"):
            open_pictures(path)

    def test_damage_that_only_the_checksum_of_the_archive_knows(self, tmp_path):
        values = np.random.default_rng(0).integers(0, 256, (3, 30, 30), np.uint8)
        np.savez(tmp_path / "a.npz", a=values)
        bad = bytearray((tmp_path / "a.npz").read_bytes())
        bad[1000] ^= 1
        (tmp_path / "a.npz").write_bytes(bytes(bad))
        with pytest.raises(rf.FormatError, match="CRC"):
            open_pictures(tmp_path / "a.npz")

    @pytest.mark.parametrize(
        ("shape", "descr"),
        [
            ((-3, 8, 8), "|u1"),
            ((3, 8, -8), "|u1"),
            ((3, 8, 8), "<U1"),
            ((3, 8, 8), "|V4"),
            ((3, 8, 8), "<c16"),
            ((3, 8, 8), "<M8[s]"),
        ],
    )
    @pytest.mark.parametrize("ending", ["npy", "npz"])
    def test_what_is_no_stack_of_numbers(self, tmp_path, shape, descr, ending):
        body = bombs.npy_header(shape, descr) + bytes(10_000)
        path = tmp_path / f"a.{ending}"
        if ending == "npy":
            path.write_bytes(body)
        else:
            bombs.npz(path, {"a.npy": body})
        with pytest.raises(rf.InputError, match=r"a stack is|pictures are integers or floats"):
            open_pictures(path)

    def test_a_header_of_gigabytes(self, tmp_path):
        path = tmp_path / "a.npy"
        path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff")
        with path.open("r+b") as file:
            file.truncate(2**32 + 20)
        with pytest.raises(rf.FormatError, match="its header is too long"):
            open_pictures(path)

    @pytest.mark.parametrize("save", [np.save, lambda path, a: np.savez(path, a=a)])
    def test_objects_of_python_are_not_looked_at(self, tmp_path, save):
        save(tmp_path / "a", np.array([{}, "text", None], dtype=object))
        (written,) = tmp_path.iterdir()
        with pytest.raises(rf.FormatError, match="it holds Python objects"):
            open_pictures(written)

    @pytest.mark.parametrize("save", [np.save, lambda path, a: np.savez(path, a=a)])
    def test_arrays_in_the_order_of_fortran(self, tmp_path, save):
        values = np.asfortranarray(np.random.default_rng(0).random((3, 5, 6, 2)))
        save(tmp_path / "a.npy", values)
        (written,) = tmp_path.iterdir()
        found = np.stack([one.values for one in open_pictures(written).pictures()])
        np.testing.assert_array_equal(found, values)


class TestZarr:
    @pytest.fixture
    def zarr(self):
        return pytest.importorskip("zarr")

    @pytest.fixture
    def made(self, zarr, tmp_path):
        """An array and its metadata, to be changed."""
        array = zarr.create_array(
            str(tmp_path / "a.zarr"), shape=(3, 8, 8), chunks=(1, 8, 8), dtype="u1"
        )
        array[:] = 7
        return tmp_path / "a.zarr"

    def change(self, made, **changes):
        facts = json.loads((made / "zarr.json").read_text())
        (made / "zarr.json").write_text(json.dumps({**facts, **changes}))

    def test_more_pictures_than_there_can_be(self, made):
        self.change(made, shape=[10**9, 8, 8])
        with pytest.raises(rf.FormatError, match="says it has 1,000,000,000 pictures"):
            open_pictures(made)

    def test_chunks_without_measure_in_a_shard(self, zarr, tmp_path):
        """Half a minute and 2 GB for a few hundred bytes."""
        path = tmp_path / "a.zarr"
        made = zarr.create_array(
            str(path), shape=(3, 8, 8), chunks=(1, 8, 8), shards=(1, 8, 8), dtype="u1"
        )
        made[:] = 7
        facts = json.loads((path / "zarr.json").read_text())
        facts["shape"] = [3, 8000, 8000]
        facts["chunk_grid"]["configuration"]["chunk_shape"] = [1, 8000, 8000]
        facts["codecs"][0]["configuration"]["chunk_shape"] = [1, 1, 1]
        (path / "zarr.json").write_text(json.dumps(facts))
        with pytest.raises(rf.FormatError, match="64,000,000 parts of only 1 bytes"):
            open_pictures(path)

    @pytest.mark.parametrize("chunks", [[1, 1, 1], [3, 40_000, 40_000]])
    def test_chunks_without_measure(self, made, chunks):
        grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
        self.change(made, shape=[3, 1000, 1000], chunk_grid=grid)
        with pytest.raises(rf.FormatError, match="stores a picture in"):
            open_pictures(made)

    @pytest.mark.parametrize("text", ["{", "[]", "null", '{"zarr_format": 3}', "\x00"])
    def test_bad_metadata(self, made, text):
        (made / "zarr.json").write_text(text)
        with pytest.raises(
            rf.RankfoldError, match=r"a\.zarr (cannot be read as zarr|has 0 arrays)"
        ):
            open_pictures(made)

    def test_an_empty_folder(self, tmp_path):
        """It was said not to exist."""
        (tmp_path / "a.zarr").mkdir()
        with pytest.raises(rf.FormatError, match=r"a\.zarr cannot be read as zarr"):
            open_pictures(tmp_path / "a.zarr")

    def test_a_group_with_a_bad_array(self, zarr, tmp_path):
        group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
        group.create_array("one", shape=(3, 8, 8), dtype="u1")
        (tmp_path / "g.zarr" / "one" / "zarr.json").write_text("{")
        with pytest.raises(rf.RankfoldError, match=r"g\.zarr"):
            open_pictures(tmp_path / "g.zarr")

    @pytest.mark.parametrize("place", ["filters", "compressor"])
    def test_chunks_that_are_pickles_are_never_opened(self, zarr, tmp_path, place):
        numcodecs = pytest.importorskip("numcodecs")
        array = zarr.create_array(
            str(tmp_path / "a.zarr"),
            shape=(3, 8, 8),
            chunks=(1, 8, 8),
            dtype="u1",
            zarr_format=2,
            filters=[numcodecs.Delta(dtype="u1")],
        )
        array[:] = 7
        facts = json.loads((tmp_path / "a.zarr" / ".zarray").read_text())
        assert [one.values.max() for one in open_pictures(tmp_path / "a.zarr").pictures()]
        facts[place] = {"id": "pickle", "protocol": 5}
        if place == "filters":
            facts[place] = [facts[place]]
        (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps(facts))
        with pytest.raises(rf.FormatError, match=r"a\.zarr .*pickle"):
            open_pictures(tmp_path / "a.zarr")

    def test_a_damaged_chunk_costs_one_picture(self, made):
        chunks = (path for path in made.rglob("*") if path.is_file() and path.suffix != ".json")
        chunk = next(chunks)
        chunk.write_bytes(b"no chunk")
        source = open_pictures(made)
        with pytest.raises(rf.FormatError, match="cannot be read"):
            list(source.pictures())
        assert len(source.without_bad()) == 2

    @pytest.mark.slow
    def test_a_chunk_that_decodes_to_gigabytes_costs_one_picture(self, zarr, tmp_path):
        """It filled the memory: 8 GiB for a picture of 4 KiB."""
        array = zarr.create_array(
            str(tmp_path / "a.zarr"),
            shape=(3, 8, 8),
            chunks=(1, 8, 8),
            dtype="u1",
            compressors=[{"name": "gzip", "configuration": {"level": 5}}],
        )
        array[:] = 7
        chunk = tmp_path / "a.zarr" / "c" / "1" / "0" / "0"
        with gzip.open(chunk, "wb", compresslevel=1) as file:
            for _ in range(5 * 2**10):
                file.write(bytes(2**20))
        script = (
            "from rankfold.io import open_pictures\n---\n"
            "print(len(open_pictures(sys.argv[1]).without_bad()))\n"
        )
        assert peak_of(script, tmp_path / "a.zarr") < 100 * 2**20
        source = open_pictures(tmp_path / "a.zarr").without_bad()
        assert source.left_out == ("a-0001",)

    @pytest.mark.parametrize("place", ["zarr.json", "c/0/0/0"])
    def test_a_pipe_that_never_ends(self, made, place, monkeypatch):
        monkeypatch.setattr(isolated, "PATIENCE", 2.0)
        (made / place).unlink()
        os.mkfifo(made / place)
        with pytest.raises(rf.RankfoldError, match=r"takes too long|cannot be read|is no"):
            list(open_pictures(made).pictures())

    def test_chunks_of_several_pictures_are_decoded_once(self, zarr, tmp_path, monkeypatch):
        """One chunk was decoded for each of its pictures anew."""
        values = np.random.default_rng(0).integers(0, 256, (10, 8, 8), np.uint8)
        array = zarr.create_array(
            str(tmp_path / "a.zarr"), shape=values.shape, chunks=(4, 8, 8), dtype="u1"
        )
        array[:] = values
        source = open_pictures(tmp_path / "a.zarr", isolate=False)
        read = []
        real = zarr.Array.__getitem__
        monkeypatch.setattr(
            zarr.Array, "__getitem__", lambda self, at: read.append(at) or real(self, at)
        )
        found = np.stack([one.values for one in source.pictures()])
        np.testing.assert_array_equal(found, values)
        assert len(read) == 3
