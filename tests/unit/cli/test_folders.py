"""apply, report and export work on a run folder."""

import shutil

import numpy as np
import pytest

import rankfold as rf
from commands import finished_run, run, write_views
from rankfold.io import open_pictures


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run over eight views, made once."""
    return finished_run(tmp_path_factory.mktemp("finished"))


class TestApply:
    def test_gives_what_align_saw(self, finished, tmp_path):
        outcome = run("apply", finished / "run", finished / "views", "-o", tmp_path / "out")
        assert outcome.stdout.strip() == f"8 pictures in {tmp_path / 'out' / 'aligned'}"
        ours = open_pictures(tmp_path / "out" / "aligned")
        result = rf.load(finished / "run")
        results = zip(ours.pictures(), result.aligned, result.valid, strict=True)
        for picture, aligned, valid in results:
            expected = np.clip(aligned[valid], 0, 255)
            np.testing.assert_allclose(picture.values[valid], expected, atol=0.51)

    def test_goes_by_name(self, finished, tmp_path):
        views = tmp_path / "views"
        shutil.copytree(finished / "views", views)
        (views / "002.png").rename(views / "zzz.png")
        outcome = run("apply", finished / "run", views, "-o", tmp_path / "out", code=1)
        assert "zzz.png is not among the pictures" in outcome.stderr
        for k, path in enumerate(sorted(views.glob("*.png"))):
            path.rename(path.with_name(f"other{k}.png"))
        # All names are others now, so that the order decides.
        run("apply", finished / "run", views, "-o", tmp_path / "out")

    @pytest.mark.parametrize("prefix", ["", "few-"])
    def test_wants_as_many_pictures(self, finished, tmp_path, prefix):
        write_views(tmp_path / "few", 3)
        for path in (tmp_path / "few").glob("*.png"):
            path.rename(path.with_name(f"{prefix}{path.name}"))
        words = ["apply", finished / "run", tmp_path / "few", "-o", tmp_path / "out"]
        text = run(*words, code=1).stderr
        assert "3 pictures" in text
        assert "8 transforms" in text
        assert not (tmp_path / "out").exists()

    def test_ctrl_c_leaves_nothing(self, finished, tmp_path, monkeypatch):
        from rankfold.cli.progress import Watcher

        monkeypatch.setattr(Watcher, "advance", lambda self: setattr(self, "stop", True))
        words = ["apply", finished / "run", finished / "views", "-o", tmp_path / "out"]
        assert "nothing was written" in run(*words, code=130).stderr
        assert not any(tmp_path.iterdir())

    def test_says_how_to_replace_a_folder(self, finished, tmp_path):
        words = ["apply", finished / "run", finished / "views", "-o", tmp_path / "out"]
        run(*words)
        assert "--overwrite" in run(*words, code=1).stderr
        run(*words, "--overwrite")


class TestReport:
    def test_again_elsewhere(self, finished, tmp_path):
        """The page from the folder is the one that was made from memory."""
        run("report", finished / "run", "-o", tmp_path / "page.html")
        page = (finished / "run" / "report.html").read_text()
        assert (tmp_path / "page.html").read_text() == page
        assert "no result.json" in run("report", tmp_path, code=1).stderr

    def test_a_sheet_is_a_picture(self, finished, tmp_path):
        outcome = run("report", finished / "run", "--sheet", tmp_path / "s.xyz", code=1)
        assert "end it in .png" in outcome.stderr
        run("report", finished / "run", "--sheet", tmp_path / "s.png", "--columns", 3)
        assert (tmp_path / "s.png").exists()


def test_export(finished, tmp_path):
    table = tmp_path / "t.csv"
    run("export", finished / "run", "-o", table)
    assert len(table.read_text().splitlines()) == 9
    assert "--overwrite" in run("export", finished / "run", "-o", table, code=1).stderr
    run("export", finished / "run", "-o", table, "--overwrite")
    run("export", finished / "run", "-o", tmp_path / "t.json", "--json")
    outcome = run("export", finished / "run", "-o", tmp_path / "t.xls", code=1)
    assert ".json or .csv" in outcome.stderr
