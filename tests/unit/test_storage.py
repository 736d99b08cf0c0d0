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
        rf.FormatError, match=r"format version 99, this rankfold reads up to 1; upgrade rankfold"
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
