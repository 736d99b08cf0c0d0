"""The robust fit of pictures to a basis."""

import numpy as np
import pytest

from rankfold.align.basis import (
    Basis,
    annealed_fit,
    leading_rows,
    ordinary_residual,
    pair_of,
    trust_in,
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
