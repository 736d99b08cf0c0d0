"""Writers that are fed one picture at a time."""

import numpy as np
import pytest

from rankfold.errors import InputError
from rankfold.runs.feeding import WAITING, feeding, magnitude_if_unsigned


def into(kept):
    """A writer that keeps what it gets."""

    def write(pictures):
        for picture in pictures:
            kept.append(picture)

    return write


def test_each_writer_gets_its_pictures_in_order():
    one = []
    two = []
    with feeding([into(one), into(two)]) as feeds:
        for k in range(3 * WAITING):
            feeds.put([np.array(k), np.array(-k)])
    assert [int(k) for k in one] == list(range(3 * WAITING))
    assert [int(k) for k in two] == [-k for k in range(3 * WAITING)]


def test_a_writer_that_cannot_write_is_left_out():
    kept = []

    def refuse(pictures):
        next(pictures)
        raise InputError("no room for colours")

    with feeding([refuse, into(kept)]) as feeds:
        for k in range(4 * WAITING):
            feeds.put([np.array(k), np.array(k)])
    assert len(kept) == 4 * WAITING
    assert feeds.reasons == ["no room for colours"]


def test_other_errors_of_a_writer_are_raised():
    def full(pictures):
        next(pictures)
        raise OSError(28, "No space left on device")

    def fill(writer):
        with feeding([writer]) as feeds:
            for k in range(4 * WAITING):
                feeds.put([np.array(k)])

    with pytest.raises(OSError, match="No space left"):
        fill(full)


def test_writers_end_when_the_pass_does():
    ended = []

    def write(pictures):
        try:
            for _ in pictures:
                pass
        finally:
            ended.append(True)

    def interrupted():
        with feeding([write, write]) as feeds:
            feeds.put([np.zeros(2), np.zeros(2)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ended == [True, True]


def test_magnitudes_where_a_type_has_no_negative_values():
    error = np.array([-1.0, 2.0])
    assert magnitude_if_unsigned(error, np.float32) is error
    assert magnitude_if_unsigned(error, np.uint8).tolist() == [1, 2]
