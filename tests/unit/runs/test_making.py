"""Plates, restored pictures and masks of a run, in files."""

import errno
import os
import shutil

import numpy as np
import pytest
from PIL import Image

import rankfold as rf
from made import as_video, filmed, photographed, pictures_in
from rankfold import runs
from rankfold.io import in_memory, open_pictures, read_picture, write_picture
from rankfold.outputs import Restored
from rankfold.runs import plating, restoring


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return photographed(tmp_path_factory.mktemp("photographed"))


@pytest.fixture(scope="module")
def photos(place):
    return open_pictures(place / "photos")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    place = tmp_path_factory.mktemp("filmed")
    filmed(place)
    return place / "film"


@pytest.fixture
def full(monkeypatch):
    """Return what makes the disk full after so many pictures were written in a module."""

    def fill(module, count):
        plain = module.write_picture
        written = []

        def write(path, *args):
            if len(written) == count:
                path.write_bytes(b"half")
                raise OSError(errno.ENOSPC, "No space left on device")
            written.append(path)
            plain(path, *args)

        monkeypatch.setattr(module, "write_picture", write)

    return fill


class Steps:
    """A watch that counts."""

    def __init__(self):
        self.said = []
        self.done = 0

    def say(self, text, total=None):
        self.said.append((text, total))

    def advance(self):
        self.done += 1


