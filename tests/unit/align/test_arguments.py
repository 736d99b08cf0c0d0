"""The table of what each keyword may be: complete, and right about good and bad values."""

import inspect

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.arguments import ARGUMENTS, check_arguments
from rankfold.manifold import Regression
from rankfold.scale import Serial

PICTURES = np.random.default_rng(0).random((4, 20, 20))


class Unprintable:
    """An object of a caller that has no text."""

    def __repr__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("function", [rf.align, rf.decompose, rf.RASL, rf.RobustPCA])
def test_every_keyword_has_a_row(function):
    """A keyword without one would be looked at by nobody."""
    keywords = set(inspect.signature(function).parameters)
    assert keywords - {"images", "X"} <= set(ARGUMENTS)


@pytest.mark.parametrize("function", [rf.align, rf.decompose])
def test_every_default_is_taken(function):
    known = inspect.signature(function).parameters.values()
    check_arguments({one.name: one.default for one in known if one.name not in ("images", "X")})


GOOD = [
    ("method", rf.METHODS["rasl"]),
    ("frame", (45, 42)),
    ("frame", np.array([45, 42])),
    ("frame", rf.Frame(45, 42)),
    ("init", np.eye(3)),
    ("masks", np.ones((4, 20, 20))),
    ("masks", [np.ones((20, 20))] * 4),
    ("sparsity_weight", np.float32(0.7)),
    ("sparsity_weight", 1),
    ("projector", None),
    ("projector", Regression()),
    ("projector", np.copy),
    ("n_neighbors", np.int64(3)),
    ("rescue", np.bool_(True)),
    ("shared", 0),
    ("coarse", "auto"),
    ("frame_of", "a.png"),
    ("frame_of", -1),
    ("gauge", np.int64(2)),
    ("outer_tol", 0),
    ("n_jobs", -1),
    ("executor", Serial()),
    ("memory_limit", 2**30),
    ("memory_limit", "500M"),
    ("dtype", "f4"),
    ("sample", 20),
    ("sample", np.float64(20)),
]

NO_NUMBER = ["x", None, 1j, True, [1.0], np.array([0.5])]

