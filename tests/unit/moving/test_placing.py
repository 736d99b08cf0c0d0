"""Where the frames of a film lie, against where they were taken."""

import sys

import numpy as np
import pytest
from scipy import ndimage

import rankfold as rf
from rankfold.align import AlignSettings
from rankfold.datasets import panning
from rankfold.families import map_points
from rankfold.io import in_memory
from rankfold.moving.placing import placed

COUNT = 12
SIZE = (90, 120)


@pytest.fixture(scope="module")
def film():
    return panning(COUNT, SIZE)


@pytest.fixture
def cv2():
    return pytest.importorskip("cv2")


def place(images, camera="moving"):
    return placed(in_memory(images), camera, AlignSettings())


@pytest.fixture(scope="module")
def placing(film):
    pytest.importorskip("cv2")
    return place(film.images)


def errors(placing, film):
    """How far the corners of each frame lie from where they should, px; relative to the middle."""
    corners = rf.Frame(*film.images[0].shape[:2]).corners
    middle = len(film.images) // 2

    def between(T):
        """From the middle frame to each."""
        return T @ np.linalg.inv(T[middle])

    ours, true = (
        map_points(between(T), np.tile(corners, (len(T), 1, 1)))
        for T in (placing.transforms, film.transforms)
    )
    return np.linalg.norm(ours - true, axis=2).mean(axis=1)


def test_a_pan_is_followed(placing, film):
    assert placing.moves
    assert placing.remarks == ()
    # Unit: px.
    assert np.median(errors(placing, film)) < 0.3
    assert errors(placing, film).max() < 0.6


def test_the_canvas_holds_all_frames(placing, film):
    corners = rf.Frame(*film.images[0].shape[:2]).corners
    for T in placing.transforms:
        x, y = map_points(np.linalg.inv(T), corners).T
        assert x.min() >= -1e-6
        assert y.min() >= -1e-6
        assert x.max() <= placing.canvas.width - 1 + 1e-6
        assert y.max() <= placing.canvas.height - 1 + 1e-6


def test_a_camera_that_stands_still_is_recognised(cv2):
    film = panning(COUNT, SIZE, moves=False)
    found = place(film.images, "auto")
    assert not found.moves
    np.testing.assert_array_equal(found.transforms, np.tile(np.eye(3), (COUNT, 1, 1)))
    assert found.canvas.shape == film.images[0].shape[:2]


def test_a_camera_that_pans_is_recognised(cv2, film, placing):
    found = place(film.images, "auto")
    assert found.moves
    np.testing.assert_array_equal(found.transforms, placing.transforms)


def without(film, replacement, *which):
    images = [image.copy() for image in film.images]
    rng = np.random.default_rng(0)
    for k in which:
        images[k] = np.full_like(images[k], 128)
        if replacement == "noise":
            images[k] = rng.integers(0, 256, images[k].shape, np.uint8)
    return images


@pytest.mark.parametrize("replacement", ["noise", "blank"])
def test_a_frame_without_anything_known_does_not_stop_the_others(cv2, film, replacement):
    found = place(without(film, replacement, 3), "moving")
    good = np.delete(np.arange(COUNT), 3)
    apart = errors(found, film)
    assert apart[good].max() < 0.6
    # It is given up, or lies beside its neighbours and is spoken of.
    given_up = np.isnan(found.transforms[3]).any()
    assert given_up or apart[3] < 2 * 16 * np.sqrt(2)
    assert given_up or "image 3" in " ".join(found.remarks)


def test_a_blurred_frame_is_found_through_its_neighbours(cv2, film):
    """It shows too little to be matched, but enough to be compared."""
    images = [image.copy() for image in film.images]
    images[9] = ndimage.gaussian_filter(images[9], (4, 4, 0))
    found = place(images)
    apart = errors(found, film)
    assert np.delete(apart, 9).max() < 0.6
    assert apart[9] < 3


def test_many_frames_in_succession_that_cannot_be_matched(cv2, film):
    found = place(without(film, "noise", 9, 10, 11))
    apart = errors(found, film)
    assert apart[:9].max() < 0.6


def test_a_film_of_noise_is_refused(cv2, film):
    with pytest.raises(rf.InputError, match=r"only 1 of 12 frames .*camera='still' if it stands"):
        place(without(film, "noise", *range(COUNT)))


def test_a_wide_pan_is_not_called_still(cv2):
    """Of the frames that are asked first none shares anything with the middle one."""
    rng = np.random.default_rng(0)
    count, step, width = 25, 40, 120
    wall = ndimage.gaussian_filter(rng.random((80, step * count + width)), 1.5)
    wall = 255 * (wall - wall.min()) / np.ptp(wall)
    images = [wall[:, step * k : step * k + width].astype(np.uint8) for k in range(count)]
    assert place(images, "auto").moves


def test_without_opencv_the_remedy_is_named(film, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    for camera in ("auto", "moving"):
        with pytest.raises(rf.RankfoldError, match=r"rankfold\[match\]"):
            place(film.images, camera)
    assert place(film.images, "still").canvas.shape == SIZE


class TestRefused:
    def test_too_few_frames(self, film):
        with pytest.raises(rf.InputError, match="2 frames; masks of what moves need at least 3"):
            place(film.images[:2], "still")

    def test_several_sizes(self, film):
        with pytest.raises(rf.InputError, match="image 2 differs in size from image 0; the frames"):
            place([*film.images[:2], film.images[2][:60]], "still")
