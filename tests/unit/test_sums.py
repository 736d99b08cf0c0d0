import math

import numpy as np
import pytest

from rankfold.sums import (
    combine,
    dot,
    dot_piece,
    dots,
    sum_absolute,
    sum_dual,
    sum_primal,
    sum_weighted,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-14), (np.float32, 3e-6)])
class TestSums:
    def rows(self, count, size, dtype):
        return RNG.standard_normal((count, size)).astype(dtype)

    @pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 20000])
    def test_a_long_dot_product_is_summed_in_double_precision(self, dtype, accuracy, size):
        u, v = self.rows(2, size, dtype)
        products = u.astype(float) * v
        assert abs(dot(u, v) - math.fsum(products)) <= accuracy * np.abs(products).sum()

    def test_sums_of_a_piece(self, dtype, accuracy):
        v, a, e, y = self.rows(4, 500, dtype)
        wide = [row.astype(float) for row in (v, a, e, y)]
        V, A, E, Y = wide
        expected = {
            dot_piece(v, a): V @ A,
            sum_absolute(v): np.abs(V).sum(),
            sum_weighted(v, np.abs(a)): (np.abs(V) * np.abs(A)).sum(),
            sum_primal(v, a, e): ((V - A - E) ** 2).sum(),
            sum_dual(y, v, a, dtype(0.5)): ((Y - 0.5 * (V - A)) ** 2).sum(),
        }
        np.testing.assert_allclose(list(expected), list(expected.values()), rtol=20 * accuracy)

    @pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 9])
    def test_a_combination_of_rows(self, dtype, accuracy, count):
        rows, weights = self.rows(9, 90, dtype), RNG.standard_normal(count)
        out = np.empty(60, dtype)
        chosen = RNG.permutation(9)[:count]
        combine(weights, rows, chosen, 20, out)
        np.testing.assert_allclose(
            out, weights @ rows[chosen, 20:80].astype(float), atol=20 * accuracy
        )

    @pytest.mark.parametrize("count", [0, 1, 4, 6, 9])
    def test_dot_products_with_the_same_row(self, dtype, accuracy, count):
        rows, y, out = self.rows(9, 90, dtype), self.rows(1, 60, dtype)[0], np.ones(count)
        chosen = RNG.permutation(9)[:count]
        dots(rows, chosen, 20, y, out)
        np.testing.assert_allclose(
            out - 1, rows[chosen, 20:80].astype(float) @ y.astype(float), atol=60 * accuracy
        )
