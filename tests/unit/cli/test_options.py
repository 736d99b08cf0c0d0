"""How pictures are opened, and what is said of those that cannot be."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

import rankfold as rf
from commands import QUICK, RESULT_ONLY, run, usage_error, work_in
from rankfold import runs
from rankfold.cli.app import Voice
from rankfold.cli.options import Computing, Reading, RunWriting, Writing
from rankfold.errors import FormatError
from rankfold.io import isolated, open_pictures, write_picture, write_pictures


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with six views."""
    return work_in(tmp_path, monkeypatch)


class TestReading:
    def test_a_text_file_among_the_pictures(self, folder):
        Path("views/notes.txt").write_text("hello")
        outcome = run("align", "views", "-o", "a", *RESULT_ONLY, *QUICK)
        assert "left out: notes.txt" in outcome.stderr
        Path("views/liar.png").write_text("hello")
        outcome = run("align", "views", "-o", "b", *QUICK, code=1)
        assert "liar.png is not a picture" in outcome.stderr
        assert outcome.stderr.count("--skip-bad") == 1
        run("align", "views", "-o", "b", "--skip-bad", *RESULT_ONLY, *QUICK)
        assert len(rf.load("b").names) == 6

    def test_a_truncated_jpeg_is_named_and_skipped_only_when_asked(self, folder):
        picture = open_pictures("views").stack().sources[0]
        write_picture("views/cut.jpg", 255 * picture)
        Path("views/cut.jpg").write_bytes(Path("views/cut.jpg").read_bytes()[:-700])
        outcome = run("align", "views", "-o", "a", *QUICK, code=1)
        assert re.search(r"cut\.jpg cannot be read.*--skip-bad", outcome.stderr)
        assert not Path("a").exists()
        outcome = run("align", "views", "-o", "a", "--skip-bad", "--no-report", *QUICK)
        assert "left out: cut.jpg" in outcome.stderr
        config = tomllib.loads(Path("a/config.toml").read_text())
        assert "cut.jpg" in config["input"]["left_out"]

    @pytest.mark.parametrize(("word", "begun"), [("--isolate", 1), ("--no-isolate", 0)])
    def test_decoding_apart_is_a_choice(self, folder, monkeypatch, word, begun):
        begin = isolated._begun
        children = []
        monkeypatch.setattr(isolated, "_begun", lambda: children.append(begin()) or children[-1])
        run("align", "views", "-o", "a", word, *RESULT_ONLY, *QUICK)
        assert len(children) == begun
        assert len(rf.load("a").names) == 6

    def test_a_black_frame_of_a_stack_is_set_aside_and_named(self, folder):
        """It used to stop the other frames."""
        stack = np.stack(open_pictures("views").stack().sources)
        stack = (255 * np.insert(stack, 3, 0.0, axis=0)).astype(np.uint8)
        tifffile.imwrite("film.tif", stack, photometric="minisblack")
        black = open_pictures("film.tif").names[3]
        outcome = run("align", "film.tif", "-o", "a", *RESULT_ONLY, *QUICK)
        assert f"left out: {black}" in outcome.stderr
        assert len(rf.load("a").names) == 6
        # What is done with the run finds the pictures that are in it.
        run("apply", "a", "film.tif", "-o", "b")
        assert len(open_pictures("b/aligned.tif")) == 6
        assert len(runs.originals_of_run("a")) == 6
        assert run("mask", "a", "-o", "masks").exit_code == 0

    def test_a_black_photograph_is_left_out_only_when_asked(self, folder):
        write_picture("views/black.png", np.zeros((68, 68)))
        outcome = run("align", "views", "-o", "a", *RESULT_ONLY, *QUICK, code=1)
        assert "black.png is constant" in outcome.stderr
        outcome = run("align", "views", "-o", "a", "--skip-bad", *RESULT_ONLY, *QUICK)
        assert "left out: black.png" in outcome.stderr

    def test_many_files_that_are_left_out_are_not_all_named(self, folder, capsys):
        for k in range(12):
            Path(f"views/{k}.txt").write_text("hello")
        Reading().open("views", Voice())
        assert len(Reading().open("views", Voice()).left_out) == 12
        outcome = run("align", "views", "--plan")
        assert "7.txt ..." in outcome.stderr
        assert "8.txt" not in outcome.stderr

    def test_a_bad_picture_names_the_flag_whatever_its_error_says(self, folder, monkeypatch):
        def bad():
            yield FormatError("a page is missing; write the stack again")

        source = replace(open_pictures("views"), iterate=bad)
        monkeypatch.setattr("rankfold.cli.options.open_pictures", lambda *_, **__: source)
        with pytest.raises(FormatError, match="write the stack again; --skip-bad leaves out"):
            next(Reading().open("views", Voice()).pictures())

    def test_mixed_colour_and_grey(self, folder):
        write_picture("views/red.png", np.random.default_rng(0).random((68, 68, 3)) * 255)
        assert "--grey" in run("align", "views", "-o", "a", *QUICK, code=1).stderr
        grey = 255 * open_pictures("views").in_grey().stack().sources[0]
        write_picture("views/red.png", np.dstack([grey] * 3))
        run("align", "views", "-o", "a", "--grey", *RESULT_ONLY, *QUICK)
        assert rf.load("a").low_rank.shape == (7, 68, 68)

    def test_an_empty_folder(self, folder):
        (folder / "empty").mkdir()
        assert "empty has no pictures; put some there" in run("align", "empty", code=1).stderr

    def test_an_array_without_pictures(self, folder):
        np.save("none.npy", np.zeros((0, 8, 8)))
        assert "shape (0, 8, 8)" in run("align", "none.npy", code=1).stderr

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--key", "x"), "--key"),
            (("--select", "Z=1"), "--select"),
        ],
    )
    def test_an_option_of_other_formats_is_refused_by_its_flag(self, folder, words, said):
        assert said in run("align", "views", *words, code=1).stderr

    def test_pages_that_do_not_exist_are_refused_by_the_flag(self, folder):
        import tifffile

        pages = np.random.default_rng(0).random((3, 2, 40, 40)).astype(np.float32)
        tifffile.imwrite("a.ome.tif", pages, metadata={"axes": "TZYX"}, ome=True)
        assert "as in --select" in run("align", "a.ome.tif", code=1).stderr
        outcome = run("align", "a.ome.tif", "--select", "Z=7", code=1)
        assert "--select Z=7 does not fit" in outcome.stderr

    def test_frames_that_do_not_exist_are_refused_by_the_flag(self, folder):
        source = open_pictures("views")
        like = replace(source, path="x.mp4", rate=10.0)
        frames = (picture.values.astype(float) for picture in source.pictures())
        write_pictures("film", source.names, frames, like, "video")
        assert (
            "--frames 9:12 selects" in run("align", "film.mp4", "--frames", "9:12", code=1).stderr
        )
        assert "--frames x is not" in run("align", "film.mp4", "--frames", "x", code=1).stderr

    def test_several_arrays_are_listed_with_the_flag(self, folder):
        np.savez("two.npz", a=np.zeros((3, 8, 8)), b=np.ones((3, 8, 8)))
        outcome = run("align", "two.npz", code=1)
        assert re.search(r"--key.*a.*b", outcome.stderr)


