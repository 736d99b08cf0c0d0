import numpy as np
import pytest

from rankfold import FAMILIES, InputError, Points
from rankfold.families import map_points


@pytest.mark.parametrize(
    ("canonical", "sources", "message"),
    [
        (np.zeros((2, 3)), np.zeros((4, 2, 3)), "each point as"),
        (np.zeros((2, 2)), np.zeros((4, 3, 2)), r"shapes \(2, 2\) in the frame and \(4, 3, 2\)"),
        (np.full((2, 2), np.nan), np.zeros((4, 2, 2)), "NaN or infinity"),
        (np.zeros((1, 2)), np.zeros((4, 1, 2)), "at least two"),
    ],
)
def test_points_of_the_wrong_shape_are_refused(canonical, sources, message):
    with pytest.raises(InputError, match=message):
        Points(canonical, sources)


@pytest.mark.parametrize(
    ("count", "family", "kind"),
    [
        (2, "homography", "similarity"),
        (3, "homography", "affine"),
        (4, "homography", "homography"),
        (7, "homography", "homography"),
        (4, "similarity", "similarity"),
        (3, "euclidean", "similarity"),
        (5, "affine", "affine"),
    ],
)
def test_points_give_the_richest_transform_that_they_and_the_family_allow(count, family, kind):
    rng = np.random.default_rng(count)
    canonical = rng.uniform(0, 30, (count, 2))
    square = np.array([[0.0, 0], [30, 0], [30, 30], [0, 30]])
    truth = np.stack(
        [FAMILIES[kind].fit(square, square + rng.normal(0, 3, (4, 2))) for _ in range(3)]
    )
    points = Points(canonical, map_points(truth, np.stack([canonical] * 3)))
    np.testing.assert_allclose(points.transforms(FAMILIES[family]), truth, atol=1e-6)
