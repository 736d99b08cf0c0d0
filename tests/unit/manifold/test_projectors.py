"""How a name, an object or a function becomes a projector."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.manifold import PROJECTORS, Function, Projector, Regression, get_projector
from samples import subspace

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", PROJECTORS)
def test_a_name_becomes_a_projector_with_as_many_neighbours_as_wanted(name):
    projector = get_projector(name, 5)
    assert isinstance(projector, Projector)
    if hasattr(projector, "n_neighbors"):
        assert projector.n_neighbors == 5
        assert get_projector(name).n_neighbors != 5


def test_a_projector_is_taken_as_it_is():
    mine = Regression(n_neighbors=3)
    assert get_projector(mine, 9) is mine
    function = get_projector(lambda context: context.low_rank)
    assert isinstance(function, Function)
    assert get_projector(function) is function


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(rf.InputError, match="unknown projector 'isomap'; choose one of regression"):
        get_projector("isomap")


def test_any_function_will_do():
    data = subspace() + (RNG.random((20, 300)) < 0.05)
    calls = []

    def halve(context):
        calls.append(context.low_rank.shape)
        return 0.5 * context.low_rank

    rf.decompose(data, method="meadmm", projector=halve, tol=1e-5)
    assert calls[0] == (20, 300)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            lambda c: c.low_rank[:-1],
            r"returned shape \(19, 300\); it must return an array like the low-rank rows",
        ),
        (lambda c: c.low_rank * np.nan, "returned NaN or infinity"),
    ],
)
def test_what_it_returns_is_checked(bad, message):
    with pytest.raises(rf.InputError, match=message):
        rf.decompose(subspace() + RNG.random((20, 300)), method="meadmm", projector=bad)


@pytest.mark.parametrize("value", [[1], 3, {}, ("regression",)])
def test_what_is_no_projector_gets_a_sentence(value):
    with pytest.raises(rf.InputError, match=r"unknown projector .* or pass a callable"):
        get_projector(value)
