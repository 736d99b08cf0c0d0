"""The one guard around decoders: a sentence that names the file, whatever they raise."""

from pathlib import Path

import pytest

import rankfold as rf
from rankfold.io.guard import or_error, reading


class Odd(Exception):
    """Something that a library made up, which says nothing."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ArithmeticError("odd"), "odd"),
        (MemoryError(), "it asks for more memory than there is"),
        (RecursionError("too deep"), "too deep"),
        (SystemError("error return without exception set"), "error return"),
        (AssertionError(), "AssertionError"),
        (Odd(), "Odd"),
        (ValueError("two\n  lines"), "two lines"),
        (StopIteration(), "StopIteration"),
    ],
)
def test_everything_becomes_a_sentence(error, said):
    with (
        pytest.raises(rf.FormatError, match=rf"^a\.png cannot be read \(.*{said}.*\); replace it$"),
        reading("a.png", "read", "replace it"),
    ):
        raise error


def test_our_own_errors_and_interruptions_pass_through():
    with pytest.raises(rf.InputError, match="as it is"), reading("a.png", "read", "replace it"):
        raise rf.InputError("as it is")
    with pytest.raises(KeyboardInterrupt), reading("a.png", "read", "replace it"):
        raise KeyboardInterrupt


def test_a_file_that_is_gone_is_named():
    with (
        pytest.raises(rf.FormatError, match=r"a\.png does not exist; check the name"),
        reading("a.png", "read", "replace it"),
    ):
        Path("no such file.png").read_bytes()


def test_one_bad_picture_is_given_as_its_error():
    def bad(name):
        with reading(name, "read", "replace it"):
            raise MemoryError

    found = or_error(bad, "a.png")
    assert isinstance(found, rf.FormatError)
    assert or_error(str, 5) == "5"
