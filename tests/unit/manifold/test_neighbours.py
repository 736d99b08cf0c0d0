"""Who is near whom along the manifold."""

import numpy as np
from sklearn.manifold import Isomap
from sklearn.neighbors import NearestNeighbors

from rankfold.manifold.neighbours import geodesic_neighbours, geodesics, unit_distances
from samples import subspace

RNG = np.random.default_rng(0)


def test_distances_from_the_gram_matrix_are_those_of_the_unit_rows():
    A = subspace(rank=20)
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    expected = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    np.testing.assert_allclose(unit_distances(A @ A.T), expected, atol=1e-7)


def test_paths_agree_with_isomap():
    angles = np.sort(RNG.uniform(0, 1.5 * np.pi, 60))
    curve = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ RNG.standard_normal((2, 8))
    curve /= np.linalg.norm(curve, axis=1, keepdims=True)
    ours = geodesics(unit_distances(curve @ curve.T), 6)
    theirs = Isomap(n_neighbors=6, n_components=1).fit(curve).dist_matrix_
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_first_neighbours_agree_with_scikit_learn():
    A = subspace(rank=20)
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    nearest, _ = geodesic_neighbours(A @ A.T, 5)
    theirs = NearestNeighbors(n_neighbors=6).fit(unit).kneighbors(unit, return_distance=False)
    # along the graph the nearest is the nearest in space; farther ones may be reached another way
    np.testing.assert_array_equal(nearest[:, 0], theirs[:, 1])


def test_the_nearest_along_a_graph_of_k_links_are_the_nearest_in_space():
    A = subspace(n=60, rank=6)
    distances = unit_distances(A @ A.T)
    nearest, lengths = geodesic_neighbours(A @ A.T, 5)
    paths = geodesics(distances, 5)
    np.fill_diagonal(paths, np.inf)
    np.testing.assert_array_equal(nearest, np.argsort(paths, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(lengths, np.sort(paths, axis=1)[:, :5], rtol=1e-12)


def test_with_fewer_links_neighbours_follow_the_curve_and_not_the_gap():
    # An open ring: its two ends face each other across a gap that is shorter than six steps along
    # the curve.
    angles = np.linspace(0, 2 * np.pi - 0.5, 80)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    nearest, _ = geodesic_neighbours(ring @ ring.T, 12, links=2)
    assert nearest[0].max() <= 12
    across, _ = geodesic_neighbours(ring @ ring.T, 12)
    assert across[0].max() > 12


def test_a_pair_that_no_path_joins_is_farther_than_every_pair_that_one_joins():
    A = np.zeros((8, 6))
    A[:4, :3] = 1 + 0.1 * RNG.random((4, 3))
    A[4:, 3:] = 1 + 0.1 * RNG.random((4, 3))
    paths = geodesics(unit_distances(A @ A.T), 2)
    assert paths[:4, 4:].min() > max(paths[:4, :4].max(), paths[4:, 4:].max())
    assert np.isfinite(paths).all()


def test_nobody_is_its_own_neighbour_even_among_twins():
    A = np.repeat(subspace(5), 2, axis=0)
    nearest, paths = geodesic_neighbours(A @ A.T, 3)
    assert not (nearest == np.arange(10)[:, None]).any()
    np.testing.assert_array_equal(nearest[:, 0], np.arange(10) ^ 1)
    assert (np.diff(paths, axis=1) >= 0).all()
