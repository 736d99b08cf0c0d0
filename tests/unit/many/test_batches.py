"""Which batches there are, and what they are called."""

from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold.many import find_batches
from rankfold.many.batches import check_not_nested


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to work in; files in it need no content to be found."""
    monkeypatch.chdir(tmp_path)
    for name in ("s/10", "s/2", "s/a.b", "other/2", "s/run.unfinished", "out/2"):
        Path(name).mkdir(parents=True)
    for name in ("s/notes.txt", "s/thumb.png", "s/film.avi", "s/film.mp4", "s/stack.ome.tif"):
        Path(name).touch()
    return tmp_path


def names(*given, out="out"):
    return [batch.name for batch in find_batches(given, out).batches]


class TestNames:
    def test_are_those_of_folders_and_the_stems_of_files(self, place):
        assert names("s/10", "s/a.b", "s/film.avi", "s/stack.ome.tif") == [
            "10",
            "a.b",
            "film",
            "stack",
        ]

    def test_a_pattern_is_expanded_in_natural_order(self, place):
        assert names("s/*/") == ["2", "10", "a.b"]

    def test_a_folder_called_like_a_pattern_is_meant_itself(self, place):
        Path("[1]").mkdir()
        assert names("[1]") == ["[1]"]

    def test_are_made_different_where_two_would_be_the_same(self, place):
        assert names("s/film.avi", "s/film.mp4", "s/10") == ["film.avi", "film.mp4", "10"]
        assert names("s/2", "other/2", "s/10") == ["s_2", "other_2", "10"]

    def test_that_stay_the_same_are_refused(self, place):
        Path("deep/s/2").mkdir(parents=True)
        with pytest.raises(rf.InputError, match=r"would both be called s_2; rename one"):
            names("s/2", "deep/s/2")

    def test_one_folder_given_twice_is_one_batch(self, place):
        assert names("s/2", str(place / "s" / "2"), "s/../s/2") == ["2"]

    def test_a_link_keeps_its_name(self, place):
        Path("linked").symlink_to("s/2")
        assert names("linked", "s/2") == ["linked", "2"]

    def test_a_summary_is_not_replaced_by_a_batch(self, place):
        Path("s/Summary.html").mkdir()
        with pytest.raises(rf.InputError, match=r"cannot be called Summary\.html"):
            names("s/Summary.html")


class TestMapping:
    def test_names_are_given_and_paths_are_absolute(self, place):
        found = find_batches({"x": "s/2", "y": "s/*.png"}, "out")
        assert [(one.name, one.path) for one in found.batches] == [
            ("x", str(place / "s" / "2")),
            ("y", str(place / "s" / "*.png")),
        ]

    @pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden"])
    def test_what_cannot_be_a_folder_is_refused(self, place, name):
        with pytest.raises(rf.InputError, match="cannot be the name of a batch"):
            find_batches({name: "s/2"}, "out")


class TestLeftOut:
    def test_what_is_no_batch_is_said(self, place):
        found = find_batches("s/*", "out")
        wanted = ["2", "10", "a.b", "film.avi", "film.mp4", "stack"]
        assert [one.name for one in found.batches] == wanted
        said = "\n".join(found.left_out)
        assert "notes.txt: it is no video" in said
        assert "thumb.png: it is a single picture" in said
        assert "run.unfinished: it is the folder of a run" in said

    def test_the_results_and_other_runs(self, place):
        Path("s/2/result.json").touch()
        found = find_batches(["*", "out/*", "s/2"], "out")
        assert [one.name for one in found.batches] == ["other", "s"]
        assert len(found.left_out) == 3
        assert any(one.endswith("out: the results are there") for one in found.left_out)

    def test_a_run_where_the_pictures_of_another_batch_are(self, place):
        """They were replaced before they were read."""
        with pytest.raises(rf.InputError, match="s/10 would be a run folder, and is, or holds"):
            find_batches({"10": "other", "x": "s/10"}, "s")
        Path("s/two").mkdir()
        with pytest.raises(rf.InputError, match="the pictures of last; choose another folder"):
            find_batches({"two": "other", "last": "s/two/*.png"}, "s")
        assert len(find_batches({"two": "other", "three": "s/2"}, "out").batches) == 2

    def test_a_file_that_is_not_there_is_left_to_its_error(self, place):
        assert names("s/2", "nowhere") == ["2", "nowhere"]

    def test_if_nothing_remains_it_says_what_to_write(self, place):
        with pytest.raises(rf.InputError, match=r"single picture.*write the folder above"):
            names("s/*.png")
        with pytest.raises(rf.InputError, match="names no batches"):
            names("nowhere/*")
        with pytest.raises(rf.InputError, match="no batches were given"):
            names()


class TestNested:
    def test_a_folder_of_folders_says_what_to_write(self, place):
        (place / "other" / "notes.txt").touch()
        with pytest.raises(rf.InputError, match=r"other has no pictures but folders; write .*\*"):
            check_not_nested("other")

    def test_folders_of_pictures_zarr_and_files_are_not_meant(self, place):
        Path("both/inside").mkdir(parents=True)
        Path("both/a.png").touch()
        Path("x.zarr/c").mkdir(parents=True)
        np.save("a.npy", np.zeros(3))
        for path in ("both", "x.zarr", "a.npy", "s/2", "nowhere"):
            check_not_nested(path)
