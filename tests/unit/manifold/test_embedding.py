"""The neighbour-preserving embedding of Definition 1, by regression and by the average."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.manifold import Average, Regression, project_rows
from rankfold.manifold.neighbours import geodesic_neighbours
from rankfold.scale import Threads
from samples import context_of, subspace

RNG = np.random.default_rng(0)


class TestRegression:
    def test_a_point_of_a_linear_subspace_is_reproduced_exactly_when_k_exceeds_its_dimension(self):
        A = subspace(rank=4)
        phi = project_rows(Regression(n_neighbors=6, keep=0.0, ridge=1e-14), context_of(A))
        np.testing.assert_allclose(phi, A, atol=1e-8 * np.abs(A).max())

    def test_what_is_masked_does_not_count_and_is_rebuilt(self):
        A = subspace(n=30, rank=3, m=400)
        V = A.copy()
        E = np.zeros_like(A)
        image = V[4].reshape(20, 20)
        image[5:12] = 50.0  # a band: the vote leaves the corners of a rectangle in
        E[4] = V[4] - A[4]
        phi = project_rows(
            Regression(keep=0.0, ridge=1e-12), context_of(A, E, V, shape=(1, 20, 20))
        )
        np.testing.assert_allclose(phi[4], A[4], atol=1e-6 * np.abs(A).max())
        blind = project_rows(
            Regression(keep=0.0, ridge=1e-12), context_of(A, 0 * E, V, shape=(1, 20, 20))
        )
        assert np.abs(blind[4] - A[4]).max() > 1e-2

    def test_missing_pixels_do_not_count(self):
        A = subspace(rank=3)
        valid = RNG.random(A.shape) > 0.3
        V = np.where(valid, A, 1e3)
        phi = project_rows(Regression(keep=0.0, ridge=1e-12), context_of(A, V=V, valid=valid))
        np.testing.assert_allclose(phi, A, atol=1e-5 * np.abs(A).max())

    def test_weights_solve_the_ridge_problem(self):
        A, V = RNG.standard_normal((15, 80)), RNG.standard_normal((15, 80))
        phi = project_rows(Regression(n_neighbors=4, keep=0.0), context_of(A, V=V))
        nearest, _ = geodesic_neighbours(A @ A.T, 4)
        for i in range(15):
            a = A[nearest[i]] / np.linalg.norm(A[nearest[i]], axis=1, keepdims=True)
            ridge = 1e-4 * np.trace(a @ a.T) / 4
            stacked = np.concatenate([a.T, np.sqrt(ridge) * np.eye(4)])
            w = np.linalg.lstsq(stacked, np.concatenate([V[i], np.zeros(4)]), rcond=None)[0]
            np.testing.assert_allclose(phi[i], w @ a, atol=1e-10)

    def test_threads_give_the_same_bits(self):
        A = subspace() + 0.1 * RNG.standard_normal((20, 300))
        one = project_rows(Regression(), context_of(A))
        with Threads(3) as executor:
            two = project_rows(Regression(), context_of(A, executor=executor))
        np.testing.assert_array_equal(two, one)


class TestAverage:
    def test_weights_are_definition_1_made_to_sum_to_one(self):
        A = RNG.standard_normal((12, 40))
        phi = project_rows(Average(n_neighbors=3, alpha=0.0, keep=0.85), context_of(A))
        nearest, paths = geodesic_neighbours(A @ A.T, 3)
        for i in range(12):
            W = paths[i] / paths[i].sum()
            M1 = ((1 - W) / (1 - W).sum()) @ A[nearest[i]]
            np.testing.assert_allclose(phi[i], M1 + 0.85 * (A[i] - M1), atol=1e-12)

    def test_small_differences_are_cut_off_at_alpha_in_the_units_of_the_row(self):
        A = RNG.standard_normal((12, 40))
        units = np.full(12, 1e9)
        phi = project_rows(Average(keep=1.0), context_of(A, units=units))
        plain = project_rows(Average(keep=0.0), context_of(A))
        np.testing.assert_allclose(phi, plain, atol=1e-12)


def test_more_neighbours_than_images_are_all_of_them():
    context = context_of(subspace(n=5))
    many = project_rows(Regression(n_neighbors=50), context)
    np.testing.assert_array_equal(many, project_rows(Regression(n_neighbors=4), context))


def test_values_that_make_no_sense_are_refused():
    with pytest.raises(rf.InputError, match="n_neighbors=0 must be at least 1"):
        Regression(n_neighbors=0)
    with pytest.raises(rf.InputError, match="links=0 must be at least 1"):
        Regression(links=0)


@pytest.mark.parametrize("value", ["x", None, np.nan, -1, True])
@pytest.mark.parametrize("name", ["alpha", "keep", "ridge", "window", "grains"])
def test_parameters_are_zero_or_positive(name, value):
    with pytest.raises(rf.InputError, match=f"{name}=.* zero or a positive number"):
        Regression(**{name: value})


@pytest.mark.parametrize("value", [2.5, "2", None, True])
@pytest.mark.parametrize("kind", [Regression, Average])
def test_neighbours_are_counted_in_whole_numbers(kind, value):
    with pytest.raises(rf.InputError, match=r"n_neighbors=.* is not a whole number"):
        kind(n_neighbors=value)
