import pytest

from rankfold import Frame, InputError


def test_a_frame_without_room_is_refused():
    with pytest.raises(InputError, match="frame 3x10 is too small"):
        Frame(3, 10)
