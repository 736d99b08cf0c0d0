"""Units: a power of two that brings values to about one, and the values that leave no room."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.stack import power_of_two
from rankfold.stack.scaling import check_unit

LARGEST = np.finfo(np.float64).max
PICTURES = np.random.default_rng(0).random((3, 12, 10))


@pytest.mark.parametrize(
    ("largest", "unit"),
    [
        (0.0, 1.0),
        (0.3, 1.0),
        (2.0**20, 1.0),
        (2.0**-20, 1.0),
        (3e6, 2.0**22),
        (1e-160, 2.0**-532),
        (1e160, 2.0**532),
        # The next power of two is infinite.
        (LARGEST, 2.0**1023),
        (5e-324, 2.0**-1074),
    ],
)
def test_the_unit_is_a_power_of_two_near_the_largest_value(largest, unit):
    assert power_of_two(np.array([0.0, -largest])) == unit
    assert power_of_two(np.array([np.nan, np.inf, largest])) == unit


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        (np.float64, [1e270, 1e-270], [1e280, 1e-280, LARGEST, 5e-324]),
        (np.float32, [1e32, 1e-32], [1e35, 1e-35]),
    ],
)
def test_values_whose_results_leave_the_range_are_refused(dtype, good, bad):
    for value in good:
        check_unit(power_of_two(np.array([value])), dtype, "the data")
    for value in bad:
        with pytest.raises(rf.InputError, match="the data have a largest value of about"):
            check_unit(power_of_two(np.array([value])), dtype, "the data")


@pytest.mark.parametrize(
    ("factor", "dtype", "remedy"),
    [
        (1e-290, np.float64, r"no room for results in float64; divide them by \de-2(89|90|91)$"),
        (1e290, np.float64, r"no room for results in float64; divide them by \de\+2(89|90|91)$"),
        (1e35, np.float32, r"divide them by \de\+3\d, or use dtype='float64'$"),
    ],
)
def test_the_sentence_says_what_to_divide_by(factor, dtype, remedy):
    pictures = factor * PICTURES
    for call in (rf.align, rf.decompose):
        with pytest.raises(rf.InputError, match=remedy):
            call(pictures, "rpca", dtype=dtype)


@pytest.mark.parametrize("factor", [1e-45, 1e-60])
def test_values_that_vanish_in_single_precision_are_not_taken_for_zeros(factor):
    with pytest.raises(rf.InputError, match="or use dtype='float64'"):
        rf.decompose(factor * PICTURES, dtype=np.float32)


def test_zeros_are_zeros_in_any_precision():
    zeros = rf.decompose(np.zeros((3, 8)), dtype=np.float32)
    assert not zeros.low_rank.any()
    assert not zeros.sparse.any()


@pytest.mark.filterwarnings("ignore::rankfold.ConvergenceWarning")
@pytest.mark.parametrize("weight", [1e-12, 1e12])
@pytest.mark.parametrize("factor", [1e270, 1e-270])
def test_the_objective_is_finite_at_the_ends_of_what_is_allowed(factor, weight):
    """It is a sum over all values times the weight, and was infinite at 1e300."""
    result = rf.decompose(factor * PICTURES, sparsity_weight=weight, max_iter=5)
    assert np.isfinite(result.objective)
    assert np.isfinite(result.singular_values).all()
    assert np.isfinite(result.low_rank).all()


def test_what_only_a_wider_type_holds_is_refused():
    wide = np.full((3, 12, 10), np.finfo(np.longdouble).max) * PICTURES
    for call in (rf.align, rf.decompose):
        with pytest.raises(rf.InputError, match=r"infinity|cannot hold|leaves no room"):
            call(wide, "rpca")
