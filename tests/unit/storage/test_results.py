"""Results on disk: as they were written, or refused."""

import json
import os
import tokenize
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import rankfold as rf
from rankfold import storage
from rankfold.storage import results
from sealing import checksum_of, facts_of, reseal


@pytest.fixture
def saved(tmp_path):
    rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "run")
    return tmp_path / "run"


def test_a_newer_format_asks_for_an_upgrade(saved):
    reseal(saved, format_version=99)
    with pytest.raises(
        rf.FormatError, match=r"format version 99, this rankfold reads up to 3; upgrade rankfold"
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


class TestChecksum:
    def test_is_the_one_that_the_docs_describe(self, saved):
        facts = facts_of(saved)
        assert facts["checksum"] == checksum_of(saved, facts)

    def test_no_flipped_byte_of_the_arrays_gets_through(self, saved):
        whole = (saved / "arrays.npz").read_bytes()
        for position in range(0, len(whole), 11):
            bad = bytearray(whole)
            bad[position] ^= 0xFF
            (saved / "arrays.npz").write_bytes(bytes(bad))
            with pytest.raises(rf.FormatError, match="damaged or incomplete"):
                rf.load(saved)

    def test_no_flipped_byte_of_the_facts_changes_what_is_read(self, saved):
        """White space may change, and nothing else."""
        whole = (saved / "result.json").read_bytes()
        true = rf.load(saved)
        for position in range(len(whole)):
            bad = bytearray(whole)
            bad[position] ^= 0x01
            (saved / "result.json").write_bytes(bytes(bad))
            try:
                found = rf.load(saved)
            except rf.FormatError:
                continue
            assert facts_of(saved) == json.loads(whole)
            np.testing.assert_array_equal(found.low_rank, true.low_rank)

    def test_cannot_be_taken_away(self, saved):
        facts = facts_of(saved)
        del facts["checksum"]
        (saved / "result.json").write_text(json.dumps(facts))
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            rf.load(saved)

    def test_without_looking_at_it_large_arrays_are_not_read(self, saved):
        reseal(saved, objective=1.5)
        facts = {**facts_of(saved), "checksum": "0"}
        (saved / "result.json").write_text(json.dumps(facts))
        with pytest.raises(rf.FormatError, match="its checksum does not match"):
            rf.load(saved)
        assert rf.load(saved, verify=False).objective == 1.5


class TestWhileItIsReplaced:
    """The files of a folder are opened one after the other, and may be those of two results."""

    @pytest.mark.parametrize("moment", ["_verify", "_read_arrays"])
    def test_a_result_is_one_of_the_two(self, saved, tmp_path, monkeypatch, moment):
        """It had the words of one and the numbers of the other, or was called damaged."""
        old = rf.load(saved)
        other = replace(old, low_rank=old.low_rank + 1, objective=old.objective + 1)
        real = getattr(results, moment)
        times = []

        def replaced_first(*given):
            if not times:
                times.append(1)
                other.save(saved, overwrite=True)
            return real(*given)

        monkeypatch.setattr(results, moment, replaced_first)
        found = rf.load(saved)
        assert found.objective == other.objective
        np.testing.assert_array_equal(found.low_rank, other.low_rank)

    def test_one_that_never_stays_is_given_up(self, saved, monkeypatch):
        many = count()
        monkeypatch.setattr(results, "_identity", lambda _: next(many))
        with pytest.raises(rf.FormatError, match="is replaced again and again"):
            rf.load(saved)


class TestSchema:
    """What has the right checksum may still not be a result."""

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"method": 7}, "method is not of the right type"),
            ({"status": "FINE"}, "status is 'FINE', and not one of "),
            ({"objective": "large"}, "objective is not of the right type"),
            ({"objective": True}, "objective is not of the right type"),
            ({"gap": "none"}, "gap is not of the right type"),
        ],
    )
    def test_facts(self, saved, change, complaint):
        reseal(saved, **change)
        with pytest.raises(rf.FormatError, match=complaint):
            rf.load(saved)

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"objective": 10**400}, "objective is too large"),
            ({"format_version": True}, "format_version is True, and not a whole number"),
            ({"format_version": 2.5}, "format_version is 2.5, and not a whole number"),
            ({"format_version": 0}, "format_version is 0, and not a whole number"),
            ({"kind": ["Decomposition"]}, "kind is not of the right type"),
            ({"kind": {"a": 1}}, "kind is not of the right type"),
        ],
    )
    def test_facts_that_used_to_get_through_or_to_end_in_a_traceback(
        self, saved, change, complaint
    ):
        reseal(saved, **change)
        with pytest.raises(rf.FormatError, match=complaint):
            rf.load(saved)

    @pytest.mark.parametrize("names", [[1, 2, 3, 4, 5, 6, 7, 8], ["a", None], {"a": 1}, "abcdefgh"])
    def test_names_are_texts(self, aligned, tmp_path, names):
        aligned.save(tmp_path / "run")
        reseal(tmp_path / "run", names=names)
        with pytest.raises(rf.FormatError, match=r"names is not of the right type|names has the"):
            rf.load(tmp_path / "run")

    @pytest.mark.parametrize(
        ("name", "array", "complaint"),
        [
            ("trace.x", np.zeros(3), "not enough values to unpack"),
            ("trace.inner.objective", np.array(["x"]), r"trace\.inner\.objective is not of the"),
            ("trace.outer.transforms", np.zeros((2, 3)), r"trace\.outer\.transforms has the shape"),
            ("trace.inner.outer", None, "inner lacks outer"),
            ("occluders.region", np.zeros(3), r"occluders\.region is not of the right type"),
        ],
    )
    def test_what_is_told_of_the_way(self, aligned, tmp_path, name, array, complaint):
        """Trace and occluders were taken as they came, and the report ended in a traceback."""
        aligned.save(tmp_path / "run")
        with np.load(tmp_path / "run" / "arrays.npz") as stored:
            arrays = {**stored, name: array}
        arrays = {name: one for name, one in arrays.items() if one is not None}
        np.savez(tmp_path / "run" / "arrays.npz", **arrays)
        reseal(tmp_path / "run")
        with pytest.raises(rf.FormatError, match=complaint):
            rf.load(tmp_path / "run")

    @pytest.mark.parametrize(
        ("name", "array", "complaint"),
        [
            ("sparse", np.zeros((5, 20)), r"low_rank and sparse|sparse has the shape \(5, 20\)"),
            ("sparse", np.zeros((6, 19)), r"sparse has the shape \(6, 19\)"),
            ("sparse", np.zeros((6, 20), int), "sparse is not of the right type"),
            ("low_rank", np.array("x"), "low_rank is not of the right type"),
            ("singular_values", np.zeros((2, 2)), r"singular_values has the shape \(2, 2\)"),
        ],
    )
    def test_arrays(self, saved, name, array, complaint):
        with np.load(saved / "arrays.npz") as stored:
            arrays = {**stored, name: array}
        np.savez(saved / "arrays.npz", **arrays)
        reseal(saved)
        with pytest.raises(rf.FormatError, match=complaint):
            rf.load(saved)


