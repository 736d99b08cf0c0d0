import numpy as np
import pytest
from scipy import ndimage

from oracles import spline
from rankfold import Frame, Stack
from rankfold.families import map_points, shift
from rankfold.warp import prepare
from rankfold.warp.sampling import source_pixels_per_pixel
from rankfold.warp.smoothing import smooth
from rankfold.warp.sources import prepare_source

RNG = np.random.default_rng(0)
IMAGE = RNG.random((30, 40))
FRAME = Frame(9, 11)


def turned(angle, offset, zoom=1.0):
    c, s = zoom * np.cos(angle), zoom * np.sin(angle)
    return np.array([[c, -s, offset[0]], [s, c, offset[1]], [0, 0, 1]])


def sampler_of(image, frame=FRAME, mask=None, at=None):
    stack = Stack.of([image], None if mask is None else [mask])
    return prepare(stack, frame, np.eye(3)[None] if at is None else at[None], np.float64)


def test_values_and_gradient_are_those_of_the_plain_spline():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        T = turned(rng.uniform(-0.5, 0.5), rng.uniform(12, 18, 2))
        T[2, :2] = rng.uniform(-1e-3, 1e-3, 2)
        values, gradient, _ = sampler_of(IMAGE).sample(0, T, with_gradient=True)
        points = map_points(T, FRAME.grid)
        inside = ((points >= 3) & (points <= [36, 26])).all(
            axis=1
        )  # the oracle does not mirror at the edge
        assert inside.sum() > 30
        expected, slope = spline.values_and_gradient(IMAGE, points[inside])
        np.testing.assert_allclose(values[0][inside], expected, atol=1e-12)
        np.testing.assert_allclose(gradient[0][:, inside].T, slope, atol=1e-12)


def test_values_agree_with_scipy_up_to_the_edge():
    T = turned(0.2, (-3, -2))
    values, _, valid = sampler_of(IMAGE, Frame(40, 50)).sample(0, T)
    points = map_points(T, Frame(40, 50).grid)
    expected = ndimage.map_coordinates(IMAGE, points.T[::-1], order=3, mode="mirror")
    assert 0.2 < valid.mean() < 0.9
    np.testing.assert_allclose(values[0][valid], expected[valid], atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (5, 70), (9, 64), (65, 8), (100, 63), (130, 400)])
def test_coefficients_are_scipys(shape):
    image = RNG.random(shape)
    planes, _ = prepare_source(image, np.ones(shape, bool), blur=0.0)
    expected = ndimage.spline_filter(
        image, order=3, mode="mirror"
    )  # the same bits where products are not fused
    np.testing.assert_allclose(planes[0, 1:-1, 1:-1], expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(planes[0], np.pad(planes[0, 1:-1, 1:-1], 1, mode="reflect"))


def test_a_point_is_valid_between_the_outermost_pixel_centres_only():
    T = turned(0.3, (-4.3, 2.2), 1.7)
    values, gradient, valid = sampler_of(IMAGE, Frame(40, 50)).sample(0, T, with_gradient=True)
    points = map_points(T, Frame(40, 50).grid)
    np.testing.assert_array_equal(valid, ((points >= 0) & (points <= [39, 29])).all(axis=1))
    assert (values[0][~valid] == 0).all()
    assert (gradient[0][:, ~valid] == 0).all()


def test_the_identity_returns_the_samples_exactly_where_they_are():
    values, _, valid = sampler_of(IMAGE, Frame(30, 40)).sample(0, np.eye(3))
    assert valid.all()
    np.testing.assert_allclose(values[0].reshape(30, 40), IMAGE, atol=1e-12)


def test_points_behind_a_homography_are_missing():
    T = np.array([[1.0, 0, 15], [0, 1, 15], [-0.2, 0, 1]])
    _, _, valid = sampler_of(IMAGE, Frame(5, 12)).sample(0, T)
    assert not valid.reshape(5, 12)[:, 5:].any()


def test_no_valid_value_depends_on_a_masked_pixel_nearby():
    mask = np.ones(IMAGE.shape, bool)
    mask[14, 20] = False
    shifts = [shift(np.array([10 + dx, 8 + dy])) for dx, dy in RNG.random((20, 2))]
    wild = IMAGE.copy()
    wild[14, 20] = 1e6
    for T in shifts:
        one, _, valid = sampler_of(IMAGE, Frame(15, 20), mask).sample(0, T)
        two, _, _ = sampler_of(wild, Frame(15, 20), mask).sample(0, T)
        np.testing.assert_array_equal(one, two)
        points = map_points(T, Frame(15, 20).grid)
        reach = np.floor(points) - [20, 14]  # cell index minus the masked pixel
        touched = ((reach >= -2) & (reach <= 1)).all(axis=1)
        np.testing.assert_array_equal(valid, ~touched)


def test_nan_is_the_same_as_a_mask():
    mask = RNG.random(IMAGE.shape) > 0.02
    T = turned(0.1, (8, 8))
    by_mask = sampler_of(IMAGE, FRAME, mask).sample(0, T)
    by_nan = sampler_of(np.where(mask, IMAGE, np.nan)).sample(0, T)
    np.testing.assert_array_equal(by_mask[0], by_nan[0])
    np.testing.assert_array_equal(by_mask[2], by_nan[2])


def test_the_blur_leaves_a_constant_constant_up_to_edge_and_mask():
    mask = RNG.random((30, 40)) > 0.1
    coefficients, _ = prepare_source(np.full((30, 40), 0.7), mask, blur=1.5)
    np.testing.assert_allclose(coefficients, 0.7, atol=1e-12)


def test_a_coarse_frame_is_blurred_and_a_fine_one_is_not():
    checkers = np.indices((60, 60)).sum(axis=0) % 2.0
    coarse = np.diag([3.0, 3.0, 1.0])
    assert source_pixels_per_pixel(coarse, Frame(10, 10)) == pytest.approx(3)
    values, _, _ = sampler_of(checkers, Frame(15, 15), at=coarse).sample(
        0, coarse + shift(np.array([5, 5])) - np.eye(3)
    )
    assert np.ptp(values) < 0.05  # without the blur every third pixel is 0 or 1
    fine = np.diag([0.5, 0.5, 1.0])
    values, _, _ = sampler_of(checkers, Frame(15, 15), at=fine).sample(0, fine)
    assert np.ptp(values) > 0.9


def test_colour_is_sampled_channel_by_channel():
    colour = RNG.random((20, 20, 3))
    T = turned(0.2, (6, 5))
    values, gradient, _ = sampler_of(colour).sample(0, T, with_gradient=True)
    for c in range(3):
        alone, slope, _ = sampler_of(colour[:, :, c]).sample(0, T, with_gradient=True)
        np.testing.assert_array_equal(values[c], alone[0])
        np.testing.assert_array_equal(gradient[c], slope[0])


@pytest.mark.parametrize("masked", [False, True])
def test_smoothing_is_that_of_scipy_with_no_weight_outside(masked):
    mask = RNG.random(IMAGE.shape) < 0.8 if masked else np.ones(IMAGE.shape, bool)
    for sigma in (0.3, 1.7, 12.0):  # the last kernel is longer than the picture
        total, weight = (
            ndimage.gaussian_filter(a, sigma, mode="constant")
            for a in (np.where(mask, IMAGE, 0), mask.astype(float))
        )
        expected = total / np.maximum(weight, 1e-12)
        np.testing.assert_allclose(smooth(IMAGE, mask, sigma), expected, atol=1e-12)
        single = smooth(IMAGE.astype(np.float32), mask, sigma)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, expected, atol=1e-6)
