"""Attempts that end badly on purpose, by which the crew that counts them is tested."""

import os
import sys
import time

# Unit: bytes.
MUCH = 2**29


def attempt(kind, seed, place):
    """Show one habit."""
    HABITS[kind.removeprefix(PREFIX)](place)
    return "fine"


def _raise(place):
    raise ValueError("a mistake")


def _crash(place):
    os.abort()


def _hang(place):
    time.sleep(3600)


def _print_traceback(place):
    os.write(2, b"Traceback (most recent call last):\n")


def _flood(place):
    sys.stdout.write("x" * 10_000)
    sys.stdout.flush()


_open_files = []


def _leave_open(place):
    _open_files.append((place / "open.txt").open("w"))


def _take_memory(place):
    taken = bytearray(MUCH)
    taken[::4096] = bytes(len(taken[::4096]))


def _behave(place):
    """Nothing at all."""


HABITS = {
    "good": _behave,
    "raises": _raise,
    "crashes": _crash,
    "hangs": _hang,
    "prints a traceback": _print_traceback,
    "floods": _flood,
    "leaves a file open": _leave_open,
    "takes memory": _take_memory,
}
PREFIX = "habit: "
KINDS = tuple(PREFIX + name for name in HABITS)
