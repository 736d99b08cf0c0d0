"""The tangent space by local PCA, and the dimension of a manifold."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.manifold import estimate_dimension, get_projector, project_rows
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
    with pytest.raises(rf.InputError, match="at least two rows"):
        estimate_dimension(np.ones(5))
    with pytest.raises(rf.InputError, match="share=0"):
        estimate_dimension(np.ones((5, 9)), share=0)