@pytest.mark.parametrize("name", ["result.json", "arrays.npz"])
def test_a_pipe_is_no_part_of_a_result(saved, name):
    """Nobody ever writes into it, and it was read until somebody would."""
    (saved / name).unlink()
    os.mkfifo(saved / name)
    with pytest.raises(rf.FormatError, match="run is "):
        rf.load(saved)


def test_a_compression_that_nobody_knows_is_damage_too(saved):
    """zipfile answers it with NotImplementedError."""
    bad = bytearray((saved / "arrays.npz").read_bytes())
    entry = bad.find(b"PK\x01\x02")  # of the directory; its tenth byte is the method
    bad[entry + 10] = 99
    (saved / "arrays.npz").write_bytes(bytes(bad))
    reseal(saved)
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
    reseal(saved, kind="Sculpture")
    with pytest.raises(rf.FormatError, match="holds a 'Sculpture'"):
        rf.load(saved)
    reseal(saved, kind="Decomposition", format="other")
    with pytest.raises(rf.FormatError, match="not written by rankfold"):
        rf.load(saved)


def test_a_missing_part_is_named(saved):
    reseal(saved, method=None)
    with pytest.raises(rf.FormatError, match=r"lacks a part of its result \(method\)"):
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

    monkeypatch.setattr("rankfold.storage.results.write_arrays", full)
    with pytest.raises(rf.WriteError, match=r"no space is left to write .*run; make room"):
        rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


class TestLargeArrays:
    @pytest.fixture
    def large(self, tmp_path, monkeypatch):
        monkeypatch.setattr(results, "LARGE", 500)
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
        assert {"low_rank", "sparse"} <= set(facts_of(folder)["large"])

    def test_they_have_their_part_in_the_checksum(self, large):
        _, folder = large
        assert facts_of(folder)["checksum"] == checksum_of(folder, facts_of(folder))
        whole = bytearray((folder / "low_rank.npy").read_bytes())
        whole[-1] ^= 1
        (folder / "low_rank.npy").write_bytes(bytes(whole))
        with pytest.raises(rf.FormatError, match="its checksum does not match"):
            rf.load(folder)
        # Then it is only mapped.
        assert rf.load(folder, verify=False).low_rank.shape == (6, 4, 5, 3)

    def test_others_read_them_too(self, large):
        given, folder = large
        np.testing.assert_array_equal(np.load(folder / "low_rank.npy"), given.low_rank)
        dask_array = pytest.importorskip("dask.array")
        found = rf.load(folder).low_rank
        lazy = dask_array.from_array(found, chunks=(2, *found.shape[1:]))
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), given.low_rank)

    def test_without_any_there_are_two_files_and_the_mark(self, saved):
        assert "large" not in facts_of(saved)
        assert {file.name for file in saved.iterdir()} == {"result.json", "arrays.npz", ".rankfold"}

    def test_one_that_is_missing_or_cut_is_recognised(self, large):
        _, folder = large
        whole = (folder / "low_rank.npy").read_bytes()
        (folder / "low_rank.npy").write_bytes(whole[:-8])
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            rf.load(folder)
        (folder / "low_rank.npy").unlink()
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            rf.load(folder)
