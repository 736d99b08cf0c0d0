"""Where large arrays are kept."""

import mmap
import resource
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold.scale import MEMORY, Disk, Serial, chunks, store_of, stores, streamed
from rankfold.scale.stores import WORTH_A_FILE


def mapped(array):
    return isinstance(stores._room_of(array), mmap.mmap)


pytestmark = pytest.mark.filterwarnings("ignore:decompose. stopped at the iteration limit")


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_])
def test_arrays_on_disk_are_ordinary_arrays_of_zeros(disk, dtype):
    array = disk.zeros((3, WORTH_A_FILE), dtype)
    assert mapped(array)
    assert array.dtype == dtype
    assert not array.any()
    array[1] = 1
    disk.done(array)
    disk.soon(array[1])
    assert array[1].all()
    assert not array[2].any()


def test_small_arrays_stay_in_memory(disk):
    assert not mapped(disk.zeros((10, 10), np.float64))
    assert not any(mapped(one) for one in disk.pieces([(10, 10), (5, 3)], np.float64))


def test_pieces_lie_in_one_file_and_do_not_overlap(disk):
    pieces = disk.pieces([(300, 700), (7, 11), (200, 900)], np.float64)
    assert len({id(stores._room_of(one)) for one in pieces}) == 1
    for k, one in enumerate(pieces):
        one[...] = k + 1
    disk.done(*pieces)
    for k, one in enumerate(pieces):
        assert (one == k + 1).all()


def test_the_first_pieces_stay_in_memory_as_far_as_there_is_room(tmp_path):
    shape = (300, 700)
    size = 300 * 700 * 8
    store = Disk(tmp_path, spare=2.5 * size)
    pieces = store.pieces([shape] * 4, np.float64)
    assert [mapped(one) for one in pieces] == [False, False, True, True]
    # What is no longer used makes room again.
    del pieces
    again = store.pieces([shape] * 2, np.float64)
    assert not any(mapped(one) for one in again)


def test_nothing_is_left_in_the_folder(disk, tmp_path):
    array = disk.zeros((WORTH_A_FILE,), np.float64)
    array[:] = 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_done_with_is_no_longer_memory_of_the_process(disk):
    def resident(array):
        """Bytes of the mapping that are in memory, as Linux tells it."""
        first = array.__array_interface__["data"][0]
        inside = False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if "-" in line.split()[0]:
                low = line.split()[0].split("-")[0]
                inside = int(low, 16) == first
            elif inside and line.startswith("Rss:"):
                return 1024 * int(line.split()[1])
        raise AssertionError("no such mapping")

    array = disk.zeros((32, 2**16), np.float64)
    array[:] = 1
    assert resident(array) >= array.nbytes
    disk.done(array[:16])
    assert resident(array) <= array.nbytes * 0.6
    assert sum(float(row.sum()) for row in streamed(array)) == array.size
    # The system maps a few pages around one that is asked for.
    assert resident(array) <= array.nbytes * 0.1


def test_a_full_disk_is_told_of_before_anything_is_written(disk, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, before[1]))
    try:
        with pytest.raises(rf.WriteError, match=r"has no room for 0\.02 GiB .* scratch="):
            disk.zeros((2**24,), np.bool_)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_told_of(tmp_path):
    with pytest.raises(rf.WriteError, match="No such file or directory"):
        Disk(tmp_path / "gone").zeros((WORTH_A_FILE,), np.float64)


@pytest.mark.parametrize("shape", [(1, 3), (1000, 3), (7, 2**20), (5, 40, 50)])
def test_chunks_cover_all_rows_in_order(shape):
    array = np.zeros(shape)
    covered = [k for rows in chunks(array) for k in range(rows.start, rows.stop)]
    assert covered == list(range(shape[0]))
    assert sum(1 for _ in streamed(array)) == shape[0]


def test_what_the_caller_has_mapped_is_left_alone(tmp_path):
    """A private mapping with changes would lose them."""
    np.save(tmp_path / "given.npy", np.random.default_rng(0).random((40, 3000)))
    given = np.load(tmp_path / "given.npy", mmap_mode="c")
    given += 1
    before = np.array(given)
    rf.decompose(given, executor=Serial(Disk(tmp_path)), max_iter=2, shared=0)
    list(streamed(given))
    np.testing.assert_array_equal(given, before)


def test_an_executor_of_ones_own_keeps_arrays_in_memory():
    class Own:
        def run(self, function, slabs, *shared):
            return [function(slab, *shared) for slab in slabs]

    assert store_of(Own()) is MEMORY
