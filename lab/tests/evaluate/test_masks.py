"""Masks beside background subtraction: what is counted, what is compared, and that it goes on."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

import rankfold as rf
from rankfold.datasets import panning
from rankfold.families import shift
from rankfold.io import in_memory, write_picture
from rankfold.moving.placing import Placing
from rankfold_lab.cli import app
from rankfold_lab.evaluate import mask_baselines, mask_tables, masks
from rankfold_lab.evaluate.logs import read_log
from rankfold_lab.evaluate.mask_baselines import OnCanvas, distances_from_median, subtracted
from rankfold_lab.evaluate.masks import Counts, best_threshold, counts_of
from rankfold_lab.evaluate.stopwatch import Stopwatch
from rankfold_lab.readers import Labels, read_cdnet

RNG = np.random.default_rng(0)


def square(rows, columns, shape=(6, 8)):
    mask = np.zeros(shape, bool)
    mask[rows, columns] = True
    return mask


class TestCounts:
    labels = Labels(square(slice(0, 2), slice(0, 4)), np.ones((6, 8), bool))  # 8 px move

    def test_a_perfect_mask(self):
        counts = counts_of(self.labels.moving, self.labels)
        assert (counts.f, counts.precision, counts.recall) == (1, 1, 1)

    @pytest.mark.parametrize("mask", [None, np.zeros((6, 8), bool)])
    def test_an_empty_mask(self, mask):
        counts = counts_of(mask, self.labels)
        assert counts == Counts(0, 0, 8)
        assert counts.f == 0
        assert counts.recall == 0
        assert np.isnan(counts.precision)

    def test_by_hand(self):
        # Two rows down and one to the left of 8 px: 6 of them, and 6 others.
        counts = counts_of(square(slice(0, 4), slice(0, 3)), self.labels)
        assert counts == Counts(found=6, wrong=6, missed=2)
        assert counts.precision == 6 / 12
        assert counts.recall == 6 / 8
        assert counts.f == pytest.approx(2 * 0.5 * 0.75 / (0.5 + 0.75))

    def test_frames_are_counted_together(self):
        total = Counts(1, 2, 3) + Counts(10, 20, 30)
        assert total == Counts(11, 22, 33)

    @pytest.mark.parametrize("code", [85, 170])
    def test_what_is_outside_or_unknown_is_not_counted(self, tmp_path, code):
        codes = np.zeros((6, 8), np.uint8)
        codes[0] = 255
        codes[1] = code
        codes[2] = 50
        for part in ("input", "groundtruth"):
            (tmp_path / part).mkdir()
        write_picture(tmp_path / "input" / "in000001.png", np.zeros((6, 8)))
        write_picture(tmp_path / "groundtruth" / "gt000001.png", codes)
        labels = read_cdnet(tmp_path).labels(0)
        # What moves, all of the row that is not counted, and of the shadow one pixel.
        said = square(slice(0, 2), slice(0, 8))
        said[2, 0] = True
        assert counts_of(said, labels) == Counts(found=8, wrong=1, missed=0)
        assert counts_of(~said, labels) == Counts(found=0, wrong=31, missed=8)


class TestBestThreshold:
    def test_by_hand(self):
        distance = np.array([[9, 5, 5, 3], [0, 1, 5, 2]], np.uint8)
        moving = np.array([[1, 1, 1, 0], [0, 0, 0, 0]], bool)
        counted = np.ones((2, 4), bool)
        # From 4 or 5 on three are found and one is wrong: F = 6/7. From 6 on F = 2/4.
        counts, threshold = best_threshold([(distance, Labels(moving, counted))])
        assert counts == Counts(3, 1, 0)
        assert threshold in (4, 5)
        counted[1, 2] = False
        counts, _ = best_threshold([(distance, Labels(moving, counted))])
        assert counts == Counts(3, 0, 0)

    def test_a_frame_that_was_not_placed_is_missed(self):
        labels = Labels(square(0, slice(0, 4)), np.ones((6, 8), bool))
        distance = np.where(labels.moving, 200, 0).astype(np.uint8)
        counts, _ = best_threshold([(distance, labels), (None, labels)])
        assert counts == Counts(4, 0, 4)


class Scenery:
    """Frames of 6 x 8 px that show a canvas of 6 x 10, each two px further or not at all."""

    canvas = RNG.integers(20, 200, (6, 10), np.uint8)
    frames = in_memory([canvas[:, :8], canvas[:, 2:], canvas[:, :8], canvas[:, :8]])
    transforms = np.stack(
        [np.eye(3), shift(np.array([-2.0, 0])), np.eye(3), np.full((3, 3), np.nan)]
    )
    placing = Placing(transforms, rf.Frame(6, 10), moves=True)


class TestOnCanvas:
    def test_frames_lie_where_they_were_placed_and_are_completed(self):
        brought = list(OnCanvas(Scenery.frames, Scenery.placing))
        for k in (0, 1, 2):
            np.testing.assert_array_equal(brought[k], Scenery.canvas)
        assert brought[3] is None

    def test_what_lies_there_comes_back(self):
        canvas = OnCanvas(Scenery.frames, Scenery.placing)
        np.testing.assert_array_equal(canvas.brought_back(Scenery.canvas, 1), Scenery.canvas[:, 2:])
        distances = list(distances_from_median(Scenery.frames, canvas))
        assert max(one.max() for one in distances[:3]) == 0
        assert distances[3] is None

    def test_a_still_camera_is_left_alone(self):
        still = Placing(np.tile(np.eye(3), (3, 1, 1)), rf.Frame(6, 8), moves=False)
        pictures = RNG.integers(0, 256, (3, 6, 8, 3), np.uint8)
        canvas = OnCanvas(in_memory(pictures), still)
        np.testing.assert_array_equal(np.stack(list(canvas)), pictures)
        np.testing.assert_array_equal(canvas.median, np.median(pictures, axis=0))
        np.testing.assert_array_equal(canvas.brought_back(pictures[0], 1), pictures[0])


class TestSubtracted:
    def test_the_second_pass_counts_and_shadows_do_not(self, monkeypatch):
        seen = []

        def apply(picture):
            seen.append(picture)
            found = np.full(picture.shape, 127, np.uint8)
            # Foreground in the first pass everywhere, in the second one in a corner.
            found[(0, 0) if len(seen) > 3 else ...] = 255
            return found

        fake = SimpleNamespace(make=lambda: SimpleNamespace(apply=apply))
        monkeypatch.setitem(sys.modules, "subtractors", fake)
        monkeypatch.setitem(mask_baselines.SUBTRACTORS, "fake", ("subtractors", "make"))
        assert mask_baselines.is_installed("fake")
        found = list(subtracted(OnCanvas(Scenery.frames, Scenery.placing), "fake"))
        assert len(seen) == 6
        assert [None if mask is None else mask.sum() for mask in found] == [1, 0, 1, None]

    def test_what_is_missing_is_noticed(self, monkeypatch):
        monkeypatch.setitem(mask_baselines.SUBTRACTORS, "no module", ("no_such_module", "make"))
        monkeypatch.setitem(mask_baselines.SUBTRACTORS, "no function", ("json", "make"))
        assert not mask_baselines.is_installed("no module")
        assert not mask_baselines.is_installed("no function")


def test_the_stopwatch_counts_only_what_is_waited_for():
    ticks = iter([0.0, 2.0, 10.0, 13.0, 20.0, 20.5])
    watch = Stopwatch(lambda: next(ticks))
    assert list(watch.over(iter("ab"))) == ["a", "b"]
    assert watch.seconds == 5.5


def record(clip, row, **more):
    facts = {"clip": clip, "path": clip, "row": row, "frames": 9, "shape": [6, 8], "labelled": 2}
    counts = {"found": 6, "wrong": 6, "missed": 2, "seconds": 0.5}
    return {**facts, "moves": False, "placing": 0.01, **counts, **more}


def test_the_page_has_a_line_for_every_row_and_the_mean():
    records = [record("road", row) for row in masks.ROWS if row != "GSOC"]
    records[-1]["threshold"] = 42
    records.append(record("lake", "rankfold", found=8, wrong=0, missed=0, seconds=0.3))
    page = mask_tables.page(records)
    assert "| road | 9 | 6 x 8 | 2 | stands still | 0.010 |" in page
    assert "| road | rankfold | 0.600 | 0.500 | 0.750 | 0.500 |" in page
    assert "| road | GSOC | not installed | – | – | – |" in page
    assert "| road | per-pixel median, best threshold (42) | 0.600 |" in page
    assert "| mean of 2 | rankfold | 0.800 | 0.750 | 0.875 | 0.400 |" in page
    assert "best one in hindsight" in page


def write_cdnet(folder, film):
    for part in ("input", "groundtruth"):
        (folder / part).mkdir(parents=True)
    for k, (picture, hidden) in enumerate(zip(film.images, film.hidden, strict=True)):
        write_picture(folder / "input" / f"in{k + 1:06d}.png", picture)
        codes = np.where(hidden, 255, 0).astype(np.uint8)
        write_picture(folder / "groundtruth" / f"gt{k + 1:06d}.png", codes)


def write_decolor(path, film, labelled):
    path.parent.mkdir(parents=True)
    grey = np.stack([picture.mean(axis=2).round().astype(np.uint8) for picture in film.images], -1)
    chosen = np.stack([film.hidden[k] for k in labelled], -1)
    numbers = np.array([labelled]) + 1
    savemat(path, {"ImData": grey, "Mask": 255 * chosen.astype(np.uint8), "ID": numbers})


def run(data, out, code=0):
    words = ["evaluate", "--data", str(data), "-o", str(out), "--protocol", "masks"]
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


def test_the_command_runs_all_clips_and_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    # Fewer rows take less time.
    rows = ("rankfold", "MOG2", masks.MEDIAN)
    monkeypatch.setattr(masks, "ROWS", rows)
    write_cdnet(tmp_path / "cdnet_still", panning(12, (60, 80), moves=False, seed=3))
    write_decolor(tmp_path / "decolor" / "pan.mat", panning(8, (72, 96), seed=2), [0, 4, 7])
    out = tmp_path / "out"
    shown = run(tmp_path, out).stdout
    assert shown == (out / "masks.md").read_text(encoding="utf-8") + "\n"
    records = read_log(out / "masks.jsonl")
    assert [(r["clip"], r["row"]) for r in records] == [
        (clip, row) for clip in ("still", "pan") for row in rows
    ]
    assert [r["moves"] for r in records] == [False] * 3 + [True] * 3
    for k in (0, 3):
        ours, subtraction, _ = (
            Counts(r["found"], r["wrong"], r["missed"]).f for r in records[k : k + 3]
        )
        assert ours > max(0.85, subtraction)

    # Nothing is left to do; then one row of one clip is, which a kill has cut short.
    work = []

    def noted(path, function, todo, jobs):
        work.extend(todo)
        yield from ()

    monkeypatch.setattr(masks, "run_logged", noted)
    assert run(tmp_path, out).stdout == shown
    assert work == []
    log = out / "masks.jsonl"
    log.write_text(log.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    run(tmp_path, out)
    assert work == [(str(tmp_path / "decolor" / "pan.mat"), [masks.MEDIAN])]


def test_a_folder_without_clips_is_named(tmp_path):
    said = " ".join(run(tmp_path, tmp_path / "out", code=1).output.split())
    assert "has no clips; put folders cdnet_NAME" in said
    assert not (tmp_path / "out").exists()
