"""Manifolds that are given: sphere, Stiefel, everything."""

import numpy as np

from rankfold.manifold import get_projector, project_rows
from samples import context_of

RNG = np.random.default_rng(0)


def test_sphere_and_stiefel_are_what_they_are_called():
    A = RNG.standard_normal((6, 30))
    V = RNG.standard_normal((6, 30))
    sphere = project_rows(get_projector("sphere"), context_of(A, V=V))
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), np.linalg.norm(V, axis=1))
    stiefel = project_rows(get_projector("stiefel"), context_of(A))
    np.testing.assert_allclose(stiefel @ stiefel.T, np.eye(6), atol=1e-12)
    # the nearest such matrix: no small rotation of the rows is nearer
    best = np.linalg.norm(A - stiefel)
    for _ in range(10):
        K = 0.05 * RNG.standard_normal((6, 6))
        turn = np.linalg.qr(np.eye(6) + K - K.T)[0]
        turn *= np.sign(np.diag(turn))
        assert np.linalg.norm(A - turn @ stiefel) > best


def test_the_identity_changes_nothing():
    A = RNG.standard_normal((6, 30))
    np.testing.assert_array_equal(project_rows(get_projector("identity"), context_of(A)), A)
