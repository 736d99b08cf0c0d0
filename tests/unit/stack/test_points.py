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


SQUARE = np.array([[0.0, 0], [30, 0], [30, 30], [0, 30]])


@pytest.mark.parametrize(
    ("canonical", "sources", "message"),
    [
        ([[0, 0], [1]], [SQUARE], "the points of the frame is no array of numbers"),
        (SQUARE, [SQUARE, SQUARE[:2]], "the points of the pictures is no array of numbers"),
        (SQUARE.astype(str), [SQUARE], "the points of the frame have type <U"),
        (SQUARE, [SQUARE + 1j], "the points of the pictures have type complex128"),
        (SQUARE, np.zeros((0, 4, 2)), r"and \(0, 4, 2\) in the pictures"),
        (np.ma.masked_equal(SQUARE, 30), [SQUARE], "NaN or infinity"),
        (SQUARE, [np.ma.masked_equal(SQUARE, 30)], "NaN or infinity"),
        (np.full((4, 2), np.finfo(np.longdouble).max), [SQUARE], "NaN or infinity"),
        (0 * SQUARE, [SQUARE], "all points of a set are the same point"),
    ],
)
def test_what_are_no_points_gets_a_sentence(canonical, sources, message):
    with pytest.raises(InputError, match=message):
        Points(canonical, sources)


def test_points_that_fix_no_transform_are_refused():
    points = Points(1e300 * SQUARE, [SQUARE])
    with pytest.raises(InputError, match=r"the points fix no homography: .* too far away; correct"):
        points.transforms(FAMILIES["homography"])
