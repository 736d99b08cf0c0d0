"""Lazy arrays give what plain ones would, and say what is missing."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import rendered_heads
from rankfold.errors import FormatError, InputError
from rankfold.io import write_picture
from rankfold.lazy import LazyPictures
from rankfold.storage import read

PARTS = ("aligned", "low_rank", "sparse", "valid")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty-four rendered heads on disk."""
    place = tmp_path_factory.mktemp("heads")
    heads = rendered_heads(n=24, seed=0)
    for k, image in enumerate(heads.images):
        write_picture(place / f"head{k:02d}.png", 255 * image)
    return place


@pytest.fixture(scope="module")
def result(folder):
    return rf.align(folder, method="rasl", frame=(45, 42), sample=12)


@pytest.fixture(scope="module")
def plain(result):
    return {part: np.asarray(getattr(result, part)) for part in PARTS}


def test_what_it_is(result):
    assert isinstance(result.aligned, LazyPictures)
    assert result.aligned.shape == result.low_rank.shape == (24, 45, 42)
    assert (result.aligned.ndim, len(result.aligned)) == (3, 24)
    assert result.aligned.dtype == np.float64
    assert result.valid.dtype == bool
    assert result.aligned.nbytes == 8 * result.aligned.size
    assert "aligned, 24 x 45 x 42" in repr(result.aligned)


def test_the_parts_add_up(plain):
    valid = plain["valid"]
    np.testing.assert_array_equal(np.isfinite(plain["aligned"]), valid)
    total = plain["low_rank"] + plain["sparse"]
    np.testing.assert_allclose(total[valid], plain["aligned"][valid], atol=1e-9)
    assert not plain["sparse"][~valid].any()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "key",
    [
        3,
        -1,
        slice(2, 9, 3),
        slice(None, None, -7),
        (slice(4, 6), slice(3, 9), 5),
        (7, slice(1, 3)),
        [5, 1, 5],
        np.arange(24) % 9 == 0,
        slice(0, 0),
        (Ellipsis, 0),
    ],
    ids=str,
)
def test_slices_are_those_of_the_plain_array(result, plain, part, key):
    lazy = getattr(result, part)
    np.testing.assert_array_equal(lazy[key], plain[part][key])


def test_iterating_gives_every_picture_once(result, plain):
    for lazy, picture in zip(result.aligned, plain["aligned"], strict=True):
        np.testing.assert_array_equal(lazy, picture)


def test_a_copy_cannot_be_avoided_nor_an_axis_added(result):
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        # Before, this asked for a copy only if there has to be one.
        with pytest.raises(ValueError, match="always a copy"):
            np.array(result.aligned, copy=False)
    with pytest.raises(InputError, match=r"numpy\.asarray"):
        result.aligned[None]
    with pytest.raises(IndexError):
        result.aligned[24]


def test_dask_reads_it(result, plain):
    dask_array = pytest.importorskip("dask.array")
    array = dask_array.from_array(result.low_rank, chunks=(5, 45, 42))
    np.testing.assert_array_equal(array[3:17].compute(), plain["low_rank"][3:17])


def test_saved_without_the_pictures_and_loaded_with_them(result, plain, tmp_path):
    result.save(tmp_path / "run")
    _, _, arrays = read(tmp_path / "run")
    assert not set(PARTS) & set(arrays)
    again = rf.load(tmp_path / "run")
    for part in PARTS:
        np.testing.assert_array_equal(getattr(again, part), plain[part])
    assert again.options["sample"] == 12


def test_originals_that_are_gone(result, folder, tmp_path, plain):
    result.save(tmp_path / "run")
    kept = (folder / "head05.png").read_bytes()
    try:
        (folder / "head05.png").unlink()
        again = rf.load(tmp_path / "run")
        np.testing.assert_array_equal(again.low_rank[5], plain["low_rank"][5])
        np.testing.assert_array_equal(again.aligned[4], plain["aligned"][4])
        with pytest.raises(FormatError, match=r"head05\.png is no longer in .*low_rank"):
            again.aligned[5]
        # Another picture of the same name is not the one that was aligned.
        write_picture(folder / "head05.png", np.zeros((30, 30)))
        with pytest.raises(FormatError, match=r"head05\.png is no longer"):
            rf.load(tmp_path / "run").sparse[5]
    finally:
        (folder / "head05.png").write_bytes(kept)


def test_a_folder_that_is_gone(result, tmp_path):
    result.save(tmp_path / "run")
    again = rf.load(tmp_path / "run")
    originals = replace(again.aligned.explained.originals, path=str(tmp_path / "nowhere"))
    lazy = LazyPictures(replace(again.aligned.explained, originals=originals), "aligned")
    with pytest.raises(FormatError, match=r"cannot be read again .*nowhere does not exist"):
        lazy[0]


def test_a_damaged_result_is_refused(result, tmp_path):
    result.save(tmp_path / "run")
    facts = (tmp_path / "run" / "result.json").read_text()
    (tmp_path / "run" / "result.json").write_text(facts.replace('"reduction"', '"reductio"'))
    with pytest.raises(FormatError, match="its checksum does not match"):
        rf.load(tmp_path / "run")
