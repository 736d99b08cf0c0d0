"""What a single argument may be, and the sentence that anything else gets."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rankfold import InputError
from rankfold.arguments import (
    array_of,
    at_least_zero,
    callable_one,
    is_real,
    number,
    numbers,
    path_of,
    shown,
    switch,
    whole,
    with_nan,
    word,
)


class Unprintable:
    """An object of a caller that has no text."""

    def __repr__(self):
        raise RuntimeError("no text")


class TestShown:
    def test_a_short_value_is_shown_as_python_writes_it(self):
        assert shown("a b") == "'a b'"

    @pytest.mark.parametrize("value", [np.arange(1000), "x" * 1000, list(range(1000))])
    def test_a_long_one_does_not_bury_the_sentence(self, value):
        text = shown(value)
        assert len(text) <= 60
        assert "\n" not in text
        assert text.endswith("...")

    def test_one_without_a_text_is_named_by_its_type(self):
        assert shown(Unprintable()) == "a Unprintable"
        # Python writes no whole number of so many digits.
        assert shown(10**5000) == "a int"


class TestWhole:
    @pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
    def test_whole_numbers_become_plain_ones(self, value):
        found = whole("n", value, 1)
        assert found == 3
        assert type(found) is int

    @pytest.mark.parametrize(
        "value", [2.5, 2.0, "2", None, True, np.bool_(True), np.array(2), [2], np.ma.masked]
    )
    def test_what_is_none_is_refused(self, value):
        with pytest.raises(InputError, match="is not a whole number; give one, as 2"):
            whole("n", value, 2)

    def test_limits(self):
        with pytest.raises(InputError, match="n=0 must be at least 1"):
            whole("n", 0, 1)
        with pytest.raises(InputError, match="is too large; give a number below"):
            whole("n", 10**30)
        assert whole("n", -7) == -7


class TestNumber:
    @pytest.mark.parametrize(
        "value", [2, 2.0, np.float32(2), np.int8(2), np.longdouble(2), Fraction(2)]
    )
    def test_real_numbers_become_floats(self, value):
        found = number("tol", value, "give one")
        assert found == 2.0
        assert type(found) is float

    # A Decimal is a number to people, but does not go together with floats.
    @pytest.mark.parametrize(
        "value", ["2", b"2", None, True, np.bool_(True), 2j, np.array(2.0), Decimal(2), [2.0]]
    )
    def test_what_is_none_is_refused_with_the_remedy(self, value):
        with pytest.raises(InputError, match="is not a number; give one"):
            number("tol", value, "give one")

    def test_a_whole_number_that_no_float_can_hold_is_infinite(self):
        assert number("tol", 10**400, "") == np.inf
        assert number("tol", -(10**400), "") == -np.inf

    @pytest.mark.parametrize("value", [-1, np.nan, np.inf])
    def test_zero_or_positive(self, value):
        assert at_least_zero("keep", 0) == 0
        with pytest.raises(InputError, match="must be zero or a positive number"):
            at_least_zero("keep", value)


def test_words_are_those_of_a_list():
    assert word("kind", "a", ["a", "b"]) == "a"
    for value in ("c", None, ["a"], b"a"):
        with pytest.raises(InputError, match=r"unknown kind .*; choose one of a, b"):
            word("kind", value, ["a", "b"])


def test_switches_are_true_or_false():
    assert switch("strict", np.bool_(True)) is True
    for value in (1, "True", None):
        with pytest.raises(InputError, match="is neither True nor False"):
            switch("strict", value)


def test_paths_are_text_or_path():
    assert path_of("scratch", Path("a/b")) == "a/b"
    for value in ("", b"a", 3, None, "a\0b"):
        with pytest.raises(InputError, match="is no path; give one as text, or a Path"):
            path_of("scratch", value)


def test_a_class_is_no_function():
    assert callable_one("observe", len, "") is len
    for value in (int, 3, None):
        with pytest.raises(InputError, match="cannot be called; pass one"):
            callable_one("observe", value, "pass one")


class TestArrays:
    def test_a_list_of_masked_rows_keeps_its_masks(self):
        rows = [np.ma.masked_array([1.0, 2.0], [False, True]), np.array([3.0, 4.0])]
        found = array_of(rows, "X")
        np.testing.assert_array_equal(np.ma.getmaskarray(found), [[False, True], [False, False]])

    @pytest.mark.parametrize(
        "value",
        [
            [[1, 2], [3]],
            [np.zeros((5, 5)), np.zeros((6, 6))],
            [np.ma.zeros(3), np.zeros(4)],
            [np.zeros((2, 2)), None],
        ],
    )
    def test_ragged_lists_are_refused(self, value):
        with pytest.raises(InputError, match="X is no array of numbers: its rows differ in length"):
            array_of(value, "X")

    def test_masked_values_become_nan(self):
        whole_numbers = np.ma.masked_array([1, 2], [False, True])
        np.testing.assert_array_equal(with_nan(whole_numbers), [1.0, np.nan])
        single = with_nan(np.ma.masked_array(np.ones(2, np.float32), [True, False]))
        assert single.dtype == np.float32
        assert not np.ma.isMaskedArray(single)

    def test_without_a_masked_value_the_type_stays(self):
        plain = with_nan(np.ma.masked_array([1, 2], False))
        assert plain.dtype == int
        assert not np.ma.isMaskedArray(plain)

    def test_dates_and_durations_are_no_numbers(self):
        assert is_real(np.uint8)
        assert is_real(bool)
        for dtype in ("datetime64[s]", "timedelta64[s]", complex, object, "U3"):
            assert not is_real(dtype)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.zeros((2, 4)), r"have shape \(2, 4\) and type float64; give numbers, as \(n, 3\)"),
            (np.zeros((0, 3)), r"have shape \(0, 3\)"),
            (np.zeros(3), r"have shape \(3,\)"),
            (np.zeros((2, 3), complex), "type complex128"),
            ([[1, np.nan, 2]], "contain NaN or infinity"),
            (np.ma.masked_array([[1, 2, 3]], [[0, 1, 0]]), "contain NaN or infinity"),
            (np.full((1, 3), np.finfo(np.longdouble).max), "contain NaN or infinity"),
        ],
    )
    def test_numbers_have_a_shape_and_are_finite(self, value, message):
        with pytest.raises(InputError, match=message):
            numbers("the points", value, "n 3")

    def test_numbers_become_floats(self):
        found = numbers("the points", [[1, 2, 3]], "n 3")
        assert found.dtype == np.float64
        assert found.tolist() == [[1.0, 2.0, 3.0]]
