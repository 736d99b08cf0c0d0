"""Filling in beside cv2.inpaint and others: measures, the ways to fill, and that it goes on."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

import rankfold as rf
from rankfold.datasets import handheld, rendered_heads
from rankfold.io import write_picture
from rankfold_lab.cli import app
from rankfold_lab.evaluate import inpainting, inpainting_tables
from rankfold_lab.evaluate.inpainting import of_one, plain_parts
from rankfold_lab.evaluate.inpainting_methods import METHODS, Filled, Trial, medians_behind
from rankfold_lab.evaluate.inpainting_tables import by_picture, pooled, psnr
from rankfold_lab.evaluate.logs import read_log

RNG = np.random.default_rng(0)


def ramp(dtype=np.float64, shape=(16, 20)):
    """A picture that grows along both axes, and a hole in it."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    clean = (rows + columns) / 70 + 0.1
    hidden = np.zeros(shape, bool)
    hidden[6:10, 8:12] = True
    if np.dtype(dtype).kind == "u":
        clean = np.rint(255 * clean).astype(dtype)
    image = np.where(hidden, 0, clean).astype(dtype)
    return clean, hidden, image


class TestOfOne:
    def measured(self, filled, replaced, clean, hidden, image):
        trial = Trial([image], [hidden], [clean], None)
        return of_one(trial, 0, Filled(filled, replaced), hidden)

    def test_the_truth_has_no_error(self):
        clean, hidden, image = ramp()
        one = self.measured(clean, hidden, clean, hidden, image)
        assert (one["pixels"], one["squared"], one["ssim"]) == (16, 0, 16)
        assert (one["left"], one["touched"], one["changed"]) == (0, 0, 0)
        assert psnr(one["squared"], one["pixels"]) == np.inf

    @pytest.mark.parametrize(("dtype", "off"), [(np.float64, 0.1), (np.uint8, 51)])
    def test_errors_are_shares_of_the_range(self, dtype, off):
        clean, hidden, image = ramp(dtype)
        filled = np.where(hidden, clean + np.array(off, dtype), image)
        one = self.measured(filled, hidden, clean, hidden, image)
        # A tenth of the range is 20 dB, and a fifth is 14.
        share = 0.1 if dtype == np.float64 else 0.2
        assert one["squared"] == pytest.approx(16 * share**2)
        assert psnr(one["squared"], one["pixels"]) == pytest.approx(-20 * np.log10(share))

    def test_values_beyond_the_range_are_cut(self):
        clean, hidden, image = ramp()
        clean[hidden] = 1.0
        one = self.measured(np.where(hidden, 7.0, image), hidden, clean, hidden, image)
        assert one["squared"] == 0

    def test_what_has_no_truth_is_not_measured(self):
        clean, hidden, image = ramp()
        clean[6:8] = np.nan
        one = self.measured(np.zeros_like(clean), hidden, clean, hidden, image)
        assert one["pixels"] == 8
        assert np.isfinite(one["ssim"])

    def test_what_is_left_and_what_is_touched(self):
        clean, hidden, image = ramp()
        replaced = np.zeros_like(hidden)
        replaced[6:10, 10:15] = True  # 8 hidden ones and 12 others
        one = self.measured(np.where(replaced, clean, image), replaced, clean, hidden, image)
        assert (one["left"], one["touched"], one["visible"]) == (8, 12, 320 - 16)

    def test_a_single_bit_is_noticed(self):
        clean, hidden, image = ramp()
        image[0, 0] = np.nan
        filled = np.where(hidden, clean, image)
        assert self.measured(filled, hidden, clean, hidden, image)["changed"] == 0
        filled[3, 3] = np.nextafter(filled[3, 3], 1)
        filled[6, 8] = 0.5
        assert self.measured(filled, hidden, clean, hidden, image)["changed"] == 1


class TestMethods:
    @pytest.mark.parametrize("name", ["TELEA", "Navier-Stokes", "biharmonic"])
    @pytest.mark.parametrize("dtype", [np.uint8, np.float64])
    def test_a_ramp_is_continued_and_nothing_else_is_changed(self, name, dtype):
        pytest.importorskip("cv2")
        clean, hidden, image = ramp(dtype)
        if dtype == np.float64:
            image[0] = np.nan
        (filled,) = METHODS[name](Trial([image], [hidden], [clean], None))
        assert filled.picture.dtype == dtype
        np.testing.assert_array_equal(filled.replaced, hidden | ~np.isfinite(image))
        np.testing.assert_array_equal(filled.picture[~filled.replaced], image[~filled.replaced])
        off = np.abs(filled.picture - clean.astype(float))[hidden].max()
        assert off < 0.06 * (255 if dtype == np.uint8 else 1)

    def test_large_pictures_are_reduced_for_the_biharmonic_equation(self, monkeypatch):
        monkeypatch.setattr("rankfold_lab.evaluate.inpainting_methods.LARGEST", 25)
        clean, hidden, image = ramp(shape=(60, 90))
        (filled,) = METHODS["biharmonic"](Trial([image], [hidden], [clean], None))
        assert np.abs(filled.picture - clean).max() < 0.01

    def test_the_median_is_that_of_what_is_seen(self):
        scene = RNG.random((12, 14))
        images = [scene + step for step in (0.0, 0.1, 0.3, 0.4)]
        hidden = [np.zeros(scene.shape, bool) for _ in images]
        hidden[0][2:6, 2:6] = True
        hidden[1][2:6, 2:6] = True
        lies = SimpleNamespace(
            names=tuple(f"image {k}" for k in range(4)),
            transforms=np.tile(np.eye(3), (4, 1, 1)),
            source_shapes=np.tile(scene.shape, (4, 1)),
            frame=rf.Frame(*scene.shape),
            failed=np.array([False] * 4),
        )
        for values, known in medians_behind(lies, images, hidden):
            assert known.all()
            np.testing.assert_allclose(values[3:5, 3:5], scene[3:5, 3:5] + 0.35, atol=1e-5)
            np.testing.assert_allclose(values[8:, 8:], scene[8:, 8:] + 0.2, atol=1e-5)
        # Where only one clean picture has a branch, the truth has something in front.
        clean = [np.full(scene.shape, 0.6) for _ in images]
        clean[2][3, 4] = 0.2
        everything = [np.ones(scene.shape, bool) for _ in images]
        parts = plain_parts(Trial(images, everything, clean, lies))
        assert [part.sum() for part in parts] == [168, 168, 167, 168]
        assert not parts[2][3, 4]


