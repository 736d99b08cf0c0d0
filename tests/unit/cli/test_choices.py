"""What align and decompose are called with."""

import pytest

import rankfold as rf
from rankfold.cli.choices import Aligning, Decomposing


def test_what_is_not_given_is_left_to_the_function():
    assert set(Aligning().keywords()) == {
        "method",
        "family",
        "sparsity_weight",
        "gauge",
        "schedule",
        "channels",
        "max_outer",
        "sample",
    }
    assert set(Decomposing().keywords()) == {"method", "sparsity_weight", "schedule"}
    assert Decomposing(tol=1e-3).keywords()["tol"] == 1e-3
    assert Decomposing(shared=0.0).keywords()["shared"] == 0


@pytest.mark.parametrize(
    ("options", "recorded", "keyword"),
    [
        ({"features": False}, {"features": "off"}, {"features": None}),
        ({"features": True}, {"features": "contrast"}, {"features": "contrast"}),
        ({"projector": "none"}, {"projector": "none"}, {"projector": None}),
        ({"gauge": "none"}, {"gauge": "none"}, {"gauge": "none"}),
        ({"gauge": "3"}, {"gauge": 3}, {"gauge": 3}),
        ({"sample": "none"}, {"sample": "none"}, {"sample": None}),
        ({"sample": "40"}, {"sample": 40}, {"sample": 40}),
        ({"neighbors": 5}, {"n_neighbors": 5}, {"n_neighbors": 5}),
        ({"start": "match"}, {"start": "match"}, {"start": "match"}),
        ({"coarse": False}, {"coarse": False}, {"coarse": False}),
        # Zero is something that was given.
        ({"shared": 0.0}, {"shared": 0.0}, {"shared": 0.0}),
    ],
)
def test_none_is_written_as_a_word(options, recorded, keyword):
    chosen = Aligning(**options)
    assert recorded.items() <= chosen.recorded().items()
    assert keyword.items() <= chosen.keywords().items()


@pytest.mark.parametrize(
    ("typed", "names", "meant"),
    [
        ("b.png", ["a.png", "b.png"], "b.png"),
        ("1", ["a.png", "b.png"], 1),
        # Frames of a video are named by numbers; the name goes before the place.
        ("1", ["2", "1", "0"], "1"),
        ("7", ["2", "1", "0"], 7),
        ("no.png", ["a.png"], "no.png"),
    ],
)
def test_the_picture_of_the_frame_is_a_name_or_else_a_number(typed, names, meant):
    chosen = Aligning(frame_of=typed)
    assert chosen.keywords(names)["frame_of"] == meant
    assert chosen.recorded()["frame_of"] == typed


def test_the_function_takes_all_of_it(heads):
    chosen = Aligning(method="rpca", features=False, projector="none", rescue=False)
    result = rf.align(heads.images, frame=heads.frame, init=heads.start, **chosen.keywords())
    assert result.method == "rpca"
