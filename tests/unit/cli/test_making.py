"""plate, restore and mask, as they are called."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from commands import QUICK, RESULT_ONLY, run, usage_error, work_in
from made import as_video, filmed, photographed, pictures_in
from rankfold.io import open_pictures, read_picture, write_picture


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return photographed(tmp_path_factory.mktemp("photographed"))


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    place = tmp_path_factory.mktemp("filmed")
    truth = filmed(place)
    return place / "film", truth


def json_of(*words):
    return json.loads(run(*words, "--json").stdout)


class TestPlate:
    def test_the_originals_are_found(self, place, tmp_path):
        said = json_of("plate", place / "run", "-o", tmp_path / "p.tif", "-j", 2)
        assert said["written"] == str(tmp_path / "p.tif")
        assert said["sentence"].startswith("A plate of ")
        picture = read_picture(tmp_path / "p.tif")
        assert picture.shape == (said["height"], said["width"], 3)
        again = json_of("plate", place / "run", place / "photos", "-o", tmp_path / "q.tif", "-j", 1)
        assert {**again, "written": said["written"]} == said
        np.testing.assert_array_equal(read_picture(tmp_path / "q.tif"), picture)

    def test_light_area_scale_and_confidence(self, place, tmp_path):
        options = ["--light", "002.png", "--area", "common", "--scale", 1]
        sure = tmp_path / "sure.png"
        said = json_of(
            "plate", place / "run", "-o", tmp_path / "p.png", *options, "--confidence", sure
        )
        assert said["light"] == "002.png"
        assert read_picture(sure).shape == (said["height"], said["width"])
        assert max(said["height"], said["width"]) <= 48

    @pytest.mark.parametrize(("key", "value"), [("--select", "C=1"), ("--key", "b")])
    def test_the_originals_are_opened_as_they_were(self, tmp_path, monkeypatch, key, value):
        """Another channel, or another array of the file, was taken for what was aligned."""
        work_in(tmp_path, monkeypatch)
        views = np.stack([read_picture(path) for path in sorted(Path("views").glob("*.png"))])
        if key == "--key":
            np.savez("in.npz", a=255 - views, b=views)
            source = "in.npz"
        else:
            both = np.stack([255 - views, views], axis=1)
            tifffile.imwrite("in.tif", both, imagej=True, metadata={"axes": "TCYX"})
            source = "in.tif"
        run("align", source, key, value, "-o", "run", *RESULT_ONLY, *QUICK)
        run("plate", "run", "-o", "found.tif")
        run("plate", "run", source, key, value, "-o", "named.tif")
        found = read_picture("found.tif")
        assert found.ndim == 2
        np.testing.assert_array_equal(found, read_picture("named.tif"))

    def test_says_how_to_replace_a_file(self, place, tmp_path):
        words = ["plate", place / "run", "-o", tmp_path / "p.png", "--scale", 1]
        outcome = run(*words)
        assert outcome.stdout.strip().endswith(str(tmp_path / "p.png"))
        assert "--overwrite" in run(*words, code=1).stderr
        run(*words, "--overwrite")

    def test_plate_and_confidence_are_two_files(self, place, tmp_path):
        words = [
            "plate",
            place / "run",
            "-o",
            tmp_path / "p.png",
            "--confidence",
            tmp_path / "p.png",
        ]
        assert "p.png" in run(*words, "--overwrite", code=1).stderr
        assert not (tmp_path / "p.png").exists()

    def test_a_decomposition_has_no_transforms(self, place, tmp_path):
        run("decompose", place / "photos", "-o", tmp_path / "d", "--reduce", 4, *RESULT_ONLY)
        text = run("plate", tmp_path / "d", "-o", tmp_path / "p.png", code=1).stderr
        assert "is a decomposition, not an alignment" in text
        # Masks need none.
        run("mask", tmp_path / "d", "-o", tmp_path / "m")
        assert len(pictures_in(tmp_path / "m" / "masks")) == 6

    def test_an_unknown_area(self, place):
        assert "area" in usage_error("plate", place / "run", "--area", "all")

    def test_a_scale_that_is_no_number(self, place, tmp_path):
        outcome = run("plate", place / "run", "-o", tmp_path / "p.png", "--scale", "inf", code=1)
        assert "must be positive" in outcome.stderr

    def test_ctrl_c_leaves_nothing(self, place, tmp_path, monkeypatch):
        from rankfold.cli.progress import Watcher

        monkeypatch.setattr(Watcher, "advance", lambda self: setattr(self, "stop", True))
        run("plate", place / "run", "-o", tmp_path / "p.png", code=130)
        run("restore", place / "run", "-o", tmp_path / "r", code=130)
        assert not any(tmp_path.iterdir())


class TestRestore:
    def test_end_to_end(self, place, tmp_path):
        said = json_of("restore", place / "run", "-o", tmp_path / "r")
        assert said["images"] == 6
        assert said["written"] == str(tmp_path / "r" / "restored")
        given = pictures_in(place / "photos")
        for name, picture in pictures_in(tmp_path / "r" / "restored").items():
            assert (picture == given[name]).all(axis=2).mean() > 0.5

    def test_jpeg_becomes_png_and_keeps_its_metadata(self, tmp_path):
        photographed(tmp_path, "jpg")
        for file in (tmp_path / "photos").iterdir():
            with Image.open(file) as image:
                image.load()
                image.save(file, dpi=(300, 300), quality=95)
        outcome = run("restore", tmp_path / "run", "-o", tmp_path / "r")
        assert "JPEG pictures became PNG, which keeps what was not replaced" in outcome.stdout
        names = [file.name for file in sorted((tmp_path / "r" / "restored").iterdir())]
        assert names == [f"{k:03d}.png" for k in range(6)]
        with Image.open(tmp_path / "r" / "restored" / "002.png") as back:
            assert back.info["dpi"][0] == pytest.approx(300, abs=0.1)

    def test_painted_masks(self, place, tmp_path):
        (tmp_path / "masks").mkdir()
        mask = np.zeros((72, 96), np.uint8)
        mask[10:20, 10:30] = 255
        write_picture(tmp_path / "masks" / "002.png", mask)
        said = json_of(
            "restore", place / "run", "-o", tmp_path / "r", "--masks", tmp_path / "masks"
        )
        assert said["touched"] == 1
        said = json_of(
            "restore",
            place / "run",
            "-o",
            tmp_path / "s",
            "--masks",
            tmp_path / "masks",
            "--automatic",
        )
        assert said["touched"] > 1
        shutil.copy(tmp_path / "masks" / "002.png", tmp_path / "masks" / "nobody.png")
        text = run(
            "restore", place / "run", "-o", tmp_path / "t", "--masks", tmp_path / "masks", code=1
        )
        assert "nobody.png belongs to none of the pictures" in text.stderr

    def test_one_tiff(self, place, tmp_path):
        said = json_of("restore", place / "run", "-o", tmp_path / "r", "--format", "tiff")
        assert len(open_pictures(said["written"])) == 6

    def test_says_how_to_replace_a_folder(self, place, tmp_path):
        words = ["restore", place / "run", "-o", tmp_path / "r", "--masks-only"]
        run(*words)
        assert "--overwrite" in run(*words, code=1).stderr
        run(*words, "--overwrite")

    def test_the_pictures_are_never_written_over(self, place):
        text = run("restore", place / "run", "-o", place / "photos", "--overwrite", code=1).stderr
        assert "photos" in text
        assert len(list((place / "photos").iterdir())) == 6

    def test_a_run_of_other_pictures(self, place, tmp_path):
        (tmp_path / "few").mkdir()
        for k in range(3):
            shutil.copy(place / "photos" / f"{k:03d}.png", tmp_path / "few")
        text = run("restore", place / "run", tmp_path / "few", "-o", tmp_path / "r", code=1).stderr
        assert "3 pictures" in text
        assert "6 transforms" in text

    def test_a_run_in_grey(self, place, tmp_path):
        run(
            "align",
            place / "photos",
            "-o",
            tmp_path / "run",
            "--grey",
            "--frame",
            "36x48",
            *QUICK,
            *RESULT_ONLY,
        )
        run("restore", tmp_path / "run", "-o", tmp_path / "r")
        assert len(pictures_in(tmp_path / "r" / "restored")) == 6


class TestMask:
    def test_frames(self, film, tmp_path):
        folder, truth = film
        said = json_of("mask", folder, "-o", tmp_path / "m", "--camera", "still")
        assert said["images"] == 8
        masks = np.stack(list(pictures_in(tmp_path / "m" / "masks").values())) > 127
        hidden = np.stack(truth.hidden)
        assert 2 * (masks & hidden).sum() / (masks.sum() + hidden.sum()) > 0.7

    def test_a_video_gives_videos(self, film, tmp_path):
        _, truth = film
        video = as_video(truth, tmp_path / "clip.mp4")
        run("mask", video, "-o", tmp_path / "m", "--camera", "still", "--min-area", 5)
        for name in ("masks", "background"):
            back = open_pictures(tmp_path / "m" / f"{name}.mp4")
            assert len(back) == 8
            assert back.shapes[0][:2] == (60, 80)

    def test_the_pictures_of_a_run(self, place, tmp_path):
        said = json_of("mask", place / "run", "-o", tmp_path / "m", "--no-background")
        assert said["images"] == 6
        assert sorted(file.name for file in (tmp_path / "m").iterdir() if file.suffix) == [
            "canvas.png",
            "noise.tif",
        ]
        assert not (tmp_path / "m" / "background").exists()

    def test_without_the_exact_cut_it_says_so(self, film, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "maxflow", None)
        outcome = run("mask", film[0], "-o", tmp_path / "m", "--camera", "still")
        assert "rankfold[mask]" in outcome.stderr

    def test_originals_without_a_run_are_refused(self, film, place, tmp_path):
        """They would have no effect."""
        words = ["mask", film[0], place / "photos", "-o", tmp_path / "m", "--camera", "still"]
        assert "photos" in usage_error(*words)

    def test_says_how_to_replace_a_folder(self, film, tmp_path):
        words = ["mask", film[0], "-o", tmp_path / "m", "--camera", "still"]
        outcome = run(*words)
        assert "of what was judged is in front" in outcome.stdout
        assert "--overwrite" in run(*words, code=1).stderr
        run(*words, "--overwrite")