class TestWriting:
    def test_the_output_exists(self, folder):
        run("align", "views", "-o", "run", *RESULT_ONLY, *QUICK)
        outcome = run("align", "views", "-o", "run", *QUICK, code=1)
        assert "run exists already" in outcome.stderr
        assert "--overwrite" in outcome.stderr
        words = ["-t", "translation", *RESULT_ONLY, *QUICK]
        run("align", "views", "-o", "run", "--overwrite", *words)
        assert rf.load("run").family == "translation"
        assert not [p for p in folder.iterdir() if p.name.startswith(".")]

    def test_an_unknown_format(self, folder):
        assert "did you mean tiff" in usage_error("align", "views", "--format", "tif")

    def test_the_words_of_the_library(self):
        assert Writing("tiff", True) == Writing(format="tiff", overwrite=True)
        output = RunWriting(format="tiff", no_pictures=True, no_report=True).output
        assert (output.format, output.pictures, output.report) == ("tiff", False, None)
        assert RunWriting().output.report is not None


def test_precision():
    assert Computing().dtype is np.float64
    assert Computing(float32=True).dtype is np.float32


def test_unknown_names_offer_the_nearest(folder):
    for words, hint in (
        (("-m", "rals"), "did you mean rasl"),
        (("-t", "affin"), "did you mean affine"),
        (("--projector", "regresion"), "did you mean regression"),
        (("--frame", "big"), "is not a size"),
        (("--gauge", "foo"), "--gauge foo is unknown"),
        (("--channels", "both"), "unknown channels"),
        (("--rank-surrogate", "nuklear"), "did you mean nuclear"),
        (("--crop", "all"), "choose from common"),
        (("--start", "piramid"), "did you mean pyramid"),
    ):
        assert hint in usage_error("align", "views", *words)
