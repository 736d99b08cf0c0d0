"""The table of methods, and how a name becomes a method."""

import pytest

import rankfold as rf
from rankfold.align.methods import METHODS, get_method
from rankfold.manifold import PROJECTORS


@pytest.mark.parametrize("name", METHODS)
def test_every_row_has_its_name_and_a_sentence(name):
    method = METHODS[name]
    assert method.name == name
    assert method.summary
    assert not method.summary.endswith(".")
    assert method.projector is None or method.projector in PROJECTORS
    assert get_method(name) is method


def test_a_method_is_taken_as_it_is():
    mine = rf.Method("mine", "my own")
    assert get_method(mine) is mine
    assert mine.solve is METHODS["rasl"].solve


def test_an_unknown_name_is_refused():
    message = "unknown method 'rals'; choose one of rpca, rasl, meadmm"
    with pytest.raises(rf.InputError, match=message):
        get_method("rals")
