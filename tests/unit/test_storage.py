import json
import tokenize

import numpy as np
import pytest

import rankfold as rf
from rankfold import storage


@pytest.fixture
def saved(tmp_path):
    rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "run")
    return tmp_path / "run"


def edit(folder, **changes):
    facts = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**facts, **changes}))


def test_a_newer_format_asks_for_an_upgrade(saved):
    edit(saved, format_version=99)
    with pytest.raises(
        rf.FormatError, match=r"format version 99, this rankfold reads up to 2; upgrade rankfold"
    ):
        rf.load(saved)


@pytest.mark.parametrize("name", ["arrays.npz", "result.json"])
def test_a_truncated_file_is_recognised(saved, name):
    whole = (saved / name).read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 5):
        (saved / name).write_bytes(whole[:length])
        with pytest.raises(
            rf.FormatError, match=r"run is damaged or incomplete \(.*\); restore it from a copy"
        ):
            rf.load(saved)


def test_no_flipped_byte_gets_through_as_another_error(saved):
    whole = (saved / "arrays.npz").read_bytes()
    noticed = 0
    for position in range(0, len(whole), 11):
        bad = bytearray(whole)
        bad[position] ^= 0xFF
        (saved / "arrays.npz").write_bytes(bytes(bad))
        try:
            rf.load(saved)
        except rf.FormatError:
            noticed += 1
    assert noticed > 0.5 * len(
        range(0, len(whole), 11)
    )  # the rest is in dates and flags that nobody reads


def test_a_compression_that_nobody_knows_is_damage_too(saved):
    """zipfile answers it with NotImplementedError."""
    bad = bytearray((saved / "arrays.npz").read_bytes())
    entry = bad.find(b"PK\x01\x02")  # of the directory; its tenth byte is the method
    bad[entry + 10] = 99
    (saved / "arrays.npz").write_bytes(bytes(bad))
    with pytest.raises(rf.FormatError, match="compression method is not supported"):
        rf.load(saved)


@pytest.mark.parametrize("error", [SyntaxError("never closed"), tokenize.TokenError("EOF")])
def test_a_broken_array_header_is_damage_too(saved, error, monkeypatch):
    def load(*_, **__):
        raise error

    monkeypatch.setattr("numpy.load", load)
    with pytest.raises(rf.FormatError, match="is damaged or incomplete"):
        rf.load(saved)


def test_what_is_no_result_is_refused(saved, tmp_path):
    with pytest.raises(rf.FormatError, match=r"it has no result\.json"):
        rf.load(tmp_path)
    edit(saved, kind="Sculpture")
    with pytest.raises(rf.FormatError, match="holds a 'Sculpture'"):
        rf.load(saved)
    edit(saved, kind="Decomposition", format="other")
    with pytest.raises(rf.FormatError, match="not written by rankfold"):
        rf.load(saved)


def test_a_missing_part_is_named(saved):
    facts = json.loads((saved / "result.json").read_text())
    del facts["method"]
    (saved / "result.json").write_text(json.dumps(facts))
    with pytest.raises(rf.FormatError, match="lacks a part of its result"):
        rf.load(saved)


def test_nothing_is_overwritten(saved):
    with pytest.raises(rf.InputError, match="run exists already; choose another name"):
        rf.load(saved).save(saved)


def test_objects_are_never_saved(tmp_path):
    with pytest.raises(rf.InputError, match="Python objects cannot be saved"):
        storage.fill(tmp_path, "Decomposition", {}, {"a": np.array([{}], dtype=object)})


def test_a_pickle_is_never_loaded(saved):
    np.savez(saved / "arrays.npz", low_rank=np.array([{"a": 1}], dtype=object))
    with pytest.raises(rf.FormatError, match="damaged"):
        rf.load(saved)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.np, "savez_compressed", full)
    with pytest.raises(rf.WriteError, match=r"no space is left to write .*run; make room"):
        rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


