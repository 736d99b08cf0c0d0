"""Decoding in a process of its own: the same pictures, and a bad file costs that file."""

import gc
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bombs
import rankfold as rf
from memory import peak_of
from rankfold.io import isolated, open_pictures, read_metadata, write_picture, write_pictures
from rankfold.io.wire import packed, unpacked
from unit.io.samples import noise, np_file, smooth

LIMIT = 60.0  # seconds; only ends the wait for something that never comes

# A child whose decoder does to a picture what its name says.
BAD = """
import os, signal, sys, time
from rankfold.io import child
real = child.load_picture

def load(path):
    if "crash" in path:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "hang" in path:
        time.sleep(1000)
    if "hungry" in path:
        bytearray(2**34)
    if "leave" in path:
        os._exit(3)
    if "shout" in path:
        print("x" * 100_000)
    if "raise" in path:
        raise ArithmeticError("odd")
    return real(path)

child.load_picture = load
child.main()
"""
# A child that answers whatever it likes.
LIAR = """
import sys
sys.stdout.buffer.write({answer!r})
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
"""


def folder_of(place, *names):
    """Pictures with such names."""
    for k, name in enumerate(names):
        write_picture(place / f"{k}-{name}.png", noise((16, 20)).astype(float))
    return place


@pytest.fixture
def bad_decoder(monkeypatch):
    monkeypatch.setattr(isolated, "COMMAND", ("-c", BAD))


@pytest.mark.parametrize("format", ["pictures", "tiff", "video", "array", "zarr"])
def test_the_same_pictures(tmp_path, format):
    if format == "zarr":
        pytest.importorskip("zarr")
    values = smooth(6)
    given = open_pictures(np_file(tmp_path, values))
    path = write_pictures(tmp_path / "out", given.names, values.astype(float), given, format)
    here = open_pictures(path, isolate=False)
    there = open_pictures(path, isolate=True)
    for field in ("format", "names", "shapes", "dtypes", "rate", "left_out", "files"):
        assert getattr(there, field) == getattr(here, field), field
    for chosen in (range(6), [1, 2, 5], [0, 4]):
        ours = [one.values for one in here.some(list(chosen)).pictures()]
        theirs = [one.values for one in there.some(list(chosen)).pictures()]
        np.testing.assert_array_equal(theirs, ours)
    assert there.opened_with["isolate"] is True


def test_masks_and_metadata_come_through(tmp_path):
    values = noise((16, 20)).astype(float)
    values[3:6] = np.nan
    write_picture(tmp_path / "a.png", values)
    source = open_pictures(tmp_path, isolate=True)
    (picture,) = source.pictures()
    assert not picture.mask[3:6].any()
    assert picture.mask[:3].all()
    assert source.metadata(0) == read_metadata(tmp_path / "a.png")


def test_options_and_errors_are_the_same(tmp_path):
    np.savez(tmp_path / "a.npz", one=noise((2, 8, 8)), two=noise((3, 8, 8)))
    assert len(open_pictures(tmp_path / "a.npz", key="two", isolate=True)) == 3
    with pytest.raises(rf.InputError, match="has 2 arrays; choose one by its key: one, two"):
        open_pictures(tmp_path / "a.npz", isolate=True)
    (tmp_path / "a.npy").write_bytes(b"no")
    with pytest.raises(rf.FormatError, match=r"a\.npy cannot be read as an array"):
        open_pictures(tmp_path / "a.npy", isolate=True)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("crash", "its decoder crashed: SIGSEGV"),
        ("leave", "its decoder ended"),
        ("hungry", "MemoryError|more memory than there is"),
        ("raise", "odd"),
    ],
)
def test_a_bad_file_costs_that_file(tmp_path, bad_decoder, what, said):
    source = open_pictures(folder_of(tmp_path, "good", what, "good"), isolate=True)
    with pytest.raises(rf.FormatError, match=rf"1-{what}\.png cannot be read \(.*({said})"):
        list(source.pictures())
    left = source.without_bad()
    assert left.left_out == (f"1-{what}.png",)
    assert len(list(left.pictures())) == 2


def test_a_file_that_takes_too_long(tmp_path, bad_decoder, monkeypatch):
    patience = isolated.patience_for
    hangs = []

    def short(path):
        return 1.0 if path in hangs else patience(path)

    monkeypatch.setattr(isolated, "patience_for", short)
    source = open_pictures(folder_of(tmp_path, "hang", "good"), isolate=True)
    hangs.append(str(tmp_path / "0-hang.png"))
    with pytest.raises(rf.FormatError, match="it takes too long to decode"):
        list(source.pictures())
    assert source.without_bad().left_out == ("0-hang.png",)


def test_what_a_library_prints_is_no_answer(tmp_path, bad_decoder):
    source = open_pictures(folder_of(tmp_path, "shout"), isolate=True)
    assert len(list(source.pictures())) == 1


def test_a_file_of_several_pictures_that_crashes_is_opened_again(tmp_path, monkeypatch):
    """The second picture ends its process; the others are read by the next one."""
    script = (
        "import os, signal\n"
        "from rankfold.io import child\n"
        "read = child.Reader.read\n"
        "def bad(self, index):\n"
        "    if index == 1:\n"
        "        os.kill(os.getpid(), signal.SIGABRT)\n"
        "    return read(self, index)\n"
        "child.Reader.read = bad\n"
        "child.main()\n"
    )
    monkeypatch.setattr(isolated, "COMMAND", ("-c", script))
    values = noise((4, 8, 8))
    source = open_pictures(np_file(tmp_path, values), isolate=True)
    left = source.without_bad()
    assert left.left_out == ("in-0001",)
    found = [one.values for one in left.pictures()]
    np.testing.assert_array_equal(found, values[[0, 2, 3]])


