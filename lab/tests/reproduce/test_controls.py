"""What a figure is held against, on cases that can be done by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankfold_lab.reproduce.controls import (
    dark_share,
    error_on,
    median_face,
    rank_one,
    second_to_first,
)

RNG = np.random.default_rng(0)
FACE = RNG.random((5, 6)) + 0.1


def result_of(aligned, low_rank=None, values=()):
    """As much of an alignment as the controls look at."""
    return SimpleNamespace(
        aligned=np.asarray(aligned),
        low_rank=None if low_rank is None else np.asarray(low_rank),
        singular_values=np.asarray(values),
    )


def rows_of_unit_norm(pictures):
    rows = pictures.reshape(len(pictures), -1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestMedian:
    def test_it_is_one_face_for_all_pictures(self):
        pictures = RNG.random((7, 5, 6))
        faces = median_face(result_of(pictures))
        expected = np.median(rows_of_unit_norm(pictures), axis=0).reshape(5, 6)
        np.testing.assert_allclose(faces, np.stack([expected] * 7), atol=1e-14)

    def test_a_bright_picture_counts_as_much_as_a_dark_one(self):
        brightness = np.array([0.1, 1.0, 100.0])[:, None, None]
        faces = median_face(result_of(brightness * FACE))
        np.testing.assert_allclose(faces[0], FACE / np.linalg.norm(FACE), atol=1e-14)

    def test_what_less_than_half_of_the_pictures_have_is_gone(self):
        pictures = np.stack([FACE] * 5)
        pictures[:2, :, :2] = 0
        faces = median_face(result_of(pictures))
        norms = np.linalg.norm(pictures, axis=(1, 2))
        # Where these are dark all three others agree; elsewhere the middle one of the five counts.
        np.testing.assert_allclose(faces[4, :, :2], FACE[:, :2] / norms[4], atol=1e-14)
        np.testing.assert_allclose(faces[4, :, 2:], FACE[:, 2:] / np.median(norms), atol=1e-14)

    def test_a_pixel_is_judged_by_those_who_show_it(self):
        pictures = np.stack([FACE] * 3)
        pictures[0, 0, 0] = np.nan
        shown = median_face(result_of(pictures))[:, 0, 0]
        np.testing.assert_allclose(shown, FACE[0, 0] / np.linalg.norm(FACE), atol=1e-14)


class TestRankOne:
    def test_it_is_the_first_term_of_the_decomposition(self):
        pictures = RNG.random((7, 5, 6))
        U, values, V = np.linalg.svd(rows_of_unit_norm(pictures))
        expected = values[0] * np.outer(U[:, 0], V[0])
        fit = rank_one(result_of(pictures))
        np.testing.assert_allclose(fit.reshape(7, -1), expected, atol=1e-12)
        # What it leaves is all that the other terms have.
        left = np.linalg.norm(rows_of_unit_norm(pictures) - fit.reshape(7, -1))
        assert left == pytest.approx(np.linalg.norm(values[1:]))

    def test_one_face_is_fitted_exactly(self):
        brightness = np.array([0.1, 1.0, 100.0])[:, None, None]
        fit = rank_one(result_of(brightness * FACE))
        np.testing.assert_allclose(fit, np.stack([FACE / np.linalg.norm(FACE)] * 3), atol=1e-12)

    def test_what_is_not_seen_counts_as_dark(self):
        pictures = RNG.random((4, 5, 6))
        dark = pictures.copy()
        pictures[1, 2, 3] = np.nan
        dark[1, 2, 3] = 0
        np.testing.assert_allclose(rank_one(result_of(pictures)), rank_one(result_of(dark)))


def test_the_second_singular_value_is_zero_for_one_face():
    assert second_to_first(result_of(FACE, values=[4.0, 1.0, 0.5])) == 0.25
    assert second_to_first(result_of(FACE, values=[4.0])) == 0


class TestError:
    def test_it_is_the_mean_of_relative_distances(self):
        aligned = np.stack([FACE, 2 * FACE, 5 * FACE])
        low_rank = aligned * np.array([1.1, 0.7, 9.0])[:, None, None]
        chosen = np.array([True, True, False])
        assert error_on(result_of(aligned, low_rank), chosen) == pytest.approx((0.1 + 0.3) / 2)
        assert error_on(result_of(aligned, aligned), ~chosen) == 0

    def test_only_what_is_seen_counts(self):
        aligned = np.array([[[3.0, np.nan], [0.0, 4.0]]])
        low_rank = np.array([[[3.0, 77.0], [2.0, 4.0]]])
        everyone = np.ones(1, dtype=bool)
        assert error_on(result_of(aligned, low_rank), everyone) == pytest.approx(2 / 5)


class TestDark:
    def test_a_tenth_of_the_brightest_is_the_border(self):
        ramp = np.linspace(0, 1, 1001)
        # The 99th percentile is 0.99: from 0 to 0.098 there are 99 values.
        assert dark_share(ramp.reshape(1, 7, 143)) == pytest.approx(99 / 1001)

    def test_it_is_the_mean_over_the_pictures_whatever_their_brightness(self):
        half = np.ones((4, 5))
        half[:2] = 0.01
        pictures = np.stack([np.ones((4, 5)), half, 255 * half])
        assert dark_share(pictures) == pytest.approx((0 + 0.5 + 0.5) / 3)

    def test_what_is_not_seen_does_not_count(self):
        picture = np.ones((4, 5))
        picture[0] = 0.01
        picture[1] = np.nan
        assert dark_share(picture[None]) == pytest.approx(5 / 15)