class TestLargeArrays:
    @pytest.fixture
    def large(self, tmp_path, monkeypatch):
        monkeypatch.setattr(storage, "LARGE", 500)
        given = rf.decompose(np.random.default_rng(0).random((6, 4, 5, 3)))
        given.save(tmp_path / "run")
        return given, tmp_path / "run"

    def test_they_have_files_of_their_own_and_are_mapped(self, large):
        given, folder = large
        found = rf.load(folder)
        assert isinstance(found.low_rank, np.memmap)
        assert not found.low_rank.flags.writeable
        np.testing.assert_array_equal(found.low_rank, given.low_rank)
        np.testing.assert_array_equal(found.sparse, given.sparse)
        assert json.loads((folder / "result.json").read_text())["format_version"] == 2

    def test_others_read_them_too(self, large):
        given, folder = large
        np.testing.assert_array_equal(np.load(folder / "low_rank.npy"), given.low_rank)
        dask_array = pytest.importorskip("dask.array")
        found = rf.load(folder).low_rank
        lazy = dask_array.from_array(found, chunks=(2, *found.shape[1:]))
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), given.low_rank)

    def test_without_any_the_folder_is_as_before(self, saved):
        assert json.loads((saved / "result.json").read_text())["format_version"] == 1
        assert {file.name for file in saved.iterdir()} == {"result.json", "arrays.npz"}

    def test_one_that_is_missing_or_cut_is_recognised(self, large):
        _, folder = large
        whole = (folder / "low_rank.npy").read_bytes()
        (folder / "low_rank.npy").write_bytes(whole[:-8])
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            rf.load(folder)
        (folder / "low_rank.npy").unlink()
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            rf.load(folder)


def half_written(path, error, overwrite=False):
    """Begin to write a file, and fail."""
    with storage.whole_file(path, overwrite) as draft:
        draft.write_text("half")
        raise error


class TestWholeFile:
    def test_it_appears_when_it_is_whole(self, tmp_path):
        target = tmp_path / "new" / "a.txt"
        with storage.whole_file(target) as draft:
            assert draft.suffix == ".txt"
            assert draft.parent == target.parent
            draft.write_text("all of it")
            assert not target.exists()
        assert target.read_text() == "all of it"
        assert list(target.parent.iterdir()) == [target]

    def test_it_has_the_permissions_of_other_files(self, tmp_path):
        (tmp_path / "other").touch()
        with storage.whole_file(tmp_path / "a.txt") as draft:
            draft.touch()
        assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "other").stat().st_mode

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("bad"), OSError(5, "I/O")])
    def test_what_is_interrupted_leaves_nothing(self, tmp_path, error):
        kind = error if isinstance(error, type) else type(error)
        with pytest.raises(kind):
            half_written(tmp_path / "a.txt", error)
        assert list(tmp_path.iterdir()) == []

    def test_no_space(self, tmp_path):
        full = OSError(28, "No space left on device")
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*a\.txt; make room"):
            half_written(tmp_path / "a.txt", full)
        assert list(tmp_path.iterdir()) == []

    def test_what_is_there_stays_unless_it_shall_be_replaced(self, tmp_path):
        target = tmp_path / "a.txt"
        target.write_text("old")
        with (
            pytest.raises(rf.InputError, match=r"a\.txt exists already; .* overwrite=True"),
            storage.whole_file(target),
        ):
            pass
        with pytest.raises(ValueError, match="bad"):
            half_written(target, ValueError("bad"), overwrite=True)
        assert target.read_text() == "old"
        with storage.whole_file(target, overwrite=True) as draft:
            draft.write_text("new")
        assert target.read_text() == "new"
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.parametrize("overwrite", [True, False])
    def test_a_folder_is_no_file(self, tmp_path, overwrite):
        with (
            pytest.raises(rf.InputError, match="is a folder; name a file"),
            storage.whole_file(tmp_path, overwrite),
        ):
            pass

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").touch()
        with (
            pytest.raises(
                rf.WriteError, match=r"cannot be written .* choose a folder that you may"
            ),
            storage.whole_file(tmp_path / "file" / "a.txt"),
        ):
            pass
