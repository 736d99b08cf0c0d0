"""Commands: what they print, write and answer; and what they say to bad input."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rankfold as rf
from rankfold import runs, storage
from rankfold.cli import app
from rankfold.io import open_pictures, write_picture

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
QUICK = ["-m", "rasl", "--max-outer", "2", "--jobs", "1"]
runner = CliRunner()


def run(*words, code=0):
    outcome = runner.invoke(app, [str(word) for word in words])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with pictures of six textured views in ``views``."""
    monkeypatch.chdir(tmp_path)
    run("datasets", "textures", "-o", "views", "--images", 6)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of eight views, made once."""
    place = tmp_path_factory.mktemp("finished")
    run("datasets", "textures", "-o", place / "views", "--images", 8)
    run("align", place / "views", "-o", place / "run", "--frame", "40x40", *QUICK)
    return place


class TestEveryCommand:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_has_help_with_an_example_and_an_entry_in_the_documentation(self, name):
        outcome = run(name, "--help")
        assert f"Example: rankfold {name}" in outcome.output
        assert len(outcome.output.split("Example:")[0].split("Usage:")[1]) > 60
        assert f"## rankfold {name}\n" in (ROOT / "docs" / "commands.md").read_text(
            encoding="utf-8"
        )

    @pytest.mark.parametrize("name", COMMANDS)
    def test_speaks_json_and_can_be_quiet(self, name):
        outcome = run(name, "--help")
        assert "--json" in outcome.output
        assert "--quiet" in outcome.output

    def test_no_entry_without_a_command(self):
        text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
        assert set(re.findall(r"^## rankfold (\S+)$", text, re.MULTILINE)) == set(COMMANDS)

    def test_it_is_a_module_too(self):
        words = [sys.executable, "-m", "rankfold", "--version"]
        assert subprocess.check_output(words, text=True).strip() == f"rankfold {rf.__version__}"

    def test_version_and_completion(self):
        assert run("--version").output.strip() == f"rankfold {rf.__version__}"
        assert "--install-completion" in run("--help").output


class TestTables:
    @pytest.mark.parametrize("name", ["methods", "families", "projectors", "formats", "datasets"])
    def test_rows_for_people_and_for_programs(self, name):
        rows = json.loads(run(name, "--json").stdout)
        shown = run(name).stdout
        assert len(rows) >= 3
        assert all(row["name"] in shown and row["summary"] for row in rows)
        assert run(name, "--quiet").stdout == ""

    def test_a_generated_set_is_written(self, folder):
        assert len(list((folder / "views").glob("*.png"))) == 6
        run("datasets", "textures", "-o", "views", code=1)
        run("datasets", "usps", "-o", "x", code=2)
        assert "-o FOLDER" in " ".join(
            run("datasets", "textures", code=2).output.replace("│", " ").split()
        )


class TestDemo:
    def test_aligns_compares_and_reports(self, tmp_path):
        outcome = run("demo", "--images", 12, "-o", tmp_path / "demo")
        for words in ("12 rendered heads", "rasl", "meadmm", "converged", "report.html"):
            assert words in outcome.stdout
        metrics = json.loads((tmp_path / "demo" / "metrics.json").read_text())
        assert metrics["meadmm"]["eyes"] < metrics["before"]["eyes"] / 2
        assert (tmp_path / "demo" / "report.html").stat().st_size > 50_000
        assert rf.load(tmp_path / "demo").method == "meadmm"


class TestAlign:
    def test_writes_everything_and_says_where(self, folder):
        outcome = run("align", "views", "-o", "run", *QUICK)
        assert "6 of 6 pictures found their place" in outcome.stdout
        assert "frame 68x68" in outcome.stderr
        names = {p.name for p in (folder / "run").iterdir()}
        files = {
            "config.toml",
            "result.json",
            "arrays.npz",
            "trace.jsonl",
            "inputs.npz",
            "report.html",
        }
        assert names == files | {"aligned", "low_rank", "error"}
        assert sorted(p.name for p in (folder / "run" / "low_rank").iterdir()) == [
            f"{k:03d}.png" for k in range(6)
        ]
        result = rf.load("run")
        written = open_pictures("run/low_rank").stack()
        np.testing.assert_allclose(
            written.sources[2], np.clip(result.low_rank[2] / 255, 0, 1), atol=0.51 / 255
        )
        lines = [
            json.loads(line) for line in (folder / "run" / "trace.jsonl").read_text().splitlines()
        ]
        assert sum(line["level"] == "outer" for line in lines) == len(
            result.trace.outer["objective"]
        )
        assert sum(line["level"] == "inner" for line in lines) == len(
            result.trace.inner["objective"]
        )

    def test_the_recorded_command_gives_the_same_bits(self, folder):
        run(
            "align",
            "views",
            "--out",
            "run",
            "--frame",
            "40x40",
            "--no-report",
            "--no-pictures",
            *QUICK,
        )
        command = tomllib.loads((folder / "run" / "config.toml").read_text())["command"]
        words = shlex.split(command)
        assert words[:3] == ["rankfold", "align", "views"]
        words[words.index("run")] = "again"
        run(*words[1:])
        for part in ("transforms", "low_rank", "sparse"):
            np.testing.assert_array_equal(
                getattr(rf.load("run"), part), getattr(rf.load("again"), part)
            )

    def test_json_and_quiet(self, folder):
        outcome = run("align", "views", "-o", "a", "--json", "--no-report", *QUICK)
        value = json.loads(outcome.stdout)
        assert value["images"] == 6
        assert value["failed"] == []
        assert value["frame"] == [68, 68]
        outcome = run("align", "views", "-o", "b", "-q", "--no-report", "--no-pictures", *QUICK)
        assert outcome.output == ""
        assert not (folder / "b" / "aligned").exists()

    def test_some_failed_is_exit_code_three(self, folder):
        run("datasets", "heads", "-o", "heads", "--images", 6)  # too few, under too different lamps
        outcome = run("align", "heads", "-o", "run", *QUICK, code=3)
        failed = np.array(rf.load("run").names)[rf.load("run").failed]
        assert 0 < len(failed) < 6
        assert f"failed: {', '.join(failed)}" in outcome.stdout

    def test_a_plan_computes_nothing(self, folder):
        value = json.loads(run("align", "views", "--plan", "--json").stdout)
        assert value["frame"] == [68, 68]
        assert 1e8 < value["memory_bytes"] < 1e9
        assert value["seconds"] > 0
        assert "GiB" in run("align", "views", "--plan").stdout
        assert {p.name for p in folder.iterdir()} == {"views"}

    def test_large_pictures_are_read_coarser_and_transforms_fit_the_originals(self, folder):
        big = np.zeros((5, 600, 900))
        y, x = np.mgrid[:600, :900]
        for k in range(5):
            big[k] = (
                0.5
                + 0.4 * np.sin((x - 6 * k) / 31) * np.cos((y + 4 * k) / 23)
                + 0.1 * np.sin((x - 6 * k + y) / 57)
            )
        np.save("big.npy", big)
        run(
            "align",
            "big.npy",
            "-o",
            "run",
            "-t",
            "translation",
            "--no-report",
            "-m",
            "rasl",
            "--max-outer",
            12,
        )
        result = rf.load("run")
        assert result.frame.shape == (200, 300)
        shifts = result.transforms[:, :2, 2] - result.transforms[0, :2, 2]
        np.testing.assert_allclose(
            shifts, np.arange(5)[:, None] * [6, -4], atol=0.75
        )  # a quarter of a frame px
        assert run("apply", "run", "big.npy", "--full", "-o", "full").exit_code == 0
        full = np.load("full/aligned.npy")
        assert full.shape == (5, 600, 900)
        inner = np.s_[:, 40:-40, 40:-40]
        assert np.nanstd(full[inner], axis=0).max() < 0.05 < np.std(big[inner], axis=0).max()

    def test_start_from_points_and_from_an_earlier_run(self, finished, folder):
        earlier = rf.load(finished / "run")
        canonical = np.array([[5.0, 5], [35, 6], [20, 34]])
        places = earlier.apply_points(canonical)
        rows = [["name", "x1", "y1", "x2", "y2", "x3", "y3"], ["frame", *canonical.ravel()]]
        rows += [[name, *p.ravel()] for name, p in zip(earlier.names, places, strict=True)]
        Path("points.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
        options = ["--frame", "40x40", "-m", "rpca", "--no-report", "--no-pictures"]
        run("align", finished / "views", "--init", "points.csv", "-o", "a", *options)
        np.testing.assert_allclose(rf.load("a").transforms, earlier.transforms, atol=1e-6)
        run("align", finished / "views", "--init", finished / "run", "-o", "b", *options)
        np.testing.assert_array_equal(rf.load("b").transforms, earlier.transforms)
        run(
            "align",
            finished / "views",
            "--init",
            finished / "run",
            "-o",
            "c",
            *options[2:],
            "--frame",
            "80x80",
        )
        finer = rf.load("c")
        np.testing.assert_allclose(
            finer.apply_points([[0.5, 0.5]]), earlier.apply_points([[0, 0]]), atol=1e-9
        )
        run("decompose", finished / "views", "-o", "d", "--no-report", "--no-pictures")
        assert (
            "not an alignment"
            in run("align", finished / "views", "--init", "d", "-o", "e", code=1).stderr
        )

    def test_bad_points(self, folder):
        for text, words in (
            ("000.png,1,2,3,4", "no row named frame"),
            ("frame,1,2,3,4\n000.png,1,2,3,4", r"no row for 001\.png"),
            ("frame,1,2,x,4", "not name,x1,y1"),
        ):
            Path("points.csv").write_text(text)
            assert re.search(words, run("align", "views", "--init", "points.csv", code=1).stderr)
        assert "cannot be read" in run("align", "views", "--init", "no.csv", code=1).stderr
        assert "no result.json" in run("align", "views", "--init", "views", code=1).stderr

    def test_crop_common(self, folder):
        run("align", "views", "-o", "run", "--crop", "common", "--no-report", *QUICK)
        result = rf.load("run")
        assert result.valid[~result.failed].all()
        assert result.frame.height < 68
        run("align", "views", "--crop", "all", code=2)


class TestApplyReportExport:
    def test_apply_gives_what_align_saw(self, finished, tmp_path):
        run("apply", finished / "run", finished / "views", "-o", tmp_path / "out")
        ours = open_pictures(tmp_path / "out" / "aligned")
        result = rf.load(finished / "run")
        for picture, aligned, valid in zip(
            ours.pictures(), result.aligned, result.valid, strict=True
        ):
            np.testing.assert_allclose(
                picture.values[valid], np.clip(aligned[valid], 0, 255), atol=0.51
            )

    def test_apply_goes_by_name(self, finished, tmp_path):
        shutil.copytree(finished / "views", tmp_path / "views")
        (tmp_path / "views" / "002.png").rename(tmp_path / "views" / "zzz.png")
        text = run(
            "apply", finished / "run", tmp_path / "views", "-o", tmp_path / "out", code=1
        ).stderr
        assert "zzz.png is not among the pictures" in text
        for k, path in enumerate(sorted((tmp_path / "views").glob("*.png"))):
            path.rename(path.with_name(f"other{k}.png"))
        run(
            "apply", finished / "run", tmp_path / "views", "-o", tmp_path / "out"
        )  # all others: by order

    def test_apply_wants_as_many_pictures(self, finished, tmp_path):
        run("datasets", "textures", "-o", tmp_path / "few", "--images", 3)
        for path in (tmp_path / "few").glob("*.png"):
            path.rename(path.with_name(f"few-{path.name}"))
        text = run(
            "apply", finished / "run", tmp_path / "few", "-o", tmp_path / "out", code=1
        ).stderr
        assert "3 pictures" in text
        assert "8 transforms" in text
        assert not (tmp_path / "out").exists()

    def test_report_again_elsewhere(self, finished, tmp_path):
        run("report", finished / "run", "-o", tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text() == (
            finished / "run" / "report.html"
        ).read_text()
        assert "no result.json" in run("report", tmp_path, code=1).stderr

    def test_export(self, finished, tmp_path):
        run("export", finished / "run", "-o", tmp_path / "t.csv")
        assert len((tmp_path / "t.csv").read_text().splitlines()) == 9
        assert (
            "--overwrite"
            in run("export", finished / "run", "-o", tmp_path / "t.csv", code=1).stderr
        )
        run("export", finished / "run", "-o", tmp_path / "t.json", "--json")
        assert (
            ".json or .csv"
            in run("export", finished / "run", "-o", tmp_path / "t.xls", code=1).stderr
        )


class TestDecompose:
    def test_background_and_walkers(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run("datasets", "street", "-o", "street", "--images", 30)
        outcome = run("decompose", "street", "-o", "run")
        assert "rank" in outcome.stdout
        truth = rf.datasets.street(30)
        result = rf.load("run")
        hidden = np.stack(truth.hidden)
        error = np.abs(result.low_rank / 255 - np.stack(truth.clean))
        assert np.median(error[hidden]) < 0.02
        assert (tmp_path / "run" / "report.html").exists()
        run("apply", "run", "street", "-o", "x", code=1)

    def test_a_plan_and_a_coarser_reading_of_much_data(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.lib.format.open_memmap(
            "much.npy", mode="w+", dtype=np.uint8, shape=(120, 600, 800)
        ).flush()
        outcome = run("decompose", "much.npy", "--plan", "--json")
        value = json.loads(outcome.stdout)
        assert value["reduction"] == 2
        assert value["frame"] == [300, 400]
        assert value["memory_bytes"] < 4e9

    def test_different_sizes_or_one_picture_cannot(self, folder):
        write_picture(folder / "views" / "other.png", np.zeros((50, 40)))
        assert "different sizes; use align" in run("decompose", "views", code=1).stderr
        run("datasets", "street", "-o", "street", "--images", 2)
        Path("street/001.png").unlink()
        assert "one picture only" in run("decompose", "street", code=1).stderr


class TestBadInput:
    def test_an_empty_folder(self, folder):
        (folder / "empty").mkdir()
        assert "empty has no pictures; put some there" in run("align", "empty", code=1).stderr

    def test_a_text_file_among_the_pictures(self, folder):
        Path("views/notes.txt").write_text("hello")
        outcome = run("align", "views", "-o", "a", "--no-report", "--no-pictures", *QUICK)
        assert "left out: notes.txt" in outcome.stderr
        Path("views/liar.png").write_text("hello")
        outcome = run("align", "views", "-o", "b", *QUICK, code=1)
        assert "liar.png is not a picture; remove it, or skip bad pictures" in outcome.stderr
        run("align", "views", "-o", "b", "--skip-bad", "--no-report", "--no-pictures", *QUICK)
        assert len(rf.load("b").names) == 6

    def test_a_truncated_jpeg_is_named_and_skipped_only_when_asked(self, folder):
        picture = open_pictures("views").stack().sources[0]
        write_picture("views/cut.jpg", 255 * picture)
        Path("views/cut.jpg").write_bytes(Path("views/cut.jpg").read_bytes()[:-700])
        assert re.search(
            r"cut\.jpg cannot be read.*or skip bad pictures",
            run("align", "views", "-o", "a", *QUICK, code=1).stderr,
        )
        assert not Path("a").exists()
        outcome = run("align", "views", "-o", "a", "--skip-bad", "--no-report", *QUICK)
        assert "left out: cut.jpg" in outcome.stderr
        assert "cut.jpg" in tomllib.loads(Path("a/config.toml").read_text())["input"]["left_out"]

    def test_mixed_colour_and_grey(self, folder):
        write_picture("views/red.png", np.random.default_rng(0).random((68, 68, 3)) * 255)
        refused = run("align", "views", "-o", "a", *QUICK, code=1)
        assert "read all of them in grey" in refused.stderr
        write_picture(
            "views/red.png",
            np.dstack([255 * open_pictures("views").in_grey().stack().sources[0]] * 3),
        )
        run("align", "views", "-o", "a", "--grey", "--no-report", "--no-pictures", *QUICK)
        assert rf.load("a").low_rank.shape == (7, 68, 68)

    def test_the_output_exists(self, folder):
        run("align", "views", "-o", "run", "--no-report", "--no-pictures", *QUICK)
        assert "run exists already" in run("align", "views", "-o", "run", *QUICK, code=1).stderr
        run(
            "align",
            "views",
            "-o",
            "run",
            "--overwrite",
            "--no-report",
            "--no-pictures",
            "-m",
            "rpca",
        )
        assert rf.load("run").method == "rpca"
        assert not [p for p in folder.iterdir() if p.name.startswith(".")]

    @pytest.mark.parametrize("what", ["folder", "file"])
    def test_nothing_but_a_run_is_ever_replaced(self, folder, what):
        if what == "folder":
            Path("mine").mkdir()
            Path("mine/notes.txt").write_text("precious")
        else:
            Path("mine").write_text("precious")
        outcome = run("align", "views", "-o", "mine", "--overwrite", *QUICK, code=1)
        assert "mine was not written by rankfold" in outcome.stderr
        assert (
            Path("mine/notes.txt") if what == "folder" else Path("mine")
        ).read_text() == "precious"

    def test_the_pictures_themselves_are_never_replaced(self, folder):
        for target in ("views", "."):
            run("align", "views", "-o", target, "--overwrite", *QUICK, code=2)
        run("align", "views", "-o", "run", "--no-report", *QUICK)
        run("align", "run/low_rank", "-o", "run", "--overwrite", *QUICK, code=2)
        assert len(list(Path("views").glob("*.png"))) == 6

    def test_a_failed_run_keeps_what_overwrite_would_replace(self, folder):
        run("align", "views", "-o", "run", "--no-report", "--no-pictures", *QUICK)
        Path("views/liar.png").write_text("hello")
        run("align", "views", "-o", "run", "--overwrite", *QUICK, code=1)
        assert len(rf.load("run").names) == 6

    def test_the_output_cannot_be_written(self, folder, monkeypatch):
        Path("file").write_text("not a folder")
        assert (
            "file/run cannot be written"
            in run("align", "views", "-o", "file/run", *QUICK, code=1).stderr
        )

    def test_the_disk_is_full(self, folder, monkeypatch):
        def full(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(storage.np, "savez_compressed", full)
        outcome = run("align", "views", "-o", "run", *QUICK, code=1)
        assert "no space is left to write run; make room" in outcome.stderr
        assert {p.name for p in folder.iterdir()} == {"views"}

    def test_a_video_with_one_frame(self, folder):
        source = open_pictures("views")
        from dataclasses import replace

        from rankfold.io import write_pictures

        like = replace(source, path="x.mp4", rate=10.0)
        write_pictures(
            "one", source.names[:1], [next(source.pictures()).values.astype(float)], like, "video"
        )
        assert "only one image" in run("align", "one.mp4", "-o", "a", code=1).stderr
        assert "one picture only" in run("decompose", "one.mp4", "-o", "a", code=1).stderr

    def test_unknown_names_offer_the_nearest(self, folder):
        for words, hint in (
            (("-m", "rals"), "did you mean rasl"),
            (("-t", "affin"), "did you mean affine"),
            (("--projector", "regresion"), "did you mean regression"),
            (("--frame", "big"), "is not a size"),
            (("--gauge", "foo"), "--gauge foo is unknown"),
            (("--channels", "both"), "unknown channels"),
            (("--rank-surrogate", "nuklear"), "did you mean nuclear"),
        ):
            assert hint in " ".join(
                run("align", "views", *words, code=2).output.replace("│", " ").split()
            )

    def test_ctrl_c_keeps_the_last_iteration_and_says_how_to_go_on(self, folder, monkeypatch):
        from rankfold.cli.progress import Watcher

        seen = []
        plain = Watcher.__call__

        def interrupting(self, record):
            seen.append(record)
            if len(seen) == 60:
                os.kill(os.getpid(), signal.SIGINT)
            return plain(self, record)

        monkeypatch.setattr(Watcher, "__call__", interrupting)
        outcome = run("align", "views", "-o", "run", "-m", "rasl", "--no-report", code=130)
        assert (
            "rankfold align views --out run-2 --method rasl --init run --no-report"
            in outcome.stderr
        )
        result = rf.load("run")
        assert result.status is rf.Status.STOPPED
        assert len(result.trace.outer["objective"]) >= 1
        np.testing.assert_array_equal(result.transforms, result.trace.outer["transforms"][-1])
        monkeypatch.undo()
        os.chdir(folder)
        run(
            "align", "views", "--init", "run", "-o", "run-2", "--no-report", "--no-pictures", *QUICK
        )

    def test_a_killed_run_leaves_no_folder(self, folder):
        code = "from rankfold.cli import app; app()"
        words = [
            sys.executable,
            "-c",
            code,
            "align",
            "views",
            "-o",
            "run",
            "-m",
            "rasl",
            "--max-outer",
            "50",
        ]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while (
            not any(p.name.startswith(".run-") for p in folder.iterdir())
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert not (folder / "run").exists()
        with pytest.raises(rf.FormatError):
            rf.load("run")


def test_the_default_folder_is_named_after_the_pictures(monkeypatch, tmp_path):
    from rankfold.cli.app import run_name

    monkeypatch.chdir(tmp_path)
    for given, name in (
        ("photos", "photos"),
        ("photos/*.png", "photos"),
        ("a.ome.tif", "a"),
        (".", tmp_path.name),
    ):
        assert run_name(given) == Path(f"{name}-run")


def test_other_small_things_that_people_do(folder):
    assert "at least 4x4" in run("align", "views", "--frame", "0x0", code=1).stderr
    np.save("none.npy", np.zeros((0, 8, 8)))
    assert "shape (0, 8, 8)" in run("align", "none.npy", code=1).stderr
    Path("points.csv").write_text(
        "\ufeffname,x1,y1,x2,y2\n" + "frame,5,5,30,30\n", encoding="utf-8"
    )
    assert "no row for 000.png" in run("align", "views", "--init", "points.csv", code=1).stderr
    run("align", "views", "-o", "run", "--no-report", "--no-pictures", *QUICK)
    assert "end it in .png" in run("report", "run", "--sheet", "s.xyz", code=1).stderr
    run(
        "align",
        "views",
        "--init",
        "run",
        "--frame",
        "34x68",
        "-m",
        "rpca",
        "-o",
        "wide",
        "--no-report",
        "--no-pictures",
        code=0,
    )
    assert all(rf.FAMILIES["similarity"].contains(T, tol=1e-9) for T in rf.load("wide").transforms)


def test_pictures_that_cannot_be_written_do_not_lose_the_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.stack(rf.datasets.warped_low_rank(6, seed=0).images)
    np.save("bands.npy", np.repeat((255 * values).astype(np.uint8)[..., None], 5, axis=3))
    outcome = run("align", "bands.npy", "--format", "pictures", "-o", "run", "--no-report", *QUICK)
    assert "would have 5 channels" in outcome.stderr
    assert rf.load("run").low_rank.shape == (6, 68, 68, 5)


def test_two_runs_to_one_place_both_survive(tmp_path):
    def race():
        with storage.whole_or_nothing(tmp_path / "race") as one:
            (one / "a").touch()
            with storage.whole_or_nothing(tmp_path / "race") as two:
                (two / "b").touch()

    with pytest.raises(
        rf.WriteError, match=r"appeared while this was computed; the result is in .*race-2"
    ):
        race()
    assert (tmp_path / "race" / "b").exists()
    assert (tmp_path / "race-2" / "a").exists()


def test_a_result_that_is_no_run_says_so(tmp_path):
    rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "r")
    with pytest.raises(rf.FormatError, match="not a whole run"):
        runs.open_run(tmp_path / "r")
