"""Photographs and a film of which everything is known: what is said of them is so."""

import numpy as np
import pytest

from placed import as_numpy_sees
from rankfold.datasets import handheld, panning

SIZE = (60, 80)


def films(**options):
    return panning(5, SIZE, **options)


def photographs(**options):
    return handheld(5, SIZE, **options)


@pytest.mark.parametrize("make", [photographs, films])
def test_the_seed_says_everything(make):
    one, two, other = make(seed=1), make(seed=1), make(seed=2)
    for name in ("images", "scene", "hidden", "transforms", "gains", "offsets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(one.images, other.images)
    assert not np.array_equal(one.scene, other.scene)


@pytest.mark.parametrize("make", [photographs, films])
def test_a_picture_is_the_scene_in_its_light_where_nothing_hides_it(make):
    """The picture through its transform, back in the frame of the scene."""
    batch = make(seed=3)
    for k, image in enumerate(batch.images):
        assert image.shape == (*SIZE, 3)
        assert image.dtype == np.uint8
        found = as_numpy_sees(image / 255, batch.transforms[k], SIZE)
        hidden = as_numpy_sees(batch.hidden[k].astype(float), batch.transforms[k], SIZE)
        expected = batch.gains[k] * batch.scene + batch.offsets[k]
        # Far from what hides it: the spline rings a little.
        seen = np.isfinite(found).all(axis=2) & (np.abs(hidden) < 0.01)
        assert seen.mean() > 0.3
        error = (found - expected)[seen]
        # The noise has a standard deviation of .01; what is between the pixels adds to it.
        assert np.sqrt((error**2).mean()) < 0.014
        assert abs(error.mean()) < 0.003


def test_sixteen_bits_are_the_same_pictures():
    deep = photographs(dtype=np.uint16)
    assert deep.images[0].dtype == np.uint16
    for one, other in zip(deep.images, photographs().images, strict=True):
        assert np.abs(one / 257 - other).max() <= 0.51


@pytest.mark.parametrize("make", [photographs, films])
def test_something_is_hidden_but_not_all(make):
    for hidden in make(seed=0).hidden:
        assert hidden.shape == SIZE
        assert hidden.mean() < 0.7
    assert np.mean(make(seed=0).hidden) > 0.02


def test_a_camera_that_stands_still_does_not_move():
    np.testing.assert_array_equal(films(moves=False).transforms, np.tile(np.eye(3), (5, 1, 1)))
    moving = films(moves=True).transforms
    np.testing.assert_array_equal(moving[0], np.eye(3))
    # It pans to the right, so that the scene goes to the left.
    assert moving[-1][0, 2] == pytest.approx(-0.15 * SIZE[1], abs=4)
