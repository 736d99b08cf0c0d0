"""The tangent space by local PCA, and the dimension of a manifold."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.manifold import Tangent, estimate_dimension, get_projector, project_rows
from samples import context_of, subspace

RNG = np.random.default_rng(0)


def test_the_tangent_space_contains_what_is_in_it():
    A = subspace(rank=3) + 5
    phi = project_rows(get_projector("tangent", 12), context_of(A))
    np.testing.assert_allclose(phi, A, atol=1e-8)


def test_dimension_by_pca():
    assert estimate_dimension(subspace(rank=4), share=0.9999) == 4
    assert estimate_dimension(np.ones((5, 9))) == 0
    assert (
        estimate_dimension(
            RNG.standard_normal((200, 3)) * [10, 10, 0.01] @ RNG.standard_normal((3, 3))
        )
        <= 2
    )
    with pytest.raises(rf.InputError, match=r"the data have shape \(5,\)"):
        estimate_dimension(np.ones(5))
    with pytest.raises(rf.InputError, match="share=0"):
        estimate_dimension(np.ones((5, 9)), share=0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 2.5}, "n_neighbors=2.5 is not a whole number"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"dimension": 0}, "dimension=0 must be at least 1"),
        ({"dimension": 1.5}, "dimension=1.5 is not a whole number"),
        ({"share": 0}, "share=0 must lie between 0 and 1"),
        ({"share": np.nan}, "share=nan must lie between 0 and 1"),
        ({"share": "much"}, "share='much' is not a number"),
    ],
)
def test_values_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(rf.InputError, match=message):
        Tangent(**parameters)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_dimension_does_not_depend_on_the_unit(factor):
    assert estimate_dimension(factor * subspace(rank=4), share=0.9999) == 4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1, 2], [3]], "the data is no array of numbers"),
        (np.full((3, 4), np.nan), "the data contain NaN"),
        (np.ma.masked_less(RNG.random((3, 4)), 0.5), "the data contain NaN"),
        (np.ones((3, 4)) * 1j, "type complex128"),
        (np.ones((1, 4)), "at least two rows"),
    ],
)
def test_data_without_a_dimension_are_refused(data, message):
    with pytest.raises(rf.InputError, match=message):
        estimate_dimension(data)
