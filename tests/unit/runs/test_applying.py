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


def test_the_size_comes_back_as_it_was(tmp_path):
    """Zoom by a little less than two made 510 x 510 of 512 x 512."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (4, 128, 128), np.uint8)
    np.save(tmp_path / "in.npy", pictures)
    start = np.stack([np.diag([1.992, 1.992, 1.0])] * 4)
    result = rf.align(pictures, method="rpca", frame=(64, 64), init=start)
    result.save(tmp_path / "run")
    source = open_pictures(tmp_path / "in.npy")
    written = np.load(runs.apply_run(tmp_path / "run", source, tmp_path / "out", scale=None))
    assert written.shape == pictures.shape
    np.testing.assert_array_equal(result.apply_one(0, pictures[0], shape=(40, 30)).shape, (40, 30))


def test_a_frame_of_a_part_has_the_size_of_that_part(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (4, 128, 128), np.uint8)
    np.save(tmp_path / "in.npy", pictures)
    result = rf.align(pictures, method="rpca", frame=(64, 50))
    result.save(tmp_path / "run")
    source = open_pictures(tmp_path / "in.npy")
    written = np.load(runs.apply_run(tmp_path / "run", source, tmp_path / "out", scale=None))
    assert written.shape == (4, 64, 50)


def test_what_is_raised_after_a_picture_leaves_nothing(given):
    def stop(done, total):
        raise KeyboardInterrupt

    source = open_pictures(given / "heads.npy")
    with pytest.raises(KeyboardInterrupt):
        runs.apply_run(given / "run", source, given / "out", step=stop)
    assert not (given / "out").exists()
