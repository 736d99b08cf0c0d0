"""Singular value thresholding through small matrices, against the full decomposition."""

from functools import reduce

import numpy as np
import pytest

from rankfold.admm.proximal import (
    GRAM_LIMIT,
    SINGLE_LIMIT,
    SURROGATES,
    Wanted,
    form_for,
    largest_singular_value,
    threshold_gram,
    threshold_triangles,
)
from rankfold.admm.slabs import _reduction as reduction


def full_svd(X, t):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return (U * np.maximum(s - t, 0)) @ Vt, np.maximum(s - t, 0)[s > t]


def graded(condition, n=30, m=200, seed=0):
    """A matrix whose singular values fall from 1 to 1/condition."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    V = np.linalg.qr(rng.standard_normal((m, n)))[0]
    return (U * np.logspace(0, -np.log10(condition), n)) @ V.T


def in_slabs(X, form):
    return [reduction(X[:, i : i + 64], False, form) for i in range(0, X.shape[1], 64)]


def operator(svt):
    return reduce(np.matmul, svt.factors(np.float64))


@pytest.mark.parametrize("expected_rank", [None, 1])
@pytest.mark.parametrize("t", [0.5, 1e-2, 1e-4, 2 * GRAM_LIMIT])
def test_the_gram_form_is_the_svd_to_nine_digits_where_it_is_used(t, expected_rank):
    assert form_for(t, 1.0) != "triangle"
    X = graded(1e8)
    svt = threshold_gram(sum(in_slabs(X, "double")), Wanted(t, expected=expected_rank))
    expected, values = full_svd(X, t)
    assert np.linalg.norm(operator(svt) @ X - expected) < 1e-9
    assert len(svt.singular_values) == len(values)
    np.testing.assert_allclose(svt.singular_values, values, atol=1e-9)
    np.testing.assert_allclose(svt.singular_values, values, atol=0.01 * t)
    assert svt.largest == pytest.approx(1, abs=1e-12)


def test_the_precise_form_keeps_the_digits_that_the_gram_form_loses():
    t = 1e-10
    assert form_for(t, 1.0) == "triangle"
    X = graded(1e9)
    expected, values = full_svd(X, t)
    gram = threshold_gram(sum(in_slabs(X, "double")), Wanted(t))
    precise = threshold_triangles(in_slabs(X, "triangle"), Wanted(t))
    assert np.linalg.norm(operator(precise) @ X - expected) < 1e-14
    np.testing.assert_allclose(precise.singular_values, values, atol=1e-14)
    # The same with the Gram matrix: what is near the threshold is wrong in its first digit.
    found = np.pad(gram.singular_values, (0, 30))[:30]
    assert np.abs(found - np.pad(values, (0, 30))[:30]).max() > 1e-10


def test_single_precision_is_multiplied_as_it_is_where_that_is_good_enough():
    assert [form_for(t * SINGLE_LIMIT, 1.0) for t in (0.9, 1.1)] == ["double", "own"]
    X = graded(1e4)
    t = SINGLE_LIMIT
    _, values = full_svd(X, t)
    svt = threshold_gram(sum(in_slabs(X.astype(np.float32), "own")), Wanted(t))
    np.testing.assert_allclose(svt.singular_values, values, atol=0.003 * t)


def test_the_product_has_thin_factors_where_the_rank_is_low():
    X = graded(1e6)
    gram = X @ X.T
    low = threshold_gram(gram, Wanted(0.05))
    high = threshold_gram(gram, Wanted(1e-5))
    assert [f.shape for f in low.factors(np.float64)] == [
        (30, len(low.singular_values)),
        (len(low.singular_values), 30),
    ]
    assert [f.shape for f in high.factors(np.float64)] == [(30, 30)]
    np.testing.assert_allclose(low.gram(), (operator(low) @ X) @ (operator(low) @ X).T, atol=1e-12)


def test_both_forms_work_along_the_other_axis():
    # 200 x 30: slabs are rows, the small matrix is 30 x 30, and M multiplies from the right.
    X = graded(1e3).T
    expected, _ = full_svd(X, 0.01)
    for form, threshold in (
        ("double", lambda r, wanted: threshold_gram(sum(r), wanted)),
        ("triangle", threshold_triangles),
    ):
        parts = [reduction(X[i : i + 64], True, form) for i in range(0, 200, 64)]
        svt = threshold(parts, Wanted(0.01))
        np.testing.assert_allclose(X @ operator(svt), expected, atol=1e-12)


def test_a_threshold_above_everything_gives_zero():
    X = graded(10)
    svt = threshold_gram(X @ X.T, Wanted(2.0))
    assert not operator(svt).any()
    assert len(svt.singular_values) == 0


def test_the_largest_singular_value():
    X = graded(10) * 7
    assert largest_singular_value(X @ X.T) == pytest.approx(7)


def test_the_reweighted_surrogate_is_hard_on_small_values_and_soft_on_large_ones():
    sigma = np.array([10.0, 1.0, 0.3, 0.05])
    thresholds = SURROGATES["reweighted"](sigma, 0.1)
    np.testing.assert_array_equal(SURROGATES["nuclear"](sigma, 0.1), 0.1)
    assert (np.diff(thresholds) >= 0).all()
    assert thresholds[0] < 0.1 < thresholds[-1] == 0.2
    # No value up to t is kept by either of them, so none has to be looked for.
    assert thresholds[-1] >= 0.1
    assert len(SURROGATES["reweighted"](np.zeros(0), 0.1)) == 0
