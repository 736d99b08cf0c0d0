"""Reading into memory, errors of decoders, and values in the type of a file."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import open_pictures
from rankfold.io.source import as_type, reading
from unit.io.samples import noise, np_file

RNG = np.random.default_rng(0)


def test_read_one_at_a_time_equals_read_at_once(tmp_path):
    values = noise((4, 16, 20), np.uint16)
    source = open_pictures(np_file(tmp_path, values))
    one, all_ = source.stack(2), rf.Stack.of(values).reduced(2)
    for a, b in zip(one.sources, all_.sources, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.reduction == 2


def test_floats_of_any_size_get_one_unit(tmp_path):
    values = RNG.random((4, 16, 20)) * np.array([1.0e6, 1.1e6, 0.9e6, 1.2e6])[:, None, None]
    one, all_ = open_pictures(np_file(tmp_path, values)).stack(), rf.Stack.of(values)
    np.testing.assert_array_equal(one.units, all_.units)
    np.testing.assert_array_equal(one.sources[0], all_.sources[0])


def test_types_are_rounded_and_clipped():
    given = np.array([-3.0, 1.6, 300.0, np.nan])
    np.testing.assert_array_equal(as_type(given, np.uint8), [0, 2, 255, 0])
    np.testing.assert_array_equal(as_type(given, bool), [False, True, True, False])
    assert as_type(np.array([1e30]), np.int64)[0] > 2**62


def test_want_of_memory_is_not_taken_for_a_bad_file():
    with pytest.raises(MemoryError), reading("a.png", "read", "replace it"):
        raise MemoryError
    with pytest.raises(rf.InputError, match="as it is"), reading("a.png", "read", "replace it"):
        raise rf.InputError("as it is")
    with (
        pytest.raises(rf.FormatError, match=r"a\.png cannot be read \(odd\); replace it"),
        reading("a.png", "read", "replace it"),
    ):
        raise ArithmeticError("odd")
