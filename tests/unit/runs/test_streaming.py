"""A run of a large batch: the same as in memory, written as it comes, whole or not at all."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

import rankfold as rf
from rankfold import runs
from rankfold.errors import FormatError, InputError
from rankfold.io import open_pictures, write_picture, write_pictures
from rankfold.runs import Output
from rankfold.runs.showing import part_of, shown_of

OPTIONS = {"method": "rasl", "family": "translation", "sample": 12}
COUNT = 30


def frames():
    """A scene seen through a shaking camera, as bytes."""
    rng = np.random.default_rng(0)
    scene = ndimage.gaussian_filter(rng.random((90, 100)), 1.5)
    scene = 255 * (scene - scene.min()) / np.ptp(scene)
    shifts = rng.uniform(-3, 3, (COUNT, 2))
    moved = [ndimage.shift(scene, shift, order=3, mode="nearest") for shift in shifts]
    return [np.rint(np.clip(one[12:-12, 12:-12], 0, 255)).astype(np.uint8) for one in moved]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("views").mkdir()
    for k, frame in enumerate(frames()):
        write_picture(f"views/{k:03d}.png", frame)
    return open_pictures("views")


def run(source, output=None, **options):
    """A run by a sample, and its result."""
    chosen = {**OPTIONS, **options}
    sample = runs.sample_in(source, chosen["sample"])
    choice = runs.choose(source, sample=sample)
    summary = runs.run_align("run", source, choice, output=output, **chosen)
    return summary, rf.load("run")


class TestTheSame:
    def test_as_in_memory(self, source):
        summary, result = run(source)
        direct = rf.align(frames(), **OPTIONS)
        for part in ("transforms", "verdicts", "lost", "confirmed", "aligned", "low_rank"):
            np.testing.assert_array_equal(getattr(result, part), getattr(direct, part))
        assert summary.images == COUNT
        assert summary.verdict == direct.verdict == "good"
        assert list(summary.lost) == list(source.names)

    def test_for_every_number_of_threads(self, source):
        _, first = run(source)
        for n_jobs in (2, 3):
            _, again = run(source, Output(overwrite=True), n_jobs=n_jobs)
            for part in ("transforms", "verdicts", "lost"):
                np.testing.assert_array_equal(getattr(again, part), getattr(first, part))
            np.testing.assert_array_equal(again.low_rank[:], first.low_rank[:])

    def test_as_the_pictures_that_were_written(self, source):
        _, result = run(source)
        for part in ("aligned", "low_rank"):
            written = open_pictures(f"run/{part}")
            assert written.names == source.names
            for picture, expected in zip(written.pictures(), getattr(result, part), strict=True):
                seen = np.isfinite(expected)
                rounded = np.rint(np.clip(expected, 0, 255))
                np.testing.assert_array_equal(picture.values[seen], rounded[seen])
        assert len(open_pictures("run/error")) == COUNT

    @pytest.mark.parametrize("format", ["tiff", "video", "array"])
    def test_in_formats_of_one_file(self, source, format):
        run(source, Output(format=format))
        names = sorted(path.stem for path in Path("run").iterdir() if path.suffix != ".json")
        assert {"aligned", "error", "low_rank"} <= set(names)
        aligned = next(path for path in Path("run").iterdir() if path.stem == "aligned")
        assert len(open_pictures(aligned)) == COUNT

    def test_from_a_video(self, source):
        like = open_pictures("views")
        clip = write_pictures(
            "clip", like.names, [p.values for p in like.pictures()], like, "video"
        )
        _, result = run(open_pictures(clip), Output(pictures=False))
        assert (result.verdicts == "placed").all()
        once = list(result.aligned)
        np.testing.assert_array_equal(once[17], result.aligned[17])


class TestWhatIsLeft:
    def test_names_and_few_copies(self, source, monkeypatch):
        monkeypatch.setattr("rankfold.runs.showing.shown_of.__defaults__", (8,))
        run(source)
        opened = runs.open_run("run")
        assert len(opened.names) == COUNT
        assert len(opened.inputs) == len(opened.shown) == 8
        assert "arrays.npz" in {path.name for path in Path("run").iterdir()}
        with np.load("run/arrays.npz") as arrays:
            assert not {"aligned", "low_rank", "sparse", "valid"} & set(arrays.files)

    def test_the_report_shows_some_and_says_so(self, source, monkeypatch):
        from rankfold.report import write_report
        from rankfold.report.data import report_data

        monkeypatch.setattr("rankfold.runs.showing.shown_of.__defaults__", (8,))
        run(source, Output(report=write_report))
        data = report_data(runs.open_run("run"))
        assert len(data.cards) == 8
        assert dict(data.facts)["pictures"] == str(COUNT)
        assert f"Shown are 8 of {COUNT}" in " ".join(data.sentences)
        assert "Shown are 8" in Path("run/report.html").read_text()

    def test_the_least_sure_are_shown(self, source):
        _, result = run(source, Output(pictures=False))
        lost = result.lost.copy()
        lost[[4, 9, 21]] = 0.9, 0.7, 0.8
        verdicts = np.array(result.verdicts, dtype="U8")
        verdicts[[4, 9, 21]] = "failed"
        changed = part_of(result, range(COUNT))
        object.__setattr__(changed, "lost", lost)
        object.__setattr__(changed, "verdicts", verdicts)
        assert shown_of(changed, COUNT) == list(range(COUNT))
        assert {4, 21} <= set(shown_of(changed, 2))
        assert {4, 9, 21} <= set(shown_of(changed, 6))
        assert len(shown_of(changed, 6)) == 6


class Recorder:
    """Writes down what it is told; ``at`` pictures placed, it does something once."""

    def __init__(self, at=-1, do=None):
        self.said = []
        self.parts = 0
        self.at = at
        self.do = do

    def say(self, text, total=None):
        self.said.append((text, total))
        self.parts = 0

    def advance(self):
        self.parts += 1
        if self.said[-1][0] == "placing" and self.parts == self.at:
            self.do()

    def __call__(self, record):
        return False


class TestOnTheWay:
    def test_the_watch_is_told(self, source):
        watch = Recorder()
        choice = runs.choose(source)
        runs.run_align("run", source, choice, watch=watch, **OPTIONS)
        assert ("placing", COUNT) in watch.said

    def test_a_picture_that_vanishes_is_named_and_the_sample_kept(self, source, monkeypatch):
        # Two pictures are read at a time. The function ``align`` hides the room of that name.
        monkeypatch.setattr(sys.modules["rankfold.align.crowd.passing"], "TOGETHER", 2)
        watch = Recorder(at=3, do=Path("views/025.png").unlink)
        with pytest.raises(FormatError, match=r"025\.png does not exist"):
            runs.run_align("run", source, runs.choose(source), watch=watch, **OPTIONS)
        # No draft; but when the picture is back, the sample need not be aligned again.
        assert sorted(path.name for path in Path().iterdir()) == ["run.unfinished", "views"]

    def test_what_cannot_be_written_is_a_remark(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("views").mkdir()
        planes = [np.dstack([frame] * 4) for frame in frames()]
        np.save("views.npy", np.stack(planes))
        source = open_pictures("views.npy")
        summary, result = run(source, Output(format="pictures"))
        assert "Not all pictures could be written" in " ".join(summary.remarks)
        assert result.low_rank.shape[0] == COUNT


class TestChoosing:
    def test_crop_needs_all_together(self, source):
        with pytest.raises(InputError, match="crop=True cannot be had with sample=12"):
            runs.sample_in(source, 12, crop=True)
        settings = rf.AlignSettings().changed({"sample.above": 20, "sample.size": 10})
        assert runs.sample_in(source, "auto", settings, crop=True) is None
        assert len(runs.sample_in(source, "auto", settings)) == 10

    def test_the_plan_counts_the_sample(self, source):
        sample = runs.sample_in(source, 12)
        choice = runs.choose(source, sample=sample)
        whole = runs.plan_run(source, choice, "rasl")
        plan = runs.plan_run(sample, choice, "rasl", others=COUNT - 12)
        alone = runs.plan_run(sample, choice, "rasl")
        assert plan.memory == alone.memory < whole.memory
        assert plan.seconds > alone.seconds

    def test_the_reduction_is_that_of_the_sample(self):
        """A thousand pictures would be read coarser than two hundred."""
        shape = (400, 500)
        names = tuple(f"{k:04d}" for k in range(5000))
        many = rf.io.Source(
            "photos",
            "pictures",
            names,
            (shape,) * 5000,
            (np.dtype(np.uint8),) * 5000,
            iterate=lambda: iter(()),
        )
        assert (
            runs.choose(many).reduction > runs.choose(many, sample=runs.sample_in(many)).reduction
        )


def test_the_command(source):
    from typer.testing import CliRunner

    from rankfold.cli import app

    words = ["align", "views", "-o", "run", "-m", "rasl", "-t", "translation", "--sample", "12"]
    outcome = CliRunner().invoke(app, [*words, "--no-report", "--json"])
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout)["images"] == COUNT
    result = rf.load("run")
    assert result.options["sample"] == 12
    refused = CliRunner().invoke(app, [*words[:-1], "many"])
    assert refused.exit_code == 2
    cropped = CliRunner().invoke(app, [*words, "-o", "other", "--crop", "common"])
    assert cropped.exit_code == 1
    assert "--sample 12" in cropped.stderr
