from functools import reduce

import numpy as np
import pytest

from rankfold.admm.proximal import (
    GRAM_LIMIT,
    SINGLE_LIMIT,
    form_for,
    largest_singular_value,
    threshold_gram,
    threshold_triangles,
)
from rankfold.admm.slabs import reduction


def full_svd(X, t):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return (U * np.maximum(s - t, 0)) @ Vt, np.maximum(s - t, 0)[s > t]


def graded(condition, n=30, m=200, seed=0):
    """A matrix whose singular values fall from 1 to 1/condition."""
    rng = np.random.default_rng(seed)
    U, V = (
        np.linalg.qr(rng.standard_normal((n, n)))[0],
        np.linalg.qr(rng.standard_normal((m, n)))[0],
    )
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
    svt = threshold_gram(sum(in_slabs(X, "double")), t, expected=expected_rank)
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
    gram = threshold_gram(sum(in_slabs(X, "double")), t)
    precise = threshold_triangles(in_slabs(X, "triangle"), t)
    assert np.linalg.norm(operator(precise) @ X - expected) < 1e-14
    np.testing.assert_allclose(precise.singular_values, values, atol=1e-14)
    # the same with the Gram matrix: what is near the threshold is wrong in its first digit
    assert (
        np.abs(np.pad(gram.singular_values, (0, 30))[:30] - np.pad(values, (0, 30))[:30]).max()
        > 1e-10
    )


def test_single_precision_is_multiplied_as_it_is_where_that_is_good_enough():
    assert [form_for(t * SINGLE_LIMIT, 1.0) for t in (0.9, 1.1)] == ["double", "own"]
    X, t = graded(1e4), SINGLE_LIMIT
    _, values = full_svd(X, t)
    svt = threshold_gram(sum(in_slabs(X.astype(np.float32), "own")), t)
    np.testing.assert_allclose(svt.singular_values, values, atol=0.003 * t)


def test_a_rank_that_is_kept_cuts_the_smallest_values_off():
    X = graded(1e4)
    U, values, Vt = np.linalg.svd(X, full_matrices=False)
    for svt in (
        threshold_gram(sum(in_slabs(X, "double")), 1e-3, most=5),
        threshold_gram(sum(in_slabs(X, "double")), 1e-3, most=5, expected=1),
        threshold_triangles(in_slabs(X, "triangle"), 1e-3, most=5),
    ):
        np.testing.assert_allclose(
            operator(svt) @ X, (U[:, :5] * (values[:5] - 1e-3)) @ Vt[:5], atol=1e-11
        )
        np.testing.assert_allclose(svt.singular_values, values[:5] - 1e-3, atol=1e-11)


def test_the_product_has_thin_factors_where_the_rank_is_low():
    X = graded(1e6)
    gram = X @ X.T
    low, high = threshold_gram(gram, 0.05), threshold_gram(gram, 1e-5)
    assert [f.shape for f in low.factors(np.float64)] == [
        (30, len(low.singular_values)),
        (len(low.singular_values), 30),
    ]
    assert [f.shape for f in high.factors(np.float64)] == [(30, 30)]
    np.testing.assert_allclose(low.gram(), (operator(low) @ X) @ (operator(low) @ X).T, atol=1e-12)


def test_both_forms_work_along_the_other_axis():
    X = graded(
        1e3
    ).T  # 200 x 30: slabs are rows, the small matrix is 30 x 30, and M multiplies from the right
    expected, _ = full_svd(X, 0.01)
    for form, threshold in (
        ("double", lambda r, t: threshold_gram(sum(r), t)),
        ("triangle", threshold_triangles),
    ):
        svt = threshold([reduction(X[i : i + 64], True, form) for i in range(0, 200, 64)], 0.01)
        np.testing.assert_allclose(X @ operator(svt), expected, atol=1e-12)


def test_a_threshold_above_everything_gives_zero():
    X = graded(10)
    svt = threshold_gram(X @ X.T, 2.0)
    assert not operator(svt).any()
    assert len(svt.singular_values) == 0


def test_the_largest_singular_value():
    X = graded(10) * 7
    assert largest_singular_value(X @ X.T) == pytest.approx(7)
