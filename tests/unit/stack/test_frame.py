import numpy as np
import pytest

from rankfold import Frame, InputError


def test_a_frame_without_room_is_refused():
    with pytest.raises(InputError, match="frame 3x10 is too small"):
        Frame(3, 10)


@pytest.mark.parametrize("sides", [(2.5, 10), (10, "9"), (True, 10), (None, 10), (10**30, 10)])
def test_its_sides_are_whole_numbers(sides):
    with pytest.raises(InputError, match=r"the (height|width) of a frame="):
        Frame(*sides)


def test_its_sides_become_plain_numbers():
    frame = Frame(np.int64(10), np.uint8(12))
    assert frame == Frame(10, 12)
    assert type(frame.height) is type(frame.width) is int


def test_a_frame_that_no_memory_holds_is_refused():
    with pytest.raises(InputError, match="frame 1000000000x1000000 has more pixels than any"):
        Frame(10**9, 10**6)


@pytest.mark.parametrize("size", [45, (45,), (45, 42, 1), (45.5, 42), "ab", None, {45}])
def test_a_size_is_height_and_width(size):
    with pytest.raises(InputError, match=r"shape=.* is not a size; give \(height, width\)"):
        Frame.of(size, "shape")


@pytest.mark.parametrize("size", [(45, 42), [45, 42], np.array([45, 42]), Frame(45, 42)])
def test_a_size_becomes_a_frame(size):
    assert Frame.of(size) == Frame(45, 42)
