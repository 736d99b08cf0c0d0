"""Scenes with a truth: where points land, who is lost, and what the sets hold."""

import numpy as np
import pytest

from rankfold.families import get_family, inverse, map_points, shift
from rankfold_lab.evaluate.scenes import (
    SETS,
    corner_errors,
    heads,
    landed_points,
    off_from_most,
    spread_of_points,
)
from real_data import DATA, needs


def test_points_land_where_the_inverse_puts_them():
    transforms = np.stack([np.eye(3), shift(np.array([2.0, -1.0]))])
    places = [np.array([[5.0, 5.0]]), np.array([[7.0, 4.0]])]
    np.testing.assert_allclose(landed_points(transforms, places), np.full((2, 1, 2), 5.0))


def test_the_spread_is_the_mean_distance_from_the_median():
    landed = np.array([[[0.0, 0.0]], [[0.0, 0.0]], [[3.0, 4.0]]])
    assert spread_of_points(landed) == pytest.approx(5 / 3)


class TestOffFromMost:
    def test_what_all_share_does_not_count(self):
        landed = np.tile(np.array([[10.0, 3.0], [4.0, 8.0]]), (6, 1, 1))
        landed[2] += [5.0, 0.0]
        off = off_from_most(landed, 2.0)
        np.testing.assert_allclose(off, [0, 0, 5, 0, 0, 0])

    def test_the_largest_group_counts_where_no_half_agrees(self):
        # Four at one place and six far apart: the median of all would be nobody's.
        landed = np.zeros((10, 1, 2))
        landed[4:, 0, 0] = np.arange(20, 80, 10)
        off = off_from_most(landed, 2.0)
        assert (off[:4] == 0).all()
        assert (off[4:] >= 20).all()


def test_corners_follow_the_true_homographies_whatever_the_common_frame():
    truth = np.stack(
        [
            np.eye(3),
            get_family("homography").fit(
                np.array([[0, 0], [99, 0], [99, 79], [0, 79.0]]),
                np.array([[3, 5], [90, 2], [95, 80], [-4, 70.0]]),
            ),
        ]
    )
    gauge = get_family("similarity").matrix(np.array([1.2, 0.1, 4.0, -3.0]))
    assert corner_errors(truth @ gauge, truth, (80, 100)).max() < 1e-9
    moved = truth.copy()
    moved[1] = shift(np.array([3.0, 4.0])) @ moved[1]
    np.testing.assert_allclose(corner_errors(moved @ gauge, truth, (80, 100)), [5.0])


def test_at_the_truth_the_points_of_heads_lie_on_each_other():
    scene = next(heads(0))
    # The places are those of the true transforms, so any common transform undoes them.
    assert off_from_most(scene.landed(np.stack([np.eye(3)] * 24)), 2.0).max() > 1
    assert len(scene.places) == len(scene.images) == 24


@needs("extended_yale_b")
def test_faces_are_those_of_the_ablation():
    scene = next(SETS["P4"](DATA, 0))
    assert scene.name == "P4 1"
    assert len(scene.images) == len(scene.start) == 33


@needs("oxford_affine")
def test_the_points_of_a_plane_follow_its_homographies():
    scene = next(SETS["planes"](DATA, 0))
    assert scene.name == "graf"
    landed = scene.landed(np.stack([np.eye(3)] * 6))
    apart = np.linalg.norm(landed - landed[0], axis=2).mean(axis=1)
    assert apart[0] == 0
    assert (apart[1:] > 20).all()
    # Undone by the very homographies: the points of the first view again.
    fitted = [get_family("homography").fit(scene.places[0], places) for places in scene.places]
    again = map_points(inverse(np.stack(fitted)), np.stack(scene.places))
    np.testing.assert_allclose(again, np.stack([scene.places[0]] * 6), atol=1e-6)