BAD = [
    *(("method", value, "unknown method") for value in ("x", None, 3, ["rasl"])),
    *(("family", value, "unknown family") for value in ("x", None, b"affine", {})),
    *(("frame", value, "is not a size") for value in (45, (45,), (45.5, 40), "ab", {1: 2})),
    ("frame", (10**9, 10**9), "has more pixels than any memory"),
    ("frame", (3, 40), "is too small"),
    ("init", "middle", "unknown init 'middle'"),
    ("init", [["a"]], "init has type <U1"),
    ("init", [[1, 2], [3]], "init is no array of numbers"),
    ("init", None, "init has type object"),
    *(("masks", value, "masks is a") for value in (3, "x", {1: 2}, np.array(1), iter([]))),
    *(("sparsity_weight", value, "is not a number") for value in NO_NUMBER),
    *(("sparsity_weight", value, "positive number") for value in (0, -1, np.nan, np.inf)),
    *(("sparsity_weight", value, "must lie between 1e-12 and 1e") for value in (1e-13, 1e13)),
    *(("projector", value, "unknown projector") for value in ("x", 3, ["tangent"], ())),
    ("projector", Regression, "Regression is a class"),
    *(("n_neighbors", value, "is not a whole number") for value in (2.5, "2", True, [2])),
    ("n_neighbors", 0, "n_neighbors=0 must be at least 1"),
    *(("rank_surrogate", value, "unknown rank_surrogate") for value in ("log", None, 1)),
    *(("features", value, "unknown features") for value in ("edges", 1, ["contrast"])),
    *(("rescue", value, "neither True nor False") for value in (1, "yes", None)),
    *(("shared", value, "is not a number") for value in ("x", True, [0.1])),
    *(("shared", value, "must lie between 0 and 0.5") for value in (-0.1, 0.6, np.nan)),
    *(("start", value, "is a") for value in (3, ["auto"], True)),
    *(("coarse", value, "unknown coarse") for value in ("maybe", 1, [True])),
    *(("frame_of", value, "is not a whole number") for value in (1.5, [1], True)),
    *(("channels", value, "unknown channels") for value in ("red", None)),
    *(("gauge", value, "unknown gauge") for value in ("median", None, 1.5, True)),
    ("gauge", -1, "gauge=-1 must be at least 0"),
    *(("max_outer", value, "is not a whole number") for value in (2.5, None, "9")),
    ("max_inner", 0, "max_inner=0 must be at least 1"),
    ("max_inner", 2**70, "is too large"),
    *(("outer_tol", value, "is not a number") for value in NO_NUMBER),
    *(("outer_tol", value, "must be zero or a length") for value in (-1, np.nan)),
    *(("inner_tol", value, "is not a number") for value in NO_NUMBER),
    *(("inner_tol", value, "must lie between 0 and 1") for value in (0, 1, np.nan)),
    *(("schedule", value, "is a") for value in (None, 3)),
    *(("n_jobs", value, "is not a whole number") for value in (1.5, "2", True)),
    *(("n_jobs", value, "is not a number of threads") for value in (0, -2)),
    *(("executor", value, "has no method run") for value in (3, "threads", Serial)),
    *(("memory_limit", value, "is not a") for value in ("much", True, -1, 0, np.nan, [1])),
    *(("scratch", value, "is no path") for value in (3, b"/tmp", "")),
    *(("observe", value, "cannot be called") for value in (3, "x", int)),
    *(("checkpoint", value, "is no path") for value in (3, True)),
    *(("strict", value, "neither True nor False") for value in (1, None, "yes")),
    *(("dtype", value, "is not supported") for value in (None, "foo", np.int32, ">f8", 3, [1])),
    *(("settings", value, "pass AlignSettings") for value in ({}, 3, rf.AlignSettings)),
    *(("sample", value, "unknown sample|not a number") for value in ("all", 20.5, True, [20])),
    ("sample", 3, "sample=3 is too few"),
    *(("tol", value, "is not a number") for value in ("x", True)),
    ("max_iter", 0, "max_iter=0 must be at least 1"),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_good_values_are_taken(name, value):
    check_arguments({name: value})


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_values_get_a_sentence(name, value, message):
    with pytest.raises(rf.InputError, match=message):
        check_arguments({name: value})


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_whatever_the_value_is_it_gets_a_sentence(name):
    with pytest.raises(rf.InputError) as caught:
        check_arguments({name: Unprintable()})
    assert len(str(caught.value).split()) > 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_neighbors", 2.5), ("max_outer", "9"), ("n_jobs", 1.5), ("strict", "no"), ("sample", "x")],
)
def test_they_are_looked_at_before_the_pictures(name, value):
    """A folder that is not there would be an error too, of which nothing is said yet."""
    with pytest.raises(rf.InputError, match=name):
        rf.align("no such folder", **{name: value})


@pytest.mark.parametrize(("name", "value"), [("n_neighbors", 2.5), ("max_iter", 9.5), ("tol", "x")])
def test_decompose_looks_at_them_before_the_data(name, value):
    with pytest.raises(rf.InputError, match=name):
        rf.decompose("no such folder", "meadmm", **{name: value})


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (rf.MeADMM(n_neighbors=2.5), "no such folder", "n_neighbors=2.5 is not a whole number"),
        (rf.RASL(n_jobs="2"), "no such folder", "n_jobs='2' is not a whole number"),
        (rf.RobustPCA(tol="x"), PICTURES[0], "tol='x' is not a number"),
    ],
)
def test_so_do_the_estimators(model, data, message):
    with pytest.raises(rf.InputError, match=message):
        model.fit(data)