class TestPlate:
    def test_the_file_is_the_plate(self, place, photos, tmp_path):
        watch = Steps()
        made = runs.plate_run(place / "run", photos, tmp_path / "p.png", watch=watch)
        plate = rf.load(place / "run").plate(photos)
        np.testing.assert_array_equal(read_picture(made.place), plate.picture)
        figures = made.as_dict()
        assert figures["written"] == str(tmp_path / "p.png")
        assert figures["sentence"] == plate.sentence
        assert (figures["height"], figures["width"]) == plate.valid.shape
        assert (figures["images"], figures["type"], figures["light"]) == (6, "uint8", "")
        assert watch.said[0] == ("putting the plate together", watch.done)
        assert watch.said[-1][0] == "writing"

    def test_a_full_disk_leaves_nothing(self, place, photos, tmp_path, full):
        from rankfold.outputs import plate as module

        full(module, 0)
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*p\.png; make room"):
            runs.plate_run(place / "run", photos, tmp_path / "p.png")
        assert not any(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("p.xyz", r"cannot tell a format from 'p\.xyz'; end it in one of tif, tiff, png"),
            ("plate", "cannot tell a format from 'plate'"),
        ],
    )
    def test_an_ending_that_says_nothing(self, place, photos, tmp_path, name, words):
        for options in ({}, {"confidence": tmp_path / name}):
            path = tmp_path / (name if not options else "p.png")
            with pytest.raises(rf.InputError, match=words):
                runs.plate_run(place / "run", photos, path, **options)
        assert not any(tmp_path.iterdir())

    def test_a_picture_is_never_replaced(self, place, photos):
        with pytest.raises(rf.InputError, match="from which it would be made; choose another"):
            runs.plate_run(place / "run", photos, place / "photos" / "000.png", overwrite=True)

    def test_nor_is_one_of_the_run(self, place, photos, tmp_path):
        """Others of the same names were given, and so the originals were taken for any file."""
        shutil.copytree(place / "photos", tmp_path / "others")
        others = open_pictures(tmp_path / "others")
        with pytest.raises(rf.InputError, match=r"000\.png is a picture of the run"):
            runs.plate_run(place / "run", others, place / "photos" / "000.png", overwrite=True)

    @pytest.mark.parametrize(
        ("before", "after"),
        [('names = ["000.png"', 'names = [7, "000.png"'), ("names = [", "nams = [")],
    )
    def test_a_damaged_config(self, place, photos, tmp_path, before, after):
        run = shutil.copytree(place / "run", tmp_path / "run")
        text = (run / "config.toml").read_text()
        flat = text.replace("[\n    ", "[")
        assert before in flat
        (run / "config.toml").write_text(flat.replace(before, after, 1))
        with pytest.raises(rf.FormatError, match="run is damaged or incomplete"):
            runs.plate_run(run, photos, tmp_path / "p.png")

    def test_a_folder_is_refused_before_anything_is_computed(
        self, place, photos, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(plating, "load_alignment", lambda _: pytest.fail("too late"))
        (tmp_path / "p.png").mkdir()
        with pytest.raises(rf.InputError, match=r"p\.png"):
            runs.plate_run(place / "run", photos, tmp_path / "p.png", overwrite=True)

    def test_pictures_of_something_else(self, place, tmp_path):
        rng = np.random.default_rng(0)
        (tmp_path / "others").mkdir()
        for k in range(6):
            noise = rng.integers(0, 256, (72, 96, 3)).astype(float)
            write_picture(tmp_path / "others" / f"other{k}.png", noise)
        with pytest.raises(
            rf.InputError, match="does not look like the pictures that were aligned"
        ):
            runs.plate_run(place / "run", open_pictures(tmp_path / "others"), tmp_path / "p.png")
        assert not (tmp_path / "p.png").exists()


class TestRestore:
    def test_pictures_keep_their_names_and_bits(self, place, photos, tmp_path):
        made = runs.restore_run(place / "run", photos, tmp_path / "r")
        assert made.place == tmp_path / "r" / "restored"
        given = pictures_in(place / "photos")
        found = pictures_in(made.place)
        assert list(found) == list(given)
        changed = [(found[name] != given[name]).any(axis=2).mean() for name in given]
        assert 0 < np.mean(changed) < 0.5
        figures = made.as_dict()
        assert figures["images"] == 6
        assert figures["replaced_share"] >= np.mean(changed)
        left = tmp_path / "r" / "left"
        assert sorted(figures["left_in"]) == (sorted(pictures_in(left)) if left.exists() else [])

    def test_a_full_disk_leaves_nothing(self, place, photos, tmp_path, full):
        full(restoring, 3)
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*r; make room"):
            runs.restore_run(place / "run", photos, tmp_path / "r")
        assert not any(tmp_path.iterdir())

    def painted(self, folder, *names, shape=(72, 96)):
        folder.mkdir()
        mask = np.zeros(shape, np.uint8)
        mask[20:30, 40:60] = 255
        for name in names:
            write_picture(folder / name, mask)
        return folder

    def test_only_what_is_painted_is_replaced(self, place, photos, tmp_path):
        masks = self.painted(tmp_path / "masks", "001.png", "004.tif")
        made = runs.restore_run(place / "run", photos, tmp_path / "r", masks=masks)
        given = pictures_in(place / "photos")
        for name, picture in pictures_in(made.place).items():
            differs = (picture != given[name]).any(axis=2)
            if name in ("001.png", "004.png"):
                assert differs[20:30, 40:60].any()
                differs[20:30, 40:60] = False
            assert not differs.any()
        assert made.figures["touched"] == 2

    def test_a_mask_of_no_picture(self, place, photos, tmp_path):
        masks = self.painted(tmp_path / "masks", "001.png", "999.png")
        with pytest.raises(rf.InputError, match=r"999\.png belongs to none of the pictures; .*000"):
            runs.restore_run(place / "run", photos, tmp_path / "r", masks=masks)
        assert not (tmp_path / "r").exists()

    def test_the_largest_integers_stay_as_they_are(self, tmp_path):
        """They are no floats: hundreds of pixels changed that were not replaced."""
        rng = np.random.default_rng(0)
        given = 2**62 + rng.integers(0, 2**60, (5, 40, 48))
        source = in_memory(given)
        plain = [Restored("a", one, *(np.zeros(one.shape, bool),) * 3) for one in given]
        path = restoring._write_restored(tmp_path / "restored", iter(plain), source, "array")
        np.testing.assert_array_equal(np.load(path), given)

    @pytest.mark.parametrize("apart", ["of a stranger", "asked for"])
    def test_masks_are_decoded_apart(self, place, photos, tmp_path, apart, monkeypatch):
        """They were decoded here, whoever had painted them."""
        masks = self.painted(tmp_path / "masks", "001.png")
        if apart == "asked for":
            photos = open_pictures(place / "photos", isolate=True)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: masks.stat().st_uid + 1)
        here = []
        monkeypatch.setattr("rankfold.io.pictures._read", here.append)
        found = restoring.painted_masks(masks, photos)(1)
        assert found[20:30, 40:60].all()
        assert here == []

    def test_two_masks_of_one_picture(self, place, photos, tmp_path):
        """The last one won, without a word."""
        (tmp_path / "m").mkdir()
        for ending in ("png", "tif"):
            write_picture(tmp_path / f"m/001.{ending}", np.zeros((40, 48)))
        with pytest.raises(rf.InputError, match=r"two masks of one picture, 001\.png and 001\.tif"):
            runs.restore_run(place / "run", photos, tmp_path / "out", masks=tmp_path / "m")

    def test_a_mask_of_ones(self, place, photos, tmp_path):
        """It is painted, and nothing was replaced."""
        (tmp_path / "m").mkdir()
        height, width = photos.shapes[0][:2]
        write_picture(tmp_path / "m/001.png", np.eye(height, width))
        with pytest.raises(rf.InputError, match=r"001\.png has no pixel that is white \(255\)"):
            runs.restore_run(place / "run", photos, tmp_path / "out", masks=tmp_path / "m")

    def test_white_on_transparency(self, photos, tmp_path):
        """Drawing programs save it so; what is transparent is not painted."""
        height, width = photos.shapes[0][:2]
        painted = np.zeros((height, width), bool)
        painted[5:9, 5:20] = True
        (tmp_path / "m").mkdir()
        layers = np.dstack([np.full((height, width, 3), 255), np.where(painted, 255, 0)])
        Image.fromarray(layers.astype(np.uint8)).save(tmp_path / "m/001.png")
        found = restoring.painted_masks(tmp_path / "m", photos)(1)
        np.testing.assert_array_equal(found, painted)

    def test_a_folder_without_masks(self, place, photos, tmp_path):
        (tmp_path / "masks").mkdir()
        with pytest.raises(rf.InputError, match="has masks of none of the pictures"):
            runs.restore_run(place / "run", photos, tmp_path / "r", masks=tmp_path / "masks")
        with pytest.raises(rf.InputError, match="is not a folder; give one with a mask for each"):
            runs.restore_run(place / "run", photos, tmp_path / "r", masks=tmp_path / "nowhere")

    def test_a_mask_of_another_size(self, place, photos, tmp_path):
        masks = self.painted(tmp_path / "masks", "001.png", shape=(50, 96))
        with pytest.raises(
            rf.InputError, match=r"mask of 001\.png is 50 x 96, but the picture is 72"
        ):
            runs.restore_run(place / "run", photos, tmp_path / "r", masks=masks)
        assert not (tmp_path / "r").exists()

    def test_two_pictures_never_become_one(self, place, tmp_path):
        """000.jpg becomes 000.png, which is there already."""
        shutil.copytree(place / "photos", tmp_path / "photos")
        values = read_picture(tmp_path / "photos" / "001.png").astype(float)
        (tmp_path / "photos" / "001.png").unlink()
        write_picture(tmp_path / "photos" / "000.jpg", values)
        source = open_pictures(tmp_path / "photos")
        assert len(source) == 6
        # All names are to be others than those of the run, so that the order decides.
        for file in source.files:
            file.rename(file.with_name(f"x{file.name}"))
        source = open_pictures(tmp_path / "photos")
        made = runs.restore_run(place / "run", source, tmp_path / "r")
        assert len(list(made.place.iterdir())) == 6


