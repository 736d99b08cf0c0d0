"""What belongs to a picture is predicted where it is hidden."""

import numpy as np
import pytest

from placed import Placed
from rankfold.io import Picture
from rankfold.outputs import OutputSettings
from rankfold.outputs.model import model_of, on_frame
from rankfold.outputs.originals import originals_of
from rankfold.stack import Frame

SHAPE = (40, 56)
COUNT = 30


def smooth(rng, scale):
    """A smooth field (h, w) of unit spread, of a few waves."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] / np.array(SHAPE)[:, None, None]
    waves = [
        np.cos(2 * np.pi * (a * y + b * x) + phase)
        for a, b, phase in zip(*rng.uniform(0.5, scale, (2, 6)), rng.uniform(0, 6, 6), strict=True)
    ]
    field = np.sum(waves, axis=0)
    return (field - field.mean()) / field.std()


@pytest.fixture(scope="module", params=[1, 3], ids=["grey", "colour"])
def batch(request):
    """Pictures of rank five: a scene in its light, and two ways in which it changes besides."""
    rng = np.random.default_rng(0)
    channels = request.param
    B = np.stack([120 + 30 * smooth(rng, 5) for _ in range(channels)], axis=-1)
    ways = np.stack([8 * smooth(rng, 3) for _ in range(2)])
    pictures = []
    for _ in range(COUNT):
        change = np.tensordot(rng.standard_normal(2), ways, 1)
        picture = rng.uniform(0.8, 1.2) * B + rng.uniform(-5, 5) + change[..., None]
        pictures.append(np.clip(picture, 0, 255))
    low_rank = np.stack(pictures)
    if channels == 1:
        low_rank = low_rank[..., 0]
    run = Placed(
        names=tuple(f"image {k}" for k in range(COUNT)),
        transforms=np.tile(np.eye(3), (COUNT, 1, 1)),
        source_shapes=np.tile(SHAPE, (COUNT, 1)),
        frame=Frame(*SHAPE),
        aligned=low_rank,
        low_rank=low_rank,
        failed=np.zeros(COUNT, bool),
    )
    images = list(np.rint(low_rank).astype(np.uint8))
    model = model_of(run, originals_of(run, images), OutputSettings())
    return model, images


def quarter():
    hidden = np.zeros(SHAPE, bool)
    hidden[: SHAPE[0] // 2, : SHAPE[1] // 2] = True
    return hidden


def brought(image, hidden=None):
    """A picture on the frame: values (c, h, w) and what is usable."""
    return on_frame(Picture(image), hidden, np.eye(3), Frame(*SHAPE), 255.0)


@pytest.mark.parametrize("k", [0, 7, 29])
def test_a_hidden_quarter_is_predicted(batch, k):
    model, images = batch
    painted = images[k].copy()
    painted[quarter()] = 230
    explained = model.explain(*brought(painted, quarter()))
    truth, _ = brought(images[k])
    error = 255 * np.abs(explained.picture - truth)
    # Grey levels: the gain is carried into the quarter by its slope.
    assert error[:, quarter()].mean() < 5
    assert error[:, quarter()].max() < 15
    # The light alone says less: the picture also changes in other ways.
    lit = model.lit(explained.gains, explained.offsets)
    by_light = 255 * np.abs(lit - truth)[:, quarter()]
    assert error[:, quarter()].mean() < 0.5 * by_light.mean()


def test_hidden_pixels_have_no_say(batch):
    model, images = batch
    values, usable = brought(images[4], quarter())
    once = model.explain(values, usable)
    values = values.copy()
    values[:, ~usable] = np.random.default_rng(1).uniform(-5, 5, values[:, ~usable].shape)
    again = model.explain(values, usable)
    np.testing.assert_array_equal(once.picture, again.picture)
    np.testing.assert_array_equal(once.gains, again.gains)
    np.testing.assert_array_equal(once.offsets, again.offsets)


def test_what_is_hidden_is_not_usable(batch):
    _, images = batch
    _, usable = brought(images[0], quarter())
    assert not usable[quarter()].any()
    assert usable[SHAPE[0] // 2 + 2 :].all()


def test_a_picture_of_which_nothing_is_seen_has_the_usual_light(batch):
    model, images = batch
    values, _ = brought(images[0])
    explained = model.explain(values, np.zeros(SHAPE, bool))
    np.testing.assert_allclose(explained.picture, model.common, atol=1e-6)


def test_directions_are_orthonormal(batch):
    model, _ = batch
    count = len(model.directions)
    assert 1 < count <= 0.34 * COUNT
    np.testing.assert_allclose(model.directions @ model.directions.T, np.eye(count), atol=1e-6)
    assert (np.diff(model.variances) <= 0).all()
