"""How much memory a run may take, and where its arrays go."""

import sys

import numpy as np
import pytest

import rankfold as rf
from rankfold.scale import MEMORY, Disk, Needs, Serial, limits, store_for

NEEDS = Needs(memory=8e9, least=5e8, disk=12e9)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (1000, 1000),
        ("1000", 1000),
        ("2K", 2048),
        ("1.5M", 1.5 * 2**20),
        ("2G", 2**31),
        ("2GB", 2**31),
        ("2 GiB", 2**31),
        ("1t", 2**40),
    ],
)
def test_sizes_are_read(text, count):
    assert limits.bytes_of(text) == count


@pytest.mark.parametrize("text", ["", "G", "-1", "two", "2X", 0, "0G"])
def test_other_words_are_no_sizes(text):
    with pytest.raises(rf.InputError, match="is not a size; write bytes, or 500M or 2G"):
        limits.bytes_of(text)


def test_what_fits_stays_in_memory(tmp_path):
    assert store_for(NEEDS, "8G", tmp_path) is MEMORY
    found = store_for(NEEDS, "1G", tmp_path)
    assert isinstance(found, Disk)
    assert found.folder == tmp_path


def test_what_fits_nowhere_is_refused(tmp_path):
    with pytest.raises(rf.InputError, match=r"at least 0.47 GiB of memory, .* may take 0.25 GiB"):
        store_for(NEEDS, "256M", tmp_path)
    huge = Needs(memory=8e18, least=5e8, disk=12e18)
    with pytest.raises(rf.InputError, match=r"the scratch folder .* has .* left; make room there"):
        store_for(huge, "1G", tmp_path)
    with pytest.raises(rf.InputError, match="does not exist; make it, or name another"):
        store_for(NEEDS, "1G", tmp_path / "gone")


def test_without_a_limit_it_is_a_share_of_what_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: 8e9)
    assert limits.limit_of(None) == pytest.approx(0.6 * 8e9)
    assert isinstance(store_for(NEEDS, scratch=tmp_path), Disk)
    monkeypatch.setattr(limits, "free_memory", lambda: None)
    assert store_for(NEEDS, scratch=tmp_path) is MEMORY


class TestFreeMemory:
    def test_it_is_what_the_machine_or_the_container_has_left(self, tmp_path, monkeypatch):
        (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
        (tmp_path / "max").write_text("1500000\n")
        (tmp_path / "current").write_text("500000\n")
        monkeypatch.setattr(limits, "MACHINE", tmp_path / "meminfo")
        monkeypatch.setattr(limits, "CONTAINER_LIMIT", tmp_path / "none")
        assert limits.free_memory() == 2048 * 1024
        monkeypatch.setattr(limits, "CONTAINER_LIMIT", tmp_path / "max")
        monkeypatch.setattr(limits, "CONTAINER_USE", tmp_path / "current")
        assert limits.free_memory() == 1_000_000
        (tmp_path / "max").write_text("max\n")
        assert limits.free_memory() == 2048 * 1024

    def test_here_it_is_known_and_sensible(self):
        found = limits.free_memory()
        assert found is None or 1e6 < found < 1e15


def test_a_run_above_its_limit_has_its_pictures_in_mapped_files(tmp_path, monkeypatch):
    monkeypatch.setattr("rankfold.scale.stores.WORTH_A_FILE", 1)
    X = np.random.default_rng(0).random((12, 30, 40))
    # The name rankfold.align is the function, not the folder.
    module = sys.modules["rankfold.align.decomposition"]
    monkeypatch.setattr(module, "needs_of", lambda *_: NEEDS)
    plain = rf.decompose(X)
    limited = rf.decompose(X, memory_limit="1G", scratch=tmp_path)
    np.testing.assert_array_equal(plain.low_rank, limited.low_rank)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [{"memory_limit": "2G"}, {"scratch": "."}])
def test_an_executor_has_a_store_of_its_own(option):
    X = np.random.default_rng(0).random((12, 30, 40))
    for function in (rf.align, rf.decompose):
        with pytest.raises(rf.InputError, match="has no effect with an executor, which has its"):
            function(X, executor=Serial(), **option)
