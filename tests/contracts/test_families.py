"""Every row of FAMILIES keeps the contract of Family."""

import numpy as np
import pytest

from rankfold import InputError
from rankfold.families import FAMILIES, get_family, inverse, map_points, mean, point_jacobian, shift

CORNERS = np.array([[0.0, 0], [40, 0], [40, 30], [0, 30]])


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request):
    return request.param


def member(family, rng, size=3.0):
    """A random transform of the family that moves corners by a few pixels."""
    return family.fit(CORNERS, CORNERS + rng.normal(0, size, CORNERS.shape))


def test_parameters_and_matrix_are_inverse(family):
    rng = np.random.default_rng(0)
    matrices = np.stack([member(family, rng) for _ in range(20)])
    parameters = family.parameters(matrices)
    assert parameters.shape == (20, family.size)
    np.testing.assert_allclose(family.matrix(parameters), matrices, atol=1e-12)


def test_identity_parameters_give_the_identity(family):
    np.testing.assert_array_equal(family.matrix(family.identity), np.eye(3))


def test_coordinate_jacobian_agrees_with_central_differences(family):
    rng = np.random.default_rng(1)
    points = rng.uniform(-30, 30, (7, 2))
    for _ in range(20):
        parameters = family.parameters(member(family, rng))
        jacobian = family.jacobian(parameters, points)
        assert jacobian.shape == (7, 2, family.size)
        for k in range(family.size):
            step = np.zeros(family.size)
            step[k] = 1e-6 * max(1.0, abs(parameters[k]))
            ahead, behind = (
                map_points(family.matrix(parameters + s), points) for s in (step, -step)
            )
            # A parameter of size 1e-3 (perspective) is differenced over 1e-6: third order terms
            # reach 1e-6 relative.
            np.testing.assert_allclose(
                jacobian[:, :, k], (ahead - behind) / (2 * step[k]), rtol=1e-4, atol=1e-5
            )


def test_products_and_inverses_stay_in_the_family(family):
    rng = np.random.default_rng(2)
    a, b = member(family, rng), member(family, rng)
    assert family.contains(a @ b)
    assert family.contains(inverse(a))
    np.testing.assert_allclose(inverse(a) @ a / (inverse(a) @ a)[2, 2], np.eye(3), atol=1e-10)


def test_fit_recovers_a_member_from_its_fewest_points(family):
    rng = np.random.default_rng(3)
    truth = member(family, rng)
    points = rng.uniform(0, 40, (family.min_points, 2))
    fitted = family.fit(points, map_points(truth, points))
    np.testing.assert_allclose(map_points(fitted, points), map_points(truth, points), atol=1e-8)


def test_fit_to_many_noisy_points_is_better_than_every_neighbour(family):
    rng = np.random.default_rng(4)
    points = rng.uniform(0, 40, (12, 2))
    target = map_points(member(family, rng), points)
    target = target + rng.normal(0, 0.5, points.shape)
    fitted = family.parameters(family.fit(points, target))

    def error(parameters):
        return ((map_points(family.matrix(parameters), points) - target) ** 2).sum()

    for k in range(family.size):
        for sign in (-1, 1):
            moved = fitted.copy()
            moved[k] += sign * 1e-4
            assert error(moved) > error(fitted)


def test_mean_of_equal_transforms_is_that_transform(family):
    T = member(family, np.random.default_rng(5))
    np.testing.assert_allclose(
        mean(np.stack([T] * 5), family, np.array([20.0, 15.0])), T, atol=1e-9
    )


def test_mean_ignores_one_outlier(family):
    T = member(family, np.random.default_rng(6))
    outlier = T @ shift(np.array([500.0, 0]))
    result = mean(np.stack([T, T, outlier, T, T]), family, np.array([20.0, 15.0]))
    np.testing.assert_allclose(result, T, atol=1e-9)


def test_contains_tells_families_apart():
    tilted = np.array([[1.0, 0, 0], [0, 1, 0], [1e-3, 0, 1]])
    stretched = np.diag([2.0, 1, 1])
    assert [name for name, f in FAMILIES.items() if f.contains(tilted)] == ["homography"]
    assert [name for name, f in FAMILIES.items() if f.contains(stretched)] == [
        "affine",
        "homography",
    ]


def test_point_jacobian_agrees_with_central_differences():
    T = member(FAMILIES["homography"], np.random.default_rng(7))
    points = np.random.default_rng(8).uniform(0, 40, (9, 2))
    for axis in range(2):
        step = 1e-5 * np.eye(2)[axis]
        difference = (map_points(T, points + step) - map_points(T, points - step)) / 2e-5
        np.testing.assert_allclose(point_jacobian(T, points)[:, :, axis], difference, atol=1e-8)


def test_a_reflection_is_never_fitted():
    points = np.array([[0.0, 0], [1, 0], [0, 1]])
    flipped = points * [-1, 1]
    for name in ("euclidean", "similarity"):
        assert np.linalg.det(FAMILIES[name].fit(points, flipped)) > 0


def test_an_unknown_family_is_refused_with_the_names():
    names = ", ".join(FAMILIES)
    with pytest.raises(InputError, match=f"unknown family 'projective'; choose one of {names}"):
        get_family("projective")
