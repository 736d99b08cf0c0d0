"""Values of any range as bytes."""

import numpy as np

from rankfold.runs import as_bytes, display_range
from rankfold.runs.display import MAX_VALUES


def test_single_extreme_pixels_do_not_set_the_range():
    values = np.linspace(0, 1, 10_001)
    values[[0, -1]] = [-1e6, 1e6]
    low, high = display_range([values[:5000], values[5000:]])
    assert abs(low - 0.005) < 1e-3
    assert abs(high - 0.995) < 1e-3


def test_only_finite_values_count():
    assert display_range([np.array([np.nan, np.inf, 2.0, 2.0])]) == (2.0, 2.0 + 1e-12)
    assert display_range([np.full(3, np.nan)]) == (0.0, 1.0)


def test_much_is_thinned_out():
    values = np.random.default_rng(0).random(4 * MAX_VALUES)
    low, high = display_range([values])
    assert abs(low - 0.005) < 2e-3
    assert abs(high - 0.995) < 2e-3


def test_bytes_are_clipped_and_nan_is_black():
    shown = as_bytes(np.array([-5.0, 2.0, 3.0, 4.0, 9.0, np.nan]), 2.0, 4.0)
    assert shown.dtype == np.uint8
    assert shown.tolist() == [0, 0, 127, 255, 255, 0]
