"""Odd arguments of what is made at full size, and of the functions beside ``align``: a sentence."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import in_memory, open_pictures, write_picture
from rankfold.stack import Stack


@pytest.fixture(scope="module")
def made(aligned, heads):
    return aligned, list(heads.images)


@pytest.mark.parametrize(
    ("what", "words", "message"),
    [
        ("plate", {"light": []}, r"light=\[\] is not a whole number"),
        ("plate", {"area": []}, r"unknown area \[\]"),
        ("plate", {"scale": "x"}, "scale='x' is not a number"),
        ("plate", {"scale": np.nan}, "scale=nan must be positive"),
        ("restore", {"hidden": 3}, "hidden=3 is a int; pass a list of masks"),
        ("mask", {"sensitivity": "x"}, "sensitivity='x' is not a number"),
        ("mask", {"min_area": None}, "min_area=None is not a whole number"),
        ("mask", {"shadows": 3}, "unknown shadows 3"),
        ("mask", {"progress": 3}, "progress=3 cannot be called"),
        ("plate", {"settings": 3}, "settings=3 is a int; pass OutputSettings"),
        ("restore", {"n_jobs": "x"}, "n_jobs='x' is not a whole number"),
        ("restore", {"memory_limit": True}, "memory_limit=True is not a number"),
        ("mask", {"scratch": 7}, "scratch=7 is no path"),
    ],
)
def test_methods_of_a_result(made, what, words, message):
    result, images = made
    with pytest.raises(rf.InputError, match=message):
        getattr(result, what)(images, **words)


PICTURES = np.random.default_rng(0).random((6, 40, 40))


@pytest.mark.parametrize(
    ("function", "values", "words", "message"),
    [
        (rf.foreground, [PICTURES], {"camera": []}, r"unknown camera \[\]"),
        (rf.foreground, [PICTURES], {"settings": 3}, "settings=3 is a int"),
        (rf.foreground, [PICTURES], {"align_settings": 3}, "align_settings=3 is a int"),
        (rf.match, [PICTURES, []], {}, r"unknown family \[\]"),
        (rf.match, [PICTURES], {"settings": 3}, "settings=3 is a int"),
        (Stack.of, [PICTURES], {"names": 3}, "names=3 is a int; give a list of texts"),
        (Stack.of, [PICTURES], {"names": "abc"}, "names='abc' is a str; give a list of texts"),
        (Stack.of, [PICTURES], {"dtype": 3}, "dtype 3 is not supported; use float64 or float32"),
        (rf.load, [None], {}, "path=None is no path"),
        (open_pictures, [3], {}, "path=3 is no path"),
        (open_pictures, ["views"], {"stride": 2.5}, "stride=2.5 is not a whole number"),
        (rf.align_many, [3, "out"], {}, "batches=3 is a int; give a path"),
        (rf.align_many, [["views"], None], {}, "out=None is no path"),
        (rf.align_many, [["views"], "out"], {"workers": "2"}, "workers='2' is not a whole number"),
        (rf.align_many, [["views"], "out"], {"reading": 3}, "reading=3 is a int"),
        (rf.align_many, [["views"], "out"], {"reading": {"skip_bad": "no"}}, "skip_bad='no' is n"),
        (rf.align_many, [["views"], "out"], {"frame": 5}, "frame=5 is not a size"),
        (rf.align_many, [["views"], "out"], {"reduction": 2.5}, "reduction=2.5 is not a whole"),
        (rf.align_many, [["views"], "out"], {"overwrite": "no"}, "overwrite='no' is neither"),
        (rf.align_many, [["views"], "out"], {"skip_existing": 1}, "skip_existing=1 is neither"),
        (rf.align_many, [["views"], "out"], {"max_outer": "x"}, "max_outer='x' is not a whole"),
        (rf.align_many, [{"a": 1}, "out"], {}, "batches=1 is no path"),
        (rf.align_many, [{"a\0": "views"}, "out"], {}, "is no path"),
        (rf.align_many, [{"\ud800": "views"}, "out"], {}, "is no path"),
        (in_memory(PICTURES).some, ["x"], {}, "give one or more of them by number"),
        (in_memory(PICTURES).some, [3], {}, "give one or more of them by number"),
        (in_memory(PICTURES).some, [[0.5]], {}, "indices=0.5 is not a whole number"),
        (write_picture, ["a.xyz", PICTURES[0]], {}, "cannot tell a format from 'a.xyz'"),
    ],
)
def test_functions(function, values, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "views").mkdir()
    with pytest.raises(rf.InputError, match=message):
        function(*values, **words)


@pytest.mark.parametrize("value", [1.0, np.uint16(0), np.float32(7)])
def test_pictures_of_one_value_have_nothing_in_front(value):
    """It divided by zero."""
    frames = np.full((6, 40, 40), value)
    assert not rf.foreground(frames, camera="still").masks.any()
