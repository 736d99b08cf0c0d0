"""Transforms of a run on other pictures."""

import numpy as np
import pytest

import rankfold as rf
from rankfold import runs
from rankfold.io import open_pictures

KNOWN = ("a", "b", "c")


def test_by_name_where_the_names_are_the_same():
    assert runs.match_names(("c", "a", "b"), KNOWN, "run") == [2, 0, 1]


def test_by_order_where_all_are_others():
    assert runs.match_names(("x", "y", "z"), KNOWN, "run") == [0, 1, 2]


def test_a_mixture_is_refused():
    with pytest.raises(rf.InputError, match="y is not among the pictures of run"):
        runs.match_names(("a", "y", "c"), KNOWN, "run")


@pytest.fixture
def given(heads, aligned, tmp_path):
    """The run of eight heads, and the heads as an array on disk."""
    aligned.save(tmp_path / "run")
    np.save(tmp_path / "heads.npy", np.stack(heads.images))
    return tmp_path


def test_pictures_come_into_the_frame(given, aligned):
    source = open_pictures(given / "heads.npy")
    written = runs.apply_run(given / "run", source, given / "out")
    assert written == given / "out" / "aligned.npy"
    ours = np.load(written)
    np.testing.assert_allclose(ours[aligned.valid], aligned.aligned[aligned.valid], atol=1e-6)


def test_full_size_is_that_of_the_pictures(given, aligned):
    source = open_pictures(given / "heads.npy")
    ours = np.load(runs.apply_run(given / "run", source, given / "out", scale=None))
    from rankfold.warp.sampling import source_pixels_per_pixel

    spans = [source_pixels_per_pixel(T, aligned.frame) for T in aligned.transforms]
    expected = [round(size * float(np.median(spans))) for size in aligned.frame.shape]
    assert list(ours.shape[1:]) == expected


def test_what_is_raised_after_a_picture_leaves_nothing(given):
    def stop():
        raise KeyboardInterrupt

    source = open_pictures(given / "heads.npy")
    with pytest.raises(KeyboardInterrupt):
        runs.apply_run(given / "run", source, given / "out", done=stop)
    assert not (given / "out").exists()
