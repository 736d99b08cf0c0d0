"""align and decompose: what they write, say and answer."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from commands import QUICK, RESULT_ONLY, finished_run, run, usage_error, work_in
from rankfold import storage
from rankfold.admm.schedules import FORMER
from rankfold.cli import running
from rankfold.cli.choices import Aligning
from rankfold.datasets import rendered_heads
from rankfold.io import open_pictures, write_picture, write_pictures
from rankfold.runs import AlignmentSummary


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with six views."""
    return work_in(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run over eight views, made once."""
    return finished_run(tmp_path_factory.mktemp("finished"))


class TestAlign:
    def test_writes_everything_and_says_where(self, folder):
        outcome = run("align", "views", "-o", "run", *QUICK)
        assert "6 of 6 pictures found their place" in outcome.stdout
        assert outcome.stdout.splitlines()[-1] == "run/report.html"
        files = {"config.toml", "result.json", "arrays.npz", "trace.jsonl", "inputs.npz"}
        files |= {"report.html", ".rankfold"}
        names = {p.name for p in (folder / "run").iterdir()}
        assert names == files | {"aligned", "low_rank", "error"}
        pictures = sorted(p.name for p in (folder / "run" / "low_rank").iterdir())
        assert pictures == [f"{k:03d}.png" for k in range(6)]
        result = rf.load("run")
        written = open_pictures("run/low_rank").stack()
        expected = np.clip(result.low_rank[2] / 255, 0, 1)
        np.testing.assert_allclose(written.sources[2], expected, atol=0.51 / 255)

    def test_sizes_are_said_as_they_are_typed(self, folder):
        Path("wide").mkdir()
        for k, picture in enumerate(open_pictures("views").stack().sources):
            write_picture(f"wide/{k}.png", 255 * picture[10:58])
        outcome = run("align", "wide", "-o", "run", "--frame", "40x60", *RESULT_ONLY, *QUICK)
        assert "6 grey pictures of 48x68" in outcome.stderr
        assert "frame 40x60" in outcome.stderr
        assert rf.load("run").frame.shape == (40, 60)

    def test_the_recorded_command_gives_the_same_bits(self, folder):
        run("align", "views", "--out", "run", "--frame", "40x40", *RESULT_ONLY, *QUICK)
        command = tomllib.loads((folder / "run" / "config.toml").read_text())["command"]
        words = shlex.split(command)
        assert words[:3] == ["rankfold", "align", "views"]
        words[words.index("run")] = "again"
        run(*words[1:])
        once = rf.load("run")
        again = rf.load("again")
        for part in ("transforms", "low_rank", "sparse"):
            np.testing.assert_array_equal(getattr(once, part), getattr(again, part))

    def test_the_config_says_what_was_chosen(self, folder):
        words = ["--no-features", "--gauge", "3", "--frame", "40x42"]
        run("align", "views", "-o", "run", *words, *RESULT_ONLY, *QUICK)
        config = tomllib.loads(Path("run/config.toml").read_text())
        assert config["directory"] == str(folder)
        assert config["frame"] == [40, 42]
        assert config["options"]["features"] == "off"
        assert config["options"]["gauge"] == 3
        assert config["options"]["init"] == "centred"
        assert config["input"]["path"] == "views"

    def test_json_and_quiet(self, folder):
        outcome = run("align", "views", "-o", "a", "--json", "--no-report", *QUICK)
        value = json.loads(outcome.stdout)
        assert value["run"] == "a"
        assert value["status"] == rf.load("a").status.name
        assert value["images"] == 6
        assert value["failed"] == []
        assert value["frame"] == [68, 68]
        assert value["gap"] == rf.load("a").gap <= 1e-4
        assert value["go_on"].startswith("rankfold align views --out a-2")
        outcome = run("align", "views", "-o", "b", "-q", *RESULT_ONLY, *QUICK)
        assert outcome.output == ""
        assert not (folder / "b" / "aligned").exists()

    def test_the_start_that_is_asked_for_is_taken_said_and_recorded(self, folder):
        words = ["--start", "pyramid", *RESULT_ONLY, *QUICK]
        outcome = run("align", "views", "-o", "run", *words)
        assert "Start: by contrast from coarse to fine, as was asked for." in outcome.stdout
        assert rf.load("run").trace.routes["route"].tolist() == ["pyramid"]
        config = tomllib.loads(Path("run/config.toml").read_text())
        assert config["options"]["start"] == "pyramid"
        assert "--start pyramid" in config["command"]

    def test_a_picture_for_the_frame_that_is_not_there_is_refused_by_the_flag(self, folder):
        pytest.importorskip("cv2")
        words = ["--start", "match", "--frame-of"]
        assert (
            "no picture is called 'x.png'" in run("align", "views", *words, "x.png", code=1).stderr
        )
        assert "there is no picture 9" in run("align", "views", *words, 9, code=1).stderr
        outcome = run("align", "views", "--start", "given", "--frame-of", 1, code=1)
        assert "--frame-of 1 has no effect with --start given" in outcome.stderr

    def test_large_pictures_are_read_coarser_and_transforms_fit_the_originals(self, folder):
        big = np.zeros((5, 600, 900))
        y, x = np.mgrid[:600, :900]
        for k in range(5):
            waves = 0.4 * np.sin((x - 6 * k) / 31) * np.cos((y + 4 * k) / 23)
            big[k] = 0.5 + waves + 0.1 * np.sin((x - 6 * k + y) / 57)
        np.save("big.npy", big)
        words = ["-t", "translation", "--no-report", "-m", "rasl", "--max-outer", 12]
        run("align", "big.npy", "-o", "run", *words)
        result = rf.load("run")
        assert result.frame.shape == (200, 300)
        shifts = result.transforms[:, :2, 2] - result.transforms[0, :2, 2]
        # A quarter of a pixel of the frame.
        np.testing.assert_allclose(shifts, np.arange(5)[:, None] * [6, -4], atol=0.75)
        run("apply", "run", "big.npy", "--full", "-o", "full")
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
        views = finished / "views"
        options = ["-m", "rpca", *RESULT_ONLY]
        small = ["--frame", "40x40", *options]
        run("align", views, "--init", "points.csv", "-o", "a", *small)
        np.testing.assert_allclose(rf.load("a").transforms, earlier.transforms, atol=1e-6)
        run("align", views, "--init", finished / "run", "-o", "b", *small)
        np.testing.assert_array_equal(rf.load("b").transforms, earlier.transforms)
        run("align", views, "--init", finished / "run", "-o", "c", "--frame", "80x80", *options)
        finer = rf.load("c").apply_points([[0.5, 0.5]])
        np.testing.assert_allclose(finer, earlier.apply_points([[0, 0]]), atol=1e-9)
        run("decompose", views, "-o", "d", *RESULT_ONLY)
        outcome = run("align", views, "--init", "d", "-o", "e", code=1)
        assert "not an alignment" in outcome.stderr

    def test_an_earlier_run_on_a_frame_of_another_shape(self, folder):
        run("align", "views", "-o", "run", *RESULT_ONLY, *QUICK)
        words = ["--init", "run", "--frame", "34x68", "-m", "rpca"]
        run("align", "views", "-o", "wide", *words, *RESULT_ONLY)
        similarity = rf.FAMILIES["similarity"]
        assert all(similarity.contains(T, tol=1e-9) for T in rf.load("wide").transforms)

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

    def test_a_frame_that_is_no_frame(self, folder):
        assert "at least 4x4" in run("align", "views", "--frame", "0x0", code=1).stderr


class TestExitCodes:
    def test_pictures_that_failed_are_named_and_the_code_is_three(self, folder):
        # Robust PCA leaves the views where they lie, and one lies apart.
        outcome = run("align", "views", "-o", "run", "-m", "rpca", *RESULT_ONLY, code=3)
        result = rf.load("run")
        failed = np.array(result.names)[result.failed]
        assert 0 < len(failed) < 6
        assert result.verdict == "partial"
        assert f"failed: {', '.join(failed)}" in outcome.stdout

    def test_a_batch_that_agrees_only_roughly_is_three(self, folder):
        # These are too few heads, under too different lamps.
        run("datasets", "heads", "-o", "heads", "--images", 6)
        outcome = run("align", "heads", "-o", "run", *RESULT_ONLY, *QUICK, code=3)
        assert "agree only roughly" in outcome.stdout
        assert "found their place" not in outcome.stdout
        assert "What may help: " in outcome.stdout
        assert rf.load("run").verdict == "only roughly"

    def test_a_batch_that_failed_is_one_and_its_folder_is_there(self, folder):
        np.save("noise.npy", np.random.default_rng(0).random((8, 60, 60)))
        outcome = run("align", "noise.npy", "-o", "run", "--json", *RESULT_ONLY, *QUICK, code=1)
        value = json.loads(outcome.stdout)
        assert value["verdict"] == rf.load("run").verdict == "failed"
        assert value["advice"]
        assert len(value["failed"]) + len(value["doubtful"]) == 8
        assert set(value["lost"]) == set(rf.load("run").names)

    @pytest.mark.parametrize(
        ("changed", "code"),
        [
            ({}, 0),
            ({"verdict": "partial", "doubtful": ("001.png",)}, 0),
            ({"verdict": "partial", "failed": ("001.png",)}, 3),
            ({"verdict": "only roughly"}, 3),
            ({"verdict": "failed"}, 1),
            ({"status": rf.Status.MAX_ITER}, 0),
            # How the solver ended comes first: there may be nothing to judge.
            ({"status": rf.Status.NON_FINITE}, 1),
            ({"status": rf.Status.NON_FINITE, "verdict": "only roughly"}, 1),
            ({"status": rf.Status.STOPPED, "verdict": "failed"}, 130),
        ],
    )
    def test_the_code_is_that_of_the_verdict(self, folder, monkeypatch, changed, code):
        summary = AlignmentSummary(
            folder=Path("run"),
            status=rf.Status.CONVERGED,
            images=6,
            rank=1,
            objective=1.0,
            gap=None,
            occluders=(),
            seconds=1.0,
            remarks=(),
            stop_rule="stages done",
            verdict="good",
            outcome="6 of 6 pictures found their place.",
            failed=(),
            doubtful=(),
            rescued=(),
            lost={},
            starts=(),
            advice="",
            frame=(68, 68),
            left_out=(),
        )
        ended = replace(summary, **changed)
        monkeypatch.setattr("rankfold.runs.run_align", lambda *_, **__: ended)
        run("align", "views", "-o", "run", *QUICK, code=code)


@pytest.fixture(scope="module")
def wearers(tmp_path_factory):
    """A folder with 24 heads of which six wear glasses, and the names of those."""
    place = tmp_path_factory.mktemp("wearers")
    worn = {"glasses": 0.25}
    batch = rendered_heads(24, rotation=0, translation=0, lights=45.0, worn=worn, seed=4)
    names = [f"{k:02d}.png" for k in range(24)]
    for name, picture in zip(names, batch.images, strict=True):
        # Without what the pictures have beyond the frame.
        write_picture(place / name, 255 * picture[12:-12, 12:-12])
    wearing = [name for name, hidden in zip(names, batch.hidden, strict=True) if hidden.any()]
    return place, wearing


class TestOccluders:
    def test_what_several_pictures_wear_is_said_with_the_flag_that_keeps_it(
        self, wearers, tmp_path
    ):
        pictures, wearing = wearers
        words = ["--frame", "45x42", "--jobs", 1, *RESULT_ONLY]
        outcome = run("align", pictures, "-o", tmp_path / "run", *words)
        (said,) = (line for line in outcome.stdout.splitlines() if "in front of them" in line)
        assert said.startswith("6 of 24 pictures have something in front of them")
        assert "(--shared 0 keeps it)" in said
        assert said.endswith(f": {', '.join(wearing)}.")

    @pytest.mark.parametrize("command", ["align", "decompose"])
    def test_json_names_the_pictures_and_zero_keeps_what_they_wear(
        self, wearers, tmp_path, command
    ):
        pictures, wearing = wearers
        frame = ["--frame", "45x42"] if command == "align" else []
        words = [command, pictures, *frame, "-m", "meadmm", "--jobs", 1, "--json", *RESULT_ONLY]
        value = json.loads(run(*words, "-o", tmp_path / "run").stdout)
        (found,) = value["occluders"]
        assert found["pictures"] == wearing
        (one,) = rf.load(tmp_path / "run").occluders
        assert found == one.as_dict([f"{k:02d}.png" for k in range(24)])
        kept = json.loads(run(*words, "-o", tmp_path / "kept", "--shared", 0).stdout)
        assert kept["occluders"] == []
        assert rf.load(tmp_path / "kept").occluders == ()
        config = tomllib.loads((tmp_path / "kept" / "config.toml").read_text())
        assert config["options"]["shared"] == 0
        assert "--shared 0" in config["command"]

    def test_what_more_pictures_wear_than_the_flag_allows_stays(self, wearers, tmp_path):
        pictures, _ = wearers
        words = ["--frame", "45x42", "--jobs", 1, "--json", *RESULT_ONLY]
        outcome = run("align", pictures, "-o", tmp_path / "run", "--shared", 0.2, *words)
        assert json.loads(outcome.stdout)["occluders"] == []

    @pytest.mark.parametrize("command", ["align", "decompose"])
    @pytest.mark.parametrize("share", ["0.7", "-0.1", "half"])
    def test_a_share_that_makes_no_sense_is_refused_by_the_flag(self, tmp_path, command, share):
        said = usage_error(command, tmp_path, "--shared", share)
        assert "Invalid value for '--shared'" in said


class TestDecompose:
    def test_background_and_walkers(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run("datasets", "street", "-o", "street", "--images", 30)
        outcome = run("decompose", "street", "-o", "run")
        assert "30 pictures, rank" in outcome.stdout
        assert "30 grey pictures, 60x80" in outcome.stderr
        truth = rf.datasets.street(30)
        result = rf.load("run")
        hidden = np.stack(truth.hidden)
        error = np.abs(result.low_rank / 255 - np.stack(truth.clean))
        assert np.median(error[hidden]) < 0.02
        assert (tmp_path / "run" / "report.html").exists()
        run("apply", "run", "street", "-o", "x", code=1)

    def test_the_tolerance_is_the_gap_that_is_proved(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        run("datasets", "street", "-o", "street", "--images", 8)
        words = ["decompose", "street", "--json", *RESULT_ONLY]
        rough = json.loads(run(*words, "-o", "rough", "--tol", "1e-2").stdout)
        usual = json.loads(run(*words, "-o", "usual").stdout)
        published = json.loads(run(*words, "-o", "published", "--schedule", "published").stdout)
        assert usual["gap"] == rf.load("usual").gap <= 1e-4 < rough["gap"] <= 1e-2
        assert published["gap"] is rf.load("published").gap is None
        lines = (tmp_path / "usual" / "trace.jsonl").read_text().splitlines()
        gaps = [json.loads(line, parse_constant=pytest.fail)["gap"] for line in lines]
        assert gaps[0] is None
        assert gaps[-1] == usual["gap"]

    @pytest.mark.parametrize("name", FORMER)
    def test_a_schedule_that_is_no_more_is_refused_with_what_took_its_place(self, name, tmp_path):
        said = usage_error("decompose", tmp_path, "--schedule", name)
        assert f"'{name}' is no more: {FORMER[name]}" in said

    def test_different_sizes_or_one_picture_cannot(self, folder):
        write_picture(folder / "views" / "other.png", np.zeros((50, 40)))
        assert "different sizes; use align" in run("decompose", "views", code=1).stderr
        run("datasets", "street", "-o", "street", "--images", 2)
        Path("street/001.png").unlink()
        assert "one picture only" in run("decompose", "street", code=1).stderr


class TestBadInput:
    @pytest.mark.parametrize("what", ["folder", "file"])
    def test_nothing_but_a_run_is_ever_replaced(self, folder, what):
        precious = Path("mine/notes.txt") if what == "folder" else Path("mine")
        precious.parent.mkdir(exist_ok=True)
        precious.write_text("precious")
        outcome = run("align", "views", "-o", "mine", "--overwrite", *QUICK, code=1)
        assert "mine was not written by this version of rankfold" in outcome.stderr
        assert precious.read_text() == "precious"

    def test_the_pictures_themselves_are_never_replaced(self, folder):
        for target in ("views", "."):
            run("align", "views", "-o", target, "--overwrite", *QUICK, code=1)
        run("align", "views", "-o", "run", "--no-report", *QUICK)
        run("align", "run/low_rank", "-o", "run", "--overwrite", *QUICK, code=1)
        assert len(list(Path("views").glob("*.png"))) == 6

    def test_a_failed_run_keeps_what_overwrite_would_replace(self, folder):
        run("align", "views", "-o", "run", *RESULT_ONLY, *QUICK)
        Path("views/liar.png").write_text("hello")
        run("align", "views", "-o", "run", "--overwrite", *QUICK, code=1)
        assert len(rf.load("run").names) == 6

    def test_the_output_cannot_be_written(self, folder):
        Path("file").write_text("not a folder")
        outcome = run("align", "views", "-o", "file/run", *QUICK, code=1)
        assert "file/run cannot be written" in outcome.stderr

    def test_the_disk_is_full(self, folder, monkeypatch):
        def full(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("rankfold.storage.results.write_arrays", full)
        outcome = run("align", "views", "-o", "run", *QUICK, code=1)
        assert "no space is left to write run; make room" in outcome.stderr
        # What was computed is not lost.
        assert "run.unfinished has what is needed to go on: rankfold align" in outcome.stderr
        assert {p.name for p in folder.iterdir()} == {"views", "run.unfinished"}

    def test_a_video_with_one_frame(self, folder):
        source = open_pictures("views")
        like = replace(source, path="x.mp4", rate=10.0)
        frame = next(source.pictures()).values.astype(float)
        write_pictures("one", source.names[:1], [frame], like, "video")
        assert "only one image" in run("align", "one.mp4", "-o", "a", code=1).stderr
        assert "one picture only" in run("decompose", "one.mp4", "-o", "a", code=1).stderr

    def test_pictures_that_cannot_be_written_do_not_lose_the_result(self, folder):
        values = np.stack(rf.datasets.warped_low_rank(6, seed=0).images)
        np.save("bands.npy", np.repeat((255 * values).astype(np.uint8)[..., None], 5, axis=3))
        words = ["--format", "pictures", "-o", "run", "--no-report"]
        outcome = run("align", "bands.npy", *words, *QUICK)
        assert "would have 5 channels" in outcome.stderr
        assert "--format tiff" in outcome.stderr
        assert rf.load("run").low_rank.shape == (6, 68, 68, 5)


class TestStopping:
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
        command = "rankfold align views --out run-2 --method rasl --init run --no-report"
        assert command in outcome.stderr
        result = rf.load("run")
        assert result.status is rf.Status.STOPPED
        assert len(result.trace.outer["objective"]) >= 1
        np.testing.assert_array_equal(result.transforms, result.trace.outer["transforms"][-1])
        monkeypatch.undo()
        os.chdir(folder)
        run("align", "views", "--init", "run", "-o", "run-2", *RESULT_ONLY, *QUICK)

    def test_a_decomposition_that_was_stopped_says_how_to_have_all_of_it(self, folder, monkeypatch):
        from rankfold.cli.progress import Watcher

        monkeypatch.setattr(Watcher, "__call__", lambda _, record: record.iteration >= 3)
        outcome = run("decompose", "views", "-o", "run", *RESULT_ONLY, code=130)
        assert "to have all of it: rankfold decompose views --out run-2" in outcome.stderr
        assert rf.load("run").status is rf.Status.STOPPED

    @pytest.mark.parametrize(
        ("signals", "code"), [([signal.SIGTERM], 143), ([signal.SIGINT] * 2, 130)]
    )
    def test_an_alignment_that_was_ended_goes_on(self, folder, monkeypatch, signals, code):
        from rankfold.cli.progress import Watcher

        def ended(_, record):
            if isinstance(record, rf.OuterRecord):
                for number in signals:
                    signal.raise_signal(number)
            return False

        words = ["align", "views", "-o", "run", *RESULT_ONLY, *QUICK]
        with monkeypatch.context() as patched:
            patched.setattr(Watcher, "__call__", ended)
            outcome = run(*words, "-q", code=code)
        again = "rankfold align views --out run --method rasl --jobs 1"
        said = " ".join(outcome.stderr.split())
        assert f"; run.unfinished has what is needed to go on: {again[:31]}" in said
        assert sorted(p.name for p in folder.iterdir()) == ["run.unfinished", "views"]
        outcome = run(*words, "--resume")
        assert "going on from run.unfinished (1 outer iterations done)" in outcome.stderr
        # The command in the folder can be repeated as it is.
        assert "--resume" not in (folder / "run" / "config.toml").read_text()
        run(*words[:3], "plain", *words[4:])
        np.testing.assert_array_equal(rf.load("run").low_rank, rf.load("plain").low_rank)
        assert sorted(p.name for p in folder.iterdir()) == ["plain", "run", "views"]

    def test_a_decomposition_that_was_ended_leaves_nothing(self, folder, monkeypatch):
        from rankfold.cli.progress import Watcher

        monkeypatch.setattr(Watcher, "__call__", lambda *_: signal.raise_signal(signal.SIGTERM))
        outcome = run("decompose", "views", "-o", "run", code=143)
        assert "Ended by SIGTERM; nothing was written." in outcome.stderr
        assert [p.name for p in folder.iterdir()] == ["views"]

    def test_nothing_to_resume_is_said_with_the_flag(self, folder):
        outcome = run("align", "views", "-o", "run", "--resume", *QUICK, code=1)
        assert (
            "because run.unfinished is not there or has nothing yet; leave out --resume"
            in outcome.stderr
        )

    def test_another_option_is_named_as_it_is_typed(self, folder, monkeypatch):
        from rankfold.cli.progress import Watcher

        words = ["align", "views", "-o", "run", *RESULT_ONLY, *QUICK]
        with monkeypatch.context() as patched:
            patched.setattr(Watcher, "__call__", lambda *_: signal.raise_signal(signal.SIGTERM))
            run(*words, code=143)
        said = run(*words, "--max-outer", "3", code=1).stderr
        assert "checkpoint of a run with --max-outer 2 (now 3); remove it with `rankfold" in said
        said = run(*words, "--family", "affine", code=1).stderr
        assert "with --family similarity" in said
        run("clean", "run")
        run(*words, "--family", "affine")

    def test_a_killed_run_leaves_no_folder(self, folder):
        # The alignment never ends, so that the kill comes in the middle of it.
        code = (
            "import threading; from rankfold.runs import jobs; "
            "jobs.align = lambda *_, **__: threading.Event().wait(); "
            "from rankfold.cli import app; app()"
        )
        words = ["align", "views", "-o", "run", "-m", "rasl", "--max-outer", "50"]
        silent = subprocess.DEVNULL
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words], stdout=silent, stderr=silent
        )
        deadline = time.monotonic() + 180
        while not (drafts := runs_left(folder)) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert drafts
        assert not (folder / "run").exists()
        said = run("align", "views", "-o", "run", *RESULT_ONLY, *QUICK).stderr
        assert f"leftover of a run that was killed: {drafts[0].name} (a draft)" in said
        run("clean", "run")
        assert sorted(p.name for p in folder.iterdir()) == ["run", "views"]


def runs_left(folder):
    """Drafts of runs in a folder."""
    return list(folder.glob(f".run-*{storage.DRAFT}"))


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({}, {}),
        ({"start": "coarse"}, {}),
        ({"start": "match"}, {"start": "given", "frame_of": None}),
        ({"frame_of": "a.png"}, {"start": "given", "frame_of": None}),
    ],
)
def test_to_go_on_does_not_begin_anew_with_matching(options, changed):
    usual = {"init": "run", "out": "run-2"}
    assert running._going_on(Path("run"), Aligning(**options)) == usual | changed
