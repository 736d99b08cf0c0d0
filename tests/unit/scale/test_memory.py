"""What was freed is given back to the system where that is possible, and nothing else happens."""

import ctypes
import sys

import pytest

from rankfold.scale import give_back, memory


class Library:
    """A C library, as ctypes loads it."""

    def __init__(self, calls):
        self.malloc_trim = calls.append


@pytest.fixture
def calls(monkeypatch):
    """What the C library is asked for on a Linux with the GNU one."""
    asked = []
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: Library(asked))
    return asked


def test_it_can_be_called_at_any_time_and_returns_nothing():
    assert give_back() is None
    assert give_back() is None


@pytest.mark.parametrize("platform", ["linux", "linux2"])
def test_on_linux_all_that_is_free_is_given_back(calls, monkeypatch, platform):
    monkeypatch.setattr(memory.sys, "platform", platform)
    give_back()
    assert [(type(room), room.value) for room in calls] == [(ctypes.c_size_t, 0)]


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
def test_elsewhere_no_library_is_asked(calls, monkeypatch, platform):
    monkeypatch.setattr(memory.sys, "platform", platform)
    give_back()
    assert calls == []


def test_a_library_without_the_function_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    assert give_back() is None


def test_a_python_that_cannot_load_libraries_goes_without(monkeypatch):
    """One that is linked statically, as it may be with musl."""

    def refused(_):
        raise OSError("Dynamic loading not supported")

    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", refused)
    assert give_back() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it does nothing")
def test_the_name_is_that_of_the_gnu_library():
    """A slip in it would go unnoticed, because a missing function is no error."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        pytest.skip("another C library")
    assert hasattr(library, "malloc_trim")
