"""Every format goes in and comes out as it was: values, type, mask, names, order."""

import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

import rankfold as rf
from rankfold.datasets import warped_low_rank
from rankfold.io import FORMATS, open_pictures, write_picture, write_pictures
from rankfold.io.pictures import load_picture
from rankfold.io.source import as_type, natural, reading
from rankfold.metrics import alignment_error

RNG = np.random.default_rng(0)


def noise(shape, dtype=np.uint8):
    if np.dtype(dtype).kind == "f":
        return RNG.random(shape).astype(dtype)
    return RNG.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def smooth(n=6, shape=(32, 40), channels=3):
    """A moving ramp that codecs keep."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    frames = [np.clip(4 * x + 2 * y + 5 * k, 0, 255).astype(np.uint8) for k in range(n)]
    return np.stack([np.dstack([f] * channels) if channels > 1 else f for f in frames])


class TestOnePicture:
    @pytest.mark.parametrize("ending", ["png", "bmp", "webp", "tif"])
    @pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
    def test_eight_bits_come_back_exactly(self, tmp_path, ending, shape):
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
    def test_png_and_pnm_keep_sixteen_bits(self, tmp_path, ending, shape, dtype):
        values = noise(shape, dtype)
        path = tmp_path / f"a.{ending}"
        write_picture(path, values.astype(float), dtype)
        back = load_picture(path)
        np.testing.assert_array_equal(back.values, values)
        assert back.values.dtype == dtype
        assert back.mask is None
        source = open_pictures(path)
        assert (source.shapes[0], source.dtype) == (shape, dtype)

    def test_jpeg_is_close(self, tmp_path):
        values = smooth(1)[0]
        write_picture(tmp_path / "a.jpg", values.astype(float))
        assert np.abs(load_picture(tmp_path / "a.jpg").values.astype(int) - values).mean() < 2

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    @pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3)])
    def test_alpha_is_the_mask_both_ways(self, tmp_path, shape, dtype):
        values = noise(shape, dtype).astype(float)
        values[2:4, 3] = np.nan
        write_picture(tmp_path / "a.png", values, dtype)
        back = load_picture(tmp_path / "a.png")
        hidden = np.isnan(values) if len(shape) == 2 else np.isnan(values)[..., 0]
        np.testing.assert_array_equal(back.mask, ~hidden)
        np.testing.assert_array_equal(back.values[back.mask], values[~hidden])
        assert open_pictures(tmp_path / "a.png").shapes[0] == shape

    def test_tiff_alpha_and_float(self, tmp_path):
        values = noise((8, 9, 4), np.uint16)
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="rgb", extrasamples=["unassalpha"])
        back = load_picture(tmp_path / "a.tif")
        np.testing.assert_array_equal(back.values, values[..., :3])
        np.testing.assert_array_equal(back.mask, values[..., 3] >= 65535 / 2)
        floats = noise((8, 9), np.float32)
        write_picture(tmp_path / "b.tif", floats, np.float32)
        np.testing.assert_array_equal(load_picture(tmp_path / "b.tif").values, floats)

    def test_pictures_stand_as_the_camera_was_held(self, tmp_path):
        values = noise((6, 10, 3))
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.fromarray(values).save(tmp_path / "a.png", exif=exif)
        np.testing.assert_array_equal(load_picture(tmp_path / "a.png").values, np.rot90(values, -1))
        assert open_pictures(tmp_path / "a.png").shapes[0] == (10, 6, 3)

    def test_palettes_and_bits_become_plain_pictures(self, tmp_path):
        Image.fromarray(noise((8, 8, 3))).quantize(16).save(tmp_path / "a.png")
        Image.fromarray(noise((8, 8)) > 128).save(tmp_path / "b.png")
        assert load_picture(tmp_path / "a.png").values.shape == (8, 8, 3)
        assert set(np.unique(load_picture(tmp_path / "b.png").values)) <= {0, 255}

    @pytest.mark.parametrize("bands", [2, 5])
    def test_bands_of_a_tiff_are_channels_and_no_mask(self, tmp_path, bands):
        values = noise((8, 9, bands), np.uint16)
        write_picture(tmp_path / "a.tif", values.astype(float), np.uint16)
        back = load_picture(tmp_path / "a.tif")
        np.testing.assert_array_equal(back.values, values)
        assert back.mask is None
        assert open_pictures(tmp_path / "a.tif").shapes[0] == (8, 9, bands)
        with pytest.raises(rf.InputError, match=f"would have {bands} channels.*--format tiff"):
            write_picture(tmp_path / "a.png", values.astype(float))

    @pytest.mark.parametrize("mode", ["P", "CMYK", "RGBA", "L", "RGB"])
    @pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate"])
    def test_colours_of_a_tiff_are_those_that_pillow_sees(self, tmp_path, mode, compression):
        image = Image.fromarray(smooth(1, (12, 14))[0]).convert(mode)
        image.save(tmp_path / "a.tif", compression=compression)
        back = load_picture(tmp_path / "a.tif").values
        expected = np.array(image if mode == "L" else image.convert("RGB"))
        np.testing.assert_allclose(back.astype(int), expected.astype(int), atol=1)
        assert open_pictures(tmp_path / "a.tif").shapes[0] == back.shape

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_orientation_of_a_tiff(self, tmp_path, orientation):
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

    def test_white_is_zero(self, tmp_path):
        values = noise((6, 7))
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="miniswhite")
        np.testing.assert_array_equal(load_picture(tmp_path / "a.tif").values, 255 - values)

    def test_a_stack_among_pictures_is_named(self, tmp_path):
        tifffile.imwrite(tmp_path / "a.tif", noise((3, 6, 7)), photometric="minisblack")
        with pytest.raises(rf.FormatError, match=r"a\.tif is a stack of 3 pages; give it alone"):
            load_picture(tmp_path / "a.tif")

    def test_transparency_of_grey_and_comments_of_ppm(self, tmp_path):
        values = noise((6, 7))
        Image.fromarray(values).save(tmp_path / "a.png", transparency=int(values[2, 3]))
        np.testing.assert_array_equal(load_picture(tmp_path / "a.png").mask, values != values[2, 3])
        deep = noise((4, 5, 3), np.uint16)
        head = b"P6\n# made by hand\n5 4\n65535\n"
        (tmp_path / "a.ppm").write_bytes(head + deep.astype(">u2").tobytes())
        np.testing.assert_array_equal(load_picture(tmp_path / "a.ppm").values, deep)

    def test_types_are_rounded_and_clipped(self):
        given = np.array([-3.0, 1.6, 300.0, np.nan])
        np.testing.assert_array_equal(as_type(given, np.uint8), [0, 2, 255, 0])
        np.testing.assert_array_equal(as_type(given, bool), [False, True, True, False])
        assert as_type(np.array([1e30]), np.int64)[0] > 2**62


class TestFolders:
    def fill(self, folder, names, shape=(8, 9)):
        folder.mkdir(exist_ok=True)
        pictures = [noise(shape) for _ in names]
        for name, values in zip(names, pictures, strict=True):
            write_picture(folder / name, values.astype(float))
        return pictures

    def test_natural_order_names_and_pattern(self, tmp_path):
        names = [f"f{k}.png" for k in (1, 2, 10, 11)]
        pictures = self.fill(tmp_path / "in", sorted(names))
        source = open_pictures(tmp_path / "in")
        assert list(source.names) == names
        by_name = dict(zip(sorted(names), pictures, strict=True))
        for name, picture in zip(source.names, source.pictures(), strict=True):
            np.testing.assert_array_equal(picture.values, by_name[name])
        assert open_pictures(f"{tmp_path}/in/f1?.png").names == ("f10.png", "f11.png")
        assert natural("a2") < natural("a10") < natural("b1")

    def test_back_into_a_folder_with_the_same_names(self, tmp_path):
        pictures = self.fill(tmp_path / "in", ["a.png", "b.bmp"])
        source = open_pictures(tmp_path / "in")
        out = write_pictures(
            tmp_path / "out", source.names, (p.astype(float) for p in pictures), source
        )
        assert sorted(p.name for p in out.iterdir()) == ["a.png", "b.bmp"]
        np.testing.assert_array_equal(load_picture(out / "b.bmp").values, pictures[1])

    def test_every_picture_keeps_its_own_type(self, tmp_path):
        (tmp_path / "in").mkdir()
        eight, sixteen, real = noise((8, 9)), noise((8, 9), np.uint16), noise((8, 9), np.float32)
        for name, values in (("a.png", eight), ("b.png", sixteen), ("c.tif", real)):
            write_picture(tmp_path / "in" / name, values.astype(float), values.dtype)
        source = open_pictures(tmp_path / "in")
        pictures = [p.values.astype(float) for p in source.pictures()]
        out = write_pictures(tmp_path / "out", source.names, pictures, source)
        for name, values in (("a.png", eight), ("b.png", sixteen), ("c.tif", real)):
            back = load_picture(out / name).values
            assert back.dtype == values.dtype
            np.testing.assert_allclose(back, values, rtol=1e-6)
        one = write_pictures(tmp_path / "stack", source.names, pictures, source, "array")
        together = np.load(one)  # in one file all have the unit of floats
        np.testing.assert_allclose(together[0], eight / 255, rtol=1e-6)
        np.testing.assert_allclose(together[1], sixteen / 65535, rtol=1e-6)

    def test_names_that_look_like_patterns_or_numbers(self, tmp_path):
        self.fill(tmp_path, ["a[1].png", "1²3.png", "img01.png", "img1.png"])
        assert open_pictures(tmp_path / "a[1].png").names == ("a[1].png",)
        names = open_pictures(tmp_path).names
        assert names.index("img01.png") < names.index("img1.png")

    def test_same_names_in_two_folders_stay_apart(self, tmp_path):
        for folder in ("a", "b"):
            self.fill(tmp_path / folder, ["x.png"])
        source = open_pictures(f"{tmp_path}/?/x.png")
        out = write_pictures(
            tmp_path / "out", source.names, (p.values for p in source.pictures()), source
        )
        assert len(list(out.iterdir())) == 2

    def test_an_empty_folder_says_what_would_help(self, tmp_path):
        with pytest.raises(rf.InputError, match=r"has no pictures; put some there \(png"):
            open_pictures(tmp_path)
        (tmp_path / "notes.txt").write_text("hello")
        with pytest.raises(rf.InputError, match="it has 1 other files"):
            open_pictures(tmp_path)

    def test_what_does_not_exist(self, tmp_path):
        with pytest.raises(rf.InputError, match="does not exist"):
            open_pictures(tmp_path / "nowhere")
        with pytest.raises(rf.InputError, match="names no pictures"):
            open_pictures(f"{tmp_path}/*.png")

    def test_other_files_are_left_out_and_named(self, tmp_path):
        self.fill(tmp_path, ["a.png", "b.png"])
        (tmp_path / "notes.txt").write_text("hello")
        assert open_pictures(tmp_path).left_out == ("notes.txt",)

    @pytest.mark.parametrize("damage", ["text", "truncated"])
    def test_a_bad_picture_is_named_and_left_out_only_when_asked(self, tmp_path, damage):
        self.fill(tmp_path, ["a.jpg", "b.jpg", "c.jpg"], (60, 60))
        bad = tmp_path / "b.jpg"
        bad.write_bytes(b"no picture" if damage == "text" else bad.read_bytes()[:-800])
        source = open_pictures(tmp_path)
        with pytest.raises(rf.FormatError, match=r"b\.jpg.*--skip-bad"):
            list(source.pictures())
        good = source.without_bad()
        assert good.names == ("a.jpg", "c.jpg")
        assert good.left_out == ("b.jpg",)
        assert len(list(good.pictures())) == 2

    def test_nothing_but_bad_pictures(self, tmp_path):
        (tmp_path / "a.png").write_text("no")
        with pytest.raises(rf.FormatError, match=r"a\.png is not a picture"):
            open_pictures(tmp_path)

    def test_a_huge_header_is_refused_before_it_fills_the_memory(self, tmp_path):
        header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n"
        for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(b"0" * 100)), (b"IEND", b"")):
            data += (
                struct.pack(">I", len(body))
                + name
                + body
                + struct.pack(">I", zlib.crc32(name + body))
            )
        (tmp_path / "bomb.png").write_bytes(data)
        with pytest.raises(rf.FormatError, match=r"bomb\.png says it .*170,000,000"):
            load_picture(tmp_path / "bomb.png")

    def test_grey_among_colour_is_refused_with_both_names_and_can_be_made_grey(self, tmp_path):
        self.fill(tmp_path, ["a.png"])
        self.fill(tmp_path, ["b.png"], (8, 9, 3))
        source = open_pictures(tmp_path)
        with pytest.raises(rf.InputError, match=r"a\.png and b\.png.*--grey"):
            source.stack()
        assert source.in_grey().stack().channels == 1


class TestStacks:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
    @pytest.mark.parametrize("shape", [(5, 16, 20), (5, 16, 20, 3), (5, 16, 20, 2)])
    @pytest.mark.parametrize("kind", ["tif", "ome.tif", "npy", "npz", "zarr"])
    def test_there_and_back(self, tmp_path, kind, shape, dtype):
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

    def test_axes_of_an_ome_stack_are_chosen_by_name(self, tmp_path):
        values = noise((3, 4, 2, 8, 9))
        tifffile.imwrite(
            tmp_path / "a.ome.tif", values, metadata={"axes": "TZCYX"}, photometric="minisblack"
        )
        with pytest.raises(rf.InputError, match=r"T \(3\), Z \(4\).*--select"):
            open_pictures(tmp_path / "a.ome.tif")
        source = open_pictures(tmp_path / "a.ome.tif", select=("Z=2", "C=1"))
        np.testing.assert_array_equal(
            np.stack([p.values for p in source.pictures()]), values[:, 2, 1]
        )
        both = open_pictures(tmp_path / "a.ome.tif", select=("T=1",))
        np.testing.assert_array_equal(
            np.stack([p.values for p in both.pictures()]), np.moveaxis(values[1], 1, -1)
        )
        for bad in ("Z=9", "Q=0", "Y=1", "Z"):
            with pytest.raises(rf.InputError, match=r"does not fit .*Z=0\.\.3"):
                open_pictures(tmp_path / "a.ome.tif", select=(bad,))

    def test_files_without_names_for_their_axes(self, tmp_path):
        values = noise((3, 4, 8, 9))
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack")
        with pytest.raises(rf.InputError, match=r"Q \(3\), R \(4\)"):
            open_pictures(tmp_path / "a.tif")
        source = open_pictures(tmp_path / "a.tif", select=("Q=2",))
        np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values[2])

    def test_a_stack_with_one_header_for_all_pages(self, tmp_path):
        values = noise((5, 8, 9), np.uint16)
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", truncate=True)
        source = open_pictures(tmp_path / "a.tif")
        np.testing.assert_array_equal(np.stack([p.values for p in source.pictures()]), values)

    def test_alpha_of_a_stack_is_a_mask_and_pages_of_another_size_are_named(self, tmp_path):
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

    def test_pictures_are_written_one_at_a_time(self, tmp_path):
        source = open_pictures(np_file(tmp_path, noise((6, 8, 9))))
        made, seen = [], []

        def pictures():
            for k in range(6):
                made.append(k)
                yield np.zeros((8, 9))

        from rankfold.io import tiff

        plain = tiff.as_type
        tiff.as_type = lambda *args: (seen.append(len(made)), plain(*args))[1]
        try:
            write_pictures(tmp_path / "out", source.names, pictures(), source, "tiff")
        finally:
            tiff.as_type = plain
        assert seen == [1, 2, 3, 4, 5, 6]

    def test_one_of_several_arrays(self, tmp_path):
        np.savez(tmp_path / "a.npz", one=noise((2, 8, 8)), two=noise((3, 8, 8)))
        with pytest.raises(rf.InputError, match=r"has 2 arrays; choose one with --key: one, two"):
            open_pictures(tmp_path / "a.npz")
        assert len(open_pictures(tmp_path / "a.npz", key="two")) == 3
        with pytest.raises(rf.InputError, match="no array 'three'"):
            open_pictures(tmp_path / "a.npz", key="three")

    def test_arrays_that_are_no_stacks(self, tmp_path):
        np.save(tmp_path / "a.npy", noise((8, 8)))
        with pytest.raises(rf.InputError, match=r"shape \(8, 8\)"):
            open_pictures(tmp_path / "a.npy")
        (tmp_path / "b.npy").write_text("no")
        with pytest.raises(rf.FormatError, match=r"b\.npy cannot be read"):
            open_pictures(tmp_path / "b.npy")
        np.save(tmp_path / "c.npy", np.array([{}]), allow_pickle=True)
        with pytest.raises(rf.FormatError, match=r"c\.npy cannot be read"):
            open_pictures(tmp_path / "c.npy")

    def test_options_that_mean_nothing_are_refused(self, tmp_path):
        np.save(tmp_path / "a.npy", noise((3, 8, 8)))
        with pytest.raises(rf.InputError, match="--stride means nothing for an array file"):
            open_pictures(tmp_path / "a.npy", stride=2)


class TestVideo:
    @pytest.mark.parametrize("ending", [".mp4", ".avi", ".webm"])
    def test_frames_range_stride_and_back(self, tmp_path, ending):
        frames = smooth(8)
        (tmp_path / "in").mkdir()
        given = open_pictures(np_file(tmp_path, frames))
        like = replace_path(given, f"x{ending}")
        path = write_pictures(tmp_path / "clip", given.names, frames.astype(float), like, "video")
        assert path.suffix == ending
        source = open_pictures(path)
        assert len(source) == 8
        back = np.stack([p.values for p in source.pictures()]).astype(int)
        assert np.abs(back - frames).mean() < 4
        some = open_pictures(path, frames="2:7", stride=2)
        assert [name[-1] for name in some.names] == ["2", "4", "6"]
        np.testing.assert_array_equal(np.stack([p.values for p in some.pictures()]), back[2:7:2])

    def test_a_video_that_breaks_off_says_how_far_it_is_good(self, tmp_path, monkeypatch):
        import av

        frames = smooth(8)
        like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
        path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")

        class Broken:
            """A container whose decoder trips over the sixth frame."""

            def __init__(self, name):
                self.real = plain(name)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.real.close()

            @property
            def streams(self):
                return self.real.streams

            def decode(self, video):
                for k, frame in enumerate(self.real.decode(video=video)):
                    if k == 5:
                        raise av.InvalidDataError(1, "bad bytes")
                    yield frame

        plain = av.open
        monkeypatch.setattr(av, "open", Broken)
        with pytest.raises(rf.FormatError, match=r"damaged after frame 4 .*use --frames 0:5"):
            open_pictures(path)
        assert len(list(open_pictures(path, frames="0:5").pictures())) == 5

    def test_odd_sizes_and_grey_get_through(self, tmp_path):
        frames = smooth(4, (31, 33), 1)
        like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
        path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")
        assert open_pictures(path).shapes[0] == (32, 34, 3)

    def test_bad_ranges_and_files(self, tmp_path):
        like = replace_path(open_pictures(np_file(tmp_path, smooth(4))), "x.mp4")
        path = write_pictures(tmp_path / "clip", like.names, smooth(4).astype(float), like, "video")
        for frames, words in (
            ("9:12", "selects nothing.*4 frames"),
            ("a", "not a range"),
            ("3:1", "not a range"),
        ):
            with pytest.raises(rf.InputError, match=words):
                open_pictures(path, frames=frames)
        with pytest.raises(rf.InputError, match="stride -1"):
            open_pictures(path, stride=-1)
        (tmp_path / "b.mp4").write_text("no video")
        with pytest.raises(rf.FormatError, match=r"b\.mp4 cannot be read as a video"):
            open_pictures(tmp_path / "b.mp4")


class TestReduction:
    def test_transforms_refer_to_the_originals(self):
        batch = warped_low_rank(20, rank=3, frame=(60, 60), misalignment=1.5, seed=0)
        stack = rf.Stack.of(batch.images)
        plain = rf.align(stack, method="rasl", frame=batch.frame, init=batch.start)
        small = rf.align(stack.reduced(2), method="rasl", frame=batch.frame, init=batch.start)
        np.testing.assert_array_equal(small.source_shapes, plain.source_shapes)
        np.testing.assert_allclose(small.start, plain.start, atol=1e-9)
        assert alignment_error(plain.transforms, batch.truth, batch.points).mean < 0.1
        assert alignment_error(small.transforms, batch.truth, batch.points).mean < 0.2

    def test_means_masks_and_sizes(self):
        image = np.arange(90.0).reshape(9, 10)
        image[0, 0] = np.nan
        stack = rf.Stack.of([image, image + 1]).reduced(2)
        assert stack.sources[0].shape == (4, 5)
        assert stack.sources[0][1, 1] == image[2:4, 2:4].mean()
        assert stack.masks[0].all()  # three of four pixels are enough
        assert stack.sources[0][0, 0] == pytest.approx(np.nanmean(image[:2, :2]))
        holes = image.copy()
        holes[:2, :2] = np.nan
        holes[3, 3] = 5
        assert not rf.Stack.of([holes]).reduced(2).masks[0][0, 0]
        lattice = np.where(np.arange(10) % 2, image, np.nan)
        lattice[1::2] = np.nan
        with pytest.raises(rf.InputError, match=r"nothing is left of image 0"):
            rf.Stack.of([lattice]).reduced(2)
        assert stack.original_shapes == [(9, 10)] * 2
        with pytest.raises(rf.InputError, match="too small to be reduced by 3"):
            rf.Stack.of([image]).reduced(3)
        with pytest.raises(rf.InputError, match="at least 1"):
            stack.reduced(0)

    def test_read_one_at_a_time_equals_read_at_once(self, tmp_path):
        values = noise((4, 16, 20), np.uint16)
        source = open_pictures(np_file(tmp_path, values))
        one, all_ = source.stack(2), rf.Stack.of(values).reduced(2)
        for a, b in zip(one.sources, all_.sources, strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.reduction == 2

    def test_floats_of_any_size_get_one_unit(self, tmp_path):
        values = RNG.random((4, 16, 20)) * np.array([1.0e6, 1.1e6, 0.9e6, 1.2e6])[:, None, None]
        one, all_ = open_pictures(np_file(tmp_path, values)).stack(), rf.Stack.of(values)
        np.testing.assert_array_equal(one.units, all_.units)
        np.testing.assert_array_equal(one.sources[0], all_.sources[0])


def test_want_of_memory_is_not_taken_for_a_bad_file():
    with pytest.raises(MemoryError), reading("a.png", "read", "replace it"):
        raise MemoryError
    with pytest.raises(rf.InputError, match="as it is"), reading("a.png", "read", "replace it"):
        raise rf.InputError("as it is")
    with (
        pytest.raises(rf.FormatError, match=r"a\.png cannot be read \(odd\); replace it"),
        reading("a.png", "read", "replace it"),
    ):
        raise ArithmeticError("odd")


def test_every_format_has_a_summary():
    assert all(row.summary and row.name == name for name, row in FORMATS.items())
    with pytest.raises(rf.InputError, match="unknown format 'tape'"):
        write_pictures("x", (), [], None, "tape")


def np_file(folder: Path, values):
    np.save(folder / "in.npy", values)
    return folder / "in.npy"


def replace_path(source, path):
    from dataclasses import replace

    return replace(source, path=path, rate=20.0)
