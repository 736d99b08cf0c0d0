"""The robust fit of pictures to a basis."""

import numpy as np
import pytest

from rankfold.align.basis import (
    Basis,
    annealed_fit,
    leading_rows,
    misfit_of,
    ordinary_residual,
    pair_of,
    trust_in,
    unit_rows,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gross_errors_hardly_move_the_fit(rng):
    basis = np.linalg.qr(rng.standard_normal((80, 3)))[0].T
    clean = rng.standard_normal((1, 3)) @ basis
    dirty = clean.copy()
    dirty[0, :12] += 3
    everywhere = np.ones((1, 80), bool)
    residual = Basis.of(basis, 0.05).residual(dirty, everywhere, rounds=30, scale=0.05)
    assert np.abs(residual[0, 12:]).max() < 0.02


@pytest.mark.parametrize("k", [1, 3, 4, 7])
def test_the_weighted_fit_is_that_of_the_plain_normal_equations(rng, k):
    rows = rng.standard_normal((4, 60))
    weight = rng.random((k, 60))
    expected = [(rows * w) @ rows.T for w in weight]
    np.testing.assert_allclose(Basis.of(rows, 1.0).normal(weight), expected, atol=1e-8)


def test_pairs_of_rows_are_found_where_they_are(rng):
    rows = rng.standard_normal((5, 20))
    pairs = Basis.of(rows, 1.0).pairs
    for i in range(5):
        for j in range(5):
            np.testing.assert_array_equal(pairs[pair_of(5)[i, j]], rows[i] * rows[j])


def test_a_cost_is_the_mean_misfit_over_the_valid_pixels(rng):
    rows = rng.standard_normal((2, 40))
    fitted = rng.standard_normal((2, 40))
    valid = rng.random((2, 40)) < 0.8
    found = Basis.of(np.eye(40)[:1], 0.3).misfit(rows, fitted, valid)
    square = (rows - fitted) ** 2
    share = square / (square + 0.3**2)
    expected = [share[k][valid[k]].mean() for k in range(2)]
    np.testing.assert_allclose(found, expected)


def test_a_pixel_has_a_quarter_of_its_weight_at_an_ordinary_residual():
    residual = np.array([0.0, 0.5, -0.5, 100.0, 0.0])
    valid = np.array([True, True, True, True, False])
    np.testing.assert_allclose(trust_in(residual, valid, 0.5), [1, 0.25, 0.25, 0, 0], atol=1e-8)


def test_an_ordinary_residual_is_robust_unless_the_root_mean_square_is_larger():
    flat = np.full(100, 0.1)
    assert ordinary_residual(flat) == pytest.approx(2 * 1.4826 * 0.1)
    spiky = np.r_[flat, 50.0]
    assert ordinary_residual(spiky) == pytest.approx(np.sqrt((spiky**2).mean()))
    assert ordinary_residual(spiky, share=0.01) == pytest.approx(2 * 1.4826 * 0.1)


def test_leading_rows_span_the_rows_and_have_a_fixed_sign(rng):
    rows = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 30))
    basis = leading_rows(rows, 3)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rows @ basis.T @ basis, rows, atol=1e-10)
    assert (basis.sum(axis=1) >= 0).all()
    np.testing.assert_allclose(leading_rows(-rows, 3), basis, atol=1e-10)


class TestAnnealedFit:
    def test_a_sample_that_is_half_hidden_is_still_explained(self, rng):
        basis = np.linalg.qr(rng.standard_normal((200, 3)))[0].T
        truth = 5 * rng.standard_normal((4, 3))
        rows = truth @ basis
        rows[:, :60] += 2.0
        valid = np.ones(rows.shape, bool)
        valid[:, 150:] = False
        coefficients, fitted = annealed_fit(rows, basis, valid, scale=1e-3)
        np.testing.assert_allclose(coefficients, truth, atol=1e-2)
        np.testing.assert_allclose(fitted, coefficients @ basis, atol=1e-12)

    def test_the_other_samples_change_nothing(self, rng):
        basis = np.linalg.qr(rng.standard_normal((50, 2)))[0].T
        rows = rng.standard_normal((3, 50))
        valid = np.ones(rows.shape, bool)
        together, _ = annealed_fit(rows, basis, valid, 0.1)
        alone, _ = annealed_fit(rows[1:2], basis, valid[1:2], 0.1)
        np.testing.assert_array_equal(together[1:2], alone)

    def test_an_empty_sample_has_no_coefficients(self):
        coefficients, fitted = annealed_fit(
            np.zeros((1, 9)), np.eye(9)[:2], np.ones((1, 9), bool), 0.1
        )
        assert not coefficients.any()
        assert not fitted.any()


# Powers of two, so that not a bit may differ. Squares of both leave double precision.
@pytest.mark.parametrize("factor", [2.0**-700, 2.0**700])
class TestTheUnitDoesNotMatter:
    @pytest.fixture
    def given(self, rng):
        """Rows with gross errors and holes, a basis, and what is valid."""
        basis = np.linalg.qr(rng.standard_normal((90, 3)))[0].T
        rows = rng.standard_normal((4, 3)) @ basis
        rows[:, :20] += 3.0
        return rows, basis, rng.random(rows.shape) < 0.9

    def test_of_an_annealed_fit(self, given, factor):
        rows, basis, valid = given
        coefficients, fitted = annealed_fit(rows, basis, valid, 0.01)
        # Values near one are not scaled, so both fits go through the same numbers but for a factor.
        others, refitted = annealed_fit(factor * rows, basis, valid, factor * 0.01)
        np.testing.assert_allclose(others / factor, coefficients, rtol=1e-9)
        np.testing.assert_allclose(refitted / factor, fitted, rtol=1e-9, atol=1e-12)

    def test_of_a_misfit(self, given, factor):
        rows, basis, valid = given
        fitted = rows @ basis.T @ basis
        plain = misfit_of(rows, fitted, valid, 0.1)
        np.testing.assert_allclose(plain, Basis.of(basis, 0.1).misfit(rows, fitted, valid))
        found = misfit_of(factor * rows, factor * fitted, valid, factor * 0.1)
        np.testing.assert_allclose(found, plain, rtol=1e-9)

    def test_of_unit_rows(self, rng, factor):
        pictures = rng.standard_normal((3, 5, 6))
        rows, _ = unit_rows(pictures, pictures)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
        scaled, _ = unit_rows(factor * pictures, factor * pictures)
        np.testing.assert_allclose(scaled, rows, rtol=1e-12)


def test_rows_of_zeros_stay_so():
    rows, valid = unit_rows(np.zeros((2, 3, 4)), np.zeros((2, 3, 4)))
    assert not rows.any()
    assert valid.all()


def test_a_residual_of_rounding_alone_is_ordinary(rng):
    """After a fit to clean rows the scale is next to nothing, and the next fit must still end."""
    basis = np.linalg.qr(rng.standard_normal((50, 2)))[0].T
    truth = rng.standard_normal((1, 2))
    found, _ = annealed_fit(truth @ basis, basis, np.ones((1, 50), bool), 1e-300)
    np.testing.assert_allclose(found, truth, rtol=1e-9)