class TestMask:
    def test_a_film(self, film, tmp_path):
        watch = Steps()
        made = runs.mask_run(open_pictures(film), tmp_path / "m", camera="still", watch=watch)
        found = rf.foreground(str(film), camera="still")
        for one, values in zip(found, pictures_in(tmp_path / "m" / "masks").values(), strict=True):
            np.testing.assert_array_equal(values, np.where(one.mask, 255, 0))
        assert len(pictures_in(tmp_path / "m" / "background")) == 8
        assert read_picture(tmp_path / "m" / "noise.tif").dtype == np.float32
        np.testing.assert_array_equal(read_picture(tmp_path / "m" / "canvas.png"), found.canvas)
        assert made.sentence == found.sentence
        assert made.figures["in_front_share"] == pytest.approx(found.masks.mean(), rel=0.05)
        assert watch.done == sum(total for _, total in watch.said if total)

    def test_a_run(self, place, photos, tmp_path):
        runs.mask_run(photos, tmp_path / "m", run=place / "run", background=False)
        assert list(pictures_in(tmp_path / "m" / "masks")) == [f"{k:03d}.png" for k in range(6)]
        assert not (tmp_path / "m" / "background").exists()

    def test_a_camera_beside_a_run_is_refused(self, place, photos, tmp_path):
        """It would have no effect."""
        with pytest.raises(rf.InputError, match="camera"):
            runs.mask_run(photos, tmp_path / "m", run=place / "run", camera="moving")

    def test_a_full_disk_leaves_nothing(self, film, tmp_path, full):
        from rankfold.io import folders

        full(folders, 3)
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*m; make room"):
            runs.mask_run(open_pictures(film), tmp_path / "m", camera="still")
        assert not any(tmp_path.iterdir())

    def test_an_unknown_format(self, film, tmp_path):
        with pytest.raises(rf.InputError, match="unknown format 'gif'; choose one of zarr, tiff"):
            runs.mask_run(open_pictures(film), tmp_path / "m", format="gif")

    @pytest.mark.parametrize("name", ["clip.mp4", "holiday v1.2.mp4"])
    def test_frames_of_a_video_have_a_mask_each(self, tmp_path, name):
        video = as_video(filmed(tmp_path), tmp_path / name)
        runs.mask_run(open_pictures(video), tmp_path / "m", camera="still", format="pictures")
        assert len(pictures_in(tmp_path / "m" / "masks")) == 8
        assert len(pictures_in(tmp_path / "m" / "background")) == 8

    def test_pictures_of_the_same_name_have_a_mask_each(self, film, tmp_path):
        """In two folders, by a pattern."""
        for folder, numbers in (("a", range(4)), ("b", range(4, 8))):
            (tmp_path / folder).mkdir()
            for k, number in enumerate(numbers):
                shutil.copy(film / f"{number:03d}.png", tmp_path / folder / f"{k}.png")
        source = open_pictures(str(tmp_path / "[ab]" / "*.png"))
        assert len(source) == 8
        runs.mask_run(source, tmp_path / "m", camera="still")
        assert len(pictures_in(tmp_path / "m" / "masks")) == 8


class TestOriginals:
    def test_they_are_where_the_run_read_them(self, place):
        source = runs.originals_of_run(place / "run")
        assert source.names == tuple(f"{k:03d}.png" for k in range(6))

    def test_they_have_moved(self, tmp_path):
        place = photographed(tmp_path)
        (place / "photos").rename(place / "elsewhere")
        with pytest.raises(rf.InputError, match=r"are no longer at .*photos .*; name them"):
            runs.originals_of_run(place / "run")
        (place / "elsewhere").rename(place / "photos")
        (place / "photos" / "003.png").unlink()
        with pytest.raises(rf.InputError, match=r"no longer has the pictures of .*; name them"):
            runs.originals_of_run(place / "run")