@pytest.mark.parametrize(
    "answer",
    [
        b"hello",
        b"\xff" * 16,
        packed({"shape": [8, 8], "dtype": "|u1", "mask": False}, bytes(63)),
        packed({"shape": [8, 8], "dtype": "|O", "mask": False}, bytes(512)),
        packed({"shape": [2**40, 2**40], "dtype": "|u1", "mask": False}),
        packed({"shape": "ab", "dtype": "|u1", "mask": False}),
        packed({"error": "SystemExit", "said": "x"}),
        packed({}),
        b"\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\0[]",
    ],
)
def test_nothing_that_a_child_says_is_believed(tmp_path, monkeypatch, answer):
    monkeypatch.setattr(isolated, "COMMAND", ("-c", LIAR.format(answer=answer)))
    monkeypatch.setattr(isolated, "PATIENCE", 1.0)
    source_path = folder_of(tmp_path, "a")
    with pytest.raises(rf.FormatError, match=r"0-a\.png"):
        open_pictures(source_path, isolate=True)


def test_messages_come_back_as_they_were():
    message = packed({"names": ["a", "\udcff", "ü"]}, b"body")
    left = bytearray(message)

    def take(count):
        piece = bytes(left[:count])
        del left[:count]
        return piece

    assert unpacked(take) == ({"names": ["a", "\udcff", "ü"]}, 4)
    assert bytes(left) == b"body"


def children_of(pid):
    """The processes that a process has begun and not yet ended."""
    words = ["ps", "-o", "stat=,args=", "--ppid", str(pid)]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
    return [one for one in found if "rankfold.io.child" in one]


def test_no_process_outlives_an_error_that_it_reported(tmp_path):
    """It stayed until the collector came: the error knew the frame that knew the error."""
    (tmp_path / "a.npy").write_bytes(b"no")
    gc.disable()
    try:
        with pytest.raises(rf.FormatError):
            open_pictures(tmp_path / "a.npy", isolate=True)
        assert children_of(os.getpid()) == []
    finally:
        gc.enable()


def test_who_waits_for_a_process_of_another_thread_loses_no_time(tmp_path, monkeypatch):
    """The time began to run before the process was free."""
    path = str(folder_of(tmp_path, "a") / "0-a.png")
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(isolated, "time", SimpleNamespace(monotonic=lambda: clock.now))
    waits = threading.Event()

    def patience(_):
        waits.set()
        return LIMIT

    child = isolated.Child(patience)
    answers = []
    with child._lock:
        thread = threading.Thread(target=lambda: answers.append(child.ask(path, "header")))
        thread.start()
        assert waits.wait(LIMIT)
        clock.now += 2 * LIMIT
    thread.join()
    assert [one["shape"] for one in answers] == [[16, 20]]


def test_no_process_outlives_its_source(tmp_path):
    source = open_pictures(folder_of(tmp_path, "a", "b"), isolate=True)
    list(source.pictures())
    assert len(children_of(os.getpid())) == 1
    del source
    assert children_of(os.getpid()) == []


class TestWhoseFiles:
    def test_ones_own_are_read_here(self, tmp_path):
        assert not isolated.is_foreign(folder_of(tmp_path, "a"))

    def test_those_of_others_are_not(self, tmp_path, monkeypatch):
        folder_of(tmp_path, "a")
        monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
        assert isolated.is_foreign(tmp_path)
        assert isolated.is_foreign(tmp_path / "0-a.png")
        monkeypatch.setattr(isolated, "COMMAND", ("-c", "pass"))
        with pytest.raises(rf.FormatError, match="its decoder ended"):
            open_pictures(tmp_path)
        assert len(open_pictures(tmp_path, isolate=False)) == 1

    def test_those_that_a_pattern_names(self, tmp_path, monkeypatch):
        folder_of(tmp_path, "a")
        assert not isolated.is_foreign(f"{tmp_path}/*.png")
        monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
        assert isolated.is_foreign(f"{tmp_path}/*.png")
        assert not isolated.is_foreign(f"{tmp_path}/*.jpg")

    def test_what_a_link_of_our_own_leads_to(self, tmp_path, monkeypatch):
        own = os.geteuid()
        real = Path.stat

        def stat(path, *, follow_symlinks=True):
            found = real(path, follow_symlinks=follow_symlinks)
            if path.name != "link.png" or not follow_symlinks:
                return found
            return SimpleNamespace(st_mode=found.st_mode, st_uid=own + 1)

        folder_of(tmp_path, "a")
        link = tmp_path / "link.png"
        link.symlink_to(tmp_path / "0-a.png")
        assert not isolated.is_foreign(link)
        monkeypatch.setattr(Path, "stat", stat)
        assert isolated.is_foreign(link)

    def test_where_there_are_no_owners(self, tmp_path, monkeypatch):
        monkeypatch.delattr(os, "geteuid")
        assert not isolated.is_foreign(tmp_path)


def test_code_in_the_working_folder_is_not_run(tmp_path, monkeypatch):
    folder_of(tmp_path, "a")
    (tmp_path / "numpy.py").write_text("raise SystemExit('caught')")
    monkeypatch.chdir(tmp_path)
    assert len(list(open_pictures(".", isolate=True).pictures())) == 1


def test_a_bomb_does_not_reach_this_process(tmp_path):
    """A child of its own memory: the largest picture there may be, of one colour."""
    path = bombs.npz_of_zeros(tmp_path / "a.npz", 2**28)
    script = (
        "from rankfold.io import open_pictures\n---\n"
        "source = open_pictures(sys.argv[1], isolate=True)\nnext(source.pictures())\n"
    )
    assert peak_of(script, path) < 100 * 2**20