def record(name="Yale P1", row="restore", subject=1, **more):
    """Two pictures of four hidden pixels, 20 and 30 dB, and one of none."""
    facts = {"set": name, "row": row, "subject": subject, "seed": 0, "seconds": 0.25}
    sums = {"pixels": [4, 4, 0], "squared": [0.04, 0.004, 0.0], "ssim": [4.0, 2.0, 0.0]}
    plain = {"plain_pixels": [2, 2, 0], "plain_squared": [0.002, 0.002, 0.0]}
    rest = {"left": [1, 1, 0], "visible": [10, 10, 20], "touched": [4, 0, 0], "changed": [0, 0, 0]}
    return {**facts, **sums, **plain, **rest, **more}


def test_decibels_of_all_pixels_and_of_every_picture():
    assert pooled(record()) == pytest.approx(-10 * np.log10(0.044 / 8))
    assert by_picture(record()) == pytest.approx(25)
    assert np.isnan(psnr(0, 0))


def test_the_page_means_over_subjects():
    brighter = record(subject=2, squared=[0.4, 0.04, 0.0], changed=[0, 3, 0])
    windows = record(name="windows", subject=0)
    page = inpainting_tables.page([windows, record(), brighter])
    assert (
        "| windows | restore | 1 | 22.6 | 25.0 | 30.0 | 0.750 | 25.0% | 10.0% | 0 | 0.250 |" in page
    )
    assert "| Yale P1 | restore | 2 | 17.6 | 20.0 | – | 0.750 | 25.0% | 10.0% | 3 | 0.250 |" in page
    assert "| restore | 22.6 | 12.6 |" in page
    assert "by subject" not in inpainting_tables.page([windows])


def write_windows(root):
    """Six pictures in the way of the RASL sets, and a card in front of each."""
    film = handheld(6, (90, 120), seed=1)
    for k, picture in enumerate(film.images):
        clean = picture.mean(axis=2).round().astype(np.uint8)
        occluded = clean.copy()
        occluded[10 * k : 10 * k + 25, 15 * k : 15 * k + 25] = 255 * RNG.random((25, 25))
        for folder, values in (("windows", clean), ("windows_occluded", occluded)):
            (root / folder).mkdir(parents=True, exist_ok=True)
            write_picture(root / folder / f"{k}.png", values)
        # The reader wants points, though nothing here begins at them.
        points = np.array([[20, 90, 60], [20, 20, 70]])
        savemat(root / "windows" / f"{k}-points.mat", {"points": points})


def write_faces(root):
    """One subject in the way of the Extended Yale B faces."""
    heads = rendered_heads(8, frame=(96, 84), rotation=0, translation=0, lights=35, seed=1)
    folder = root / "extended_yale_b" / "yaleB01"
    folder.mkdir(parents=True)
    for k, picture in enumerate(heads.images):
        # A head as large as the cropped faces, which are 192 x 168.
        face = np.uint8(255 * picture[:192, 1:169])
        write_picture(folder / f"yaleB01_P00A{5 * k:+04d}E+{k:02d}.pgm", face)


def run(data, out, code=0):
    words = ["evaluate", "--data", str(data), "-o", str(out), "--protocol", "inpainting"]
    outcome = CliRunner().invoke(app, [*words, "--subjects", "1"])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


def test_the_command_runs_both_sets_and_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    write_windows(tmp_path)
    write_faces(tmp_path)
    out = tmp_path / "out"
    shown = run(tmp_path, out).stdout
    assert shown == (out / "inpainting.md").read_text(encoding="utf-8") + "\n"
    log = out / "inpainting.jsonl"
    records = read_log(log)
    assert [(r["set"], r["row"]) for r in records] == [
        (name, row) for name in ("windows", "Yale P1") for row in METHODS
    ]
    assert all(sum(r["changed"]) == 0 for r in records)
    by_row = {(r["set"], r["row"]): r for r in records}
    assert pooled(by_row["Yale P1", "restore"]) > pooled(by_row["Yale P1", "TELEA"]) + 3
    # The photographs have people in front already, in the truth too: only the wall is compared.
    ours, others = (
        psnr(sum(r["plain_squared"]), sum(r["plain_pixels"]))
        for r in (by_row["windows", "restore"], by_row["windows", "TELEA"])
    )
    assert ours > others + 3

    # Nothing is left to do; then one row of one trial is, which a kill has cut short.
    work = []

    def noted(path, function, todo, jobs):
        work.extend(todo)
        yield from ()

    monkeypatch.setattr(inpainting, "run_logged", noted)
    assert run(tmp_path, out).stdout == shown
    assert work == []
    log.write_text(log.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    run(tmp_path, out)
    assert work == [(str(tmp_path), "Yale P1", 1, 0, ["per-pixel median"])]


def test_a_folder_without_pictures_is_named(tmp_path):
    said = " ".join(run(tmp_path, tmp_path / "out", code=1).output.split())
    assert "has no pictures to fill in; put windows and windows_occluded there" in said
    assert not (tmp_path / "out").exists()
