"""Every row of PROJECTORS keeps the contract, and each does what it says."""

import numpy as np
import pytest
from sklearn.manifold import Isomap
from sklearn.neighbors import NearestNeighbors

import rankfold as rf
from rankfold.executors import Serial, Threads
from rankfold.manifold import PROJECTORS, Context, estimate_dimension, get_projector
from rankfold.manifold.embedding import Average, Regression
from rankfold.manifold.kernels import find, inliers, room_for
from rankfold.manifold.neighbours import geodesic_neighbours, geodesics, unit_distances

RNG = np.random.default_rng(0)


def context_of(A, E=None, V=None, valid=None, units=None, shape=None, executor=None):
    E = np.zeros_like(A) if E is None else E
    return Context(
        low_rank=A,
        sparse=E,
        target=A + E if V is None else V,
        valid=valid,
        gram=np.asarray(
            A @ A.T, dtype=np.float64
        ),  # for single precision too, as the solver gives it
        units=np.ones(len(A)) if units is None else units,
        shape=shape or (1, 1, A.shape[1]),
        executor=executor or Serial(),
    )


def subspace(n=20, m=300, rank=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))


@pytest.fixture(params=list(PROJECTORS))
def projector(request):
    return get_projector(request.param)


class TestEveryProjector:
    def test_returns_a_finite_array_like_its_input_and_leaves_that_alone(self, projector):
        for dtype in (np.float64, np.float32):
            A = (subspace() + 0.1 * RNG.standard_normal((20, 300))).astype(dtype)
            before = A.copy()
            phi = projector(context_of(A, shape=(1, 15, 20)))
            assert phi.shape == A.shape
            assert phi.dtype == dtype
            assert np.isfinite(phi).all()
            np.testing.assert_array_equal(A, before)

    @pytest.mark.parametrize(
        "case", ["identical", "zero rows", "all zero", "two rows", "disconnected"]
    )
    def test_degenerate_batches_give_finite_answers(self, projector, case):
        A = subspace()
        if case == "identical":
            A[3] = A[7]
        if case == "zero rows":
            A[[2, 5]] = 0
        if case == "all zero":
            A = np.zeros_like(A)
        if case == "two rows":
            A = A[:2]
        if case == "disconnected":
            A[:10, :150], A[10:, 150:] = 0, 0
        phi = projector(context_of(A))
        assert phi.shape == A.shape
        assert np.isfinite(phi).all()


class TestGeodesics:
    def test_distances_from_the_gram_matrix_are_those_of_the_unit_rows(self):
        A = subspace(rank=20)
        unit = A / np.linalg.norm(A, axis=1, keepdims=True)
        expected = np.linalg.norm(unit[:, None] - unit[None], axis=2)
        np.testing.assert_allclose(unit_distances(A @ A.T), expected, atol=1e-7)

    def test_paths_agree_with_isomap(self):
        angles = np.sort(RNG.uniform(0, 1.5 * np.pi, 60))
        curve = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ RNG.standard_normal((2, 8))
        curve /= np.linalg.norm(curve, axis=1, keepdims=True)
        ours = geodesics(unit_distances(curve @ curve.T), 6)
        theirs = Isomap(n_neighbors=6, n_components=1).fit(curve).dist_matrix_
        np.testing.assert_allclose(ours, theirs, atol=1e-6)

    def test_first_neighbours_agree_with_scikit_learn(self):
        A = subspace(rank=20)
        unit = A / np.linalg.norm(A, axis=1, keepdims=True)
        nearest, _ = geodesic_neighbours(A @ A.T, 5)
        theirs = NearestNeighbors(n_neighbors=6).fit(unit).kneighbors(unit, return_distance=False)
        # along the graph the nearest is the nearest in space; farther ones may be reached another way
        np.testing.assert_array_equal(nearest[:, 0], theirs[:, 1])

    def test_the_nearest_along_a_graph_of_k_links_are_the_nearest_in_space(self):
        A = subspace(n=60, rank=6)
        distances = unit_distances(A @ A.T)
        nearest, lengths = geodesic_neighbours(A @ A.T, 5)
        paths = geodesics(distances, 5)
        np.fill_diagonal(paths, np.inf)
        np.testing.assert_array_equal(nearest, np.argsort(paths, axis=1, kind="stable")[:, :5])
        np.testing.assert_allclose(lengths, np.sort(paths, axis=1)[:, :5], rtol=1e-12)

    def test_with_fewer_links_neighbours_follow_the_curve_and_not_the_gap(self):
        # an open ring: its two ends face each other across a gap that is shorter than six steps along the curve
        angles = np.linspace(0, 2 * np.pi - 0.5, 80)
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        nearest, _ = geodesic_neighbours(ring @ ring.T, 12, links=2)
        assert nearest[0].max() <= 12
        across, _ = geodesic_neighbours(ring @ ring.T, 12)
        assert across[0].max() > 12

    def test_links_must_be_positive(self):
        with pytest.raises(rf.InputError, match="links=0 must be at least 1"):
            Regression(links=0)

    def test_a_pair_that_no_path_joins_is_farther_than_every_pair_that_one_joins(self):
        A = np.zeros((8, 6))
        A[:4, :3], A[4:, 3:] = 1 + 0.1 * RNG.random((4, 3)), 1 + 0.1 * RNG.random((4, 3))
        paths = geodesics(unit_distances(A @ A.T), 2)
        assert paths[:4, 4:].min() > max(paths[:4, :4].max(), paths[4:, 4:].max())
        assert np.isfinite(paths).all()

    def test_nobody_is_its_own_neighbour_even_among_twins(self):
        A = np.repeat(subspace(5), 2, axis=0)
        nearest, paths = geodesic_neighbours(A @ A.T, 3)
        assert not (nearest == np.arange(10)[:, None]).any()
        np.testing.assert_array_equal(nearest[:, 0], np.arange(10) ^ 1)
        assert (np.diff(paths, axis=1) >= 0).all()


class TestRegression:
    def test_a_point_of_a_linear_subspace_is_reproduced_exactly_when_k_exceeds_its_dimension(self):
        A = subspace(rank=4)
        phi = Regression(n_neighbors=6, keep=0.0, ridge=1e-14)(context_of(A))
        np.testing.assert_allclose(phi, A, atol=1e-8 * np.abs(A).max())

    def test_what_is_masked_does_not_count_and_is_rebuilt(self):
        A = subspace(n=30, rank=3, m=400)
        V = A.copy()
        E = np.zeros_like(A)
        image = V[4].reshape(20, 20)
        image[5:12] = 50.0  # a band: the vote leaves the corners of a rectangle in
        E[4] = V[4] - A[4]
        phi = Regression(keep=0.0, ridge=1e-12)(context_of(A, E, V, shape=(1, 20, 20)))
        np.testing.assert_allclose(phi[4], A[4], atol=1e-6 * np.abs(A).max())
        blind = Regression(keep=0.0, ridge=1e-12)(context_of(A, 0 * E, V, shape=(1, 20, 20)))
        assert np.abs(blind[4] - A[4]).max() > 1e-2

    def test_missing_pixels_do_not_count(self):
        A = subspace(rank=3)
        valid = RNG.random(A.shape) > 0.3
        V = np.where(valid, A, 1e3)
        phi = Regression(keep=0.0, ridge=1e-12)(context_of(A, V=V, valid=valid))
        np.testing.assert_allclose(phi, A, atol=1e-5 * np.abs(A).max())

    def test_weights_solve_the_ridge_problem(self):
        A, V = RNG.standard_normal((15, 80)), RNG.standard_normal((15, 80))
        phi = Regression(n_neighbors=4, keep=0.0)(context_of(A, V=V))
        nearest, _ = geodesic_neighbours(A @ A.T, 4)
        for i in range(15):
            a = A[nearest[i]] / np.linalg.norm(A[nearest[i]], axis=1, keepdims=True)
            ridge = 1e-4 * np.trace(a @ a.T) / 4
            stacked = np.concatenate([a.T, np.sqrt(ridge) * np.eye(4)])
            w = np.linalg.lstsq(stacked, np.concatenate([V[i], np.zeros(4)]), rcond=None)[0]
            np.testing.assert_allclose(phi[i], w @ a, atol=1e-10)

    def test_threads_give_the_same_bits(self):
        A = subspace() + 0.1 * RNG.standard_normal((20, 300))
        one = Regression()(context_of(A))
        with Threads(3) as executor:
            np.testing.assert_array_equal(Regression()(context_of(A, executor=executor)), one)

    @pytest.mark.parametrize("size", [1, 7, 8, 29, 64])
    @pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
    def test_flags_are_found_eight_at_a_time(self, size, share):
        flags, out = (RNG.random(size) < share).astype(np.uint8), np.empty(size, np.uint64)
        for sought in (0, 1):
            count = find(flags, sought, out)
            np.testing.assert_array_equal(out[:count], np.flatnonzero(flags == sought))

    def test_the_vote_of_the_window_agrees_with_a_box_filter(self):
        from scipy.ndimage import uniform_filter

        for shape in ((1, 13, 17), (2, 9, 8), (1, 4, 3), (3, 1, 12)):
            m = int(np.prod(shape))
            E = (RNG.random(m) < 0.4) * 1.0
            for window in (1, 3, 5, 11):
                out = np.empty(m, np.uint8)
                inliers(E, np.zeros(0, bool), 0.5, window, shape, out, room_for(window, shape))
                share = uniform_filter(E.reshape(shape), size=(1, window, window), mode="nearest")
                np.testing.assert_array_equal(out.reshape(shape), share < 0.5 - 1e-9)


class TestAverage:
    def test_weights_are_definition_1_made_to_sum_to_one(self):
        A = RNG.standard_normal((12, 40))
        phi = Average(n_neighbors=3, alpha=0.0, keep=0.85)(context_of(A))
        nearest, paths = geodesic_neighbours(A @ A.T, 3)
        for i in range(12):
            W = paths[i] / paths[i].sum()
            M1 = ((1 - W) / (1 - W).sum()) @ A[nearest[i]]
            np.testing.assert_allclose(phi[i], M1 + 0.85 * (A[i] - M1), atol=1e-12)

    def test_small_differences_are_cut_off_at_alpha_in_the_units_of_the_row(self):
        A = RNG.standard_normal((12, 40))
        units = np.full(12, 1e9)
        phi = Average(keep=1.0)(context_of(A, units=units))
        plain = Average(keep=0.0)(context_of(A))
        np.testing.assert_allclose(phi, plain, atol=1e-12)


def test_the_tangent_space_contains_what_is_in_it():
    A = subspace(rank=3) + 5
    phi = get_projector("tangent", 12)(context_of(A))
    np.testing.assert_allclose(phi, A, atol=1e-8)


def test_sphere_and_stiefel_are_what_they_are_called():
    A = RNG.standard_normal((6, 30))
    V = RNG.standard_normal((6, 30))
    sphere = get_projector("sphere")(context_of(A, V=V))
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), np.linalg.norm(V, axis=1))
    stiefel = get_projector("stiefel")(context_of(A))
    np.testing.assert_allclose(stiefel @ stiefel.T, np.eye(6), atol=1e-12)
    # the nearest such matrix: no small rotation of the rows is nearer
    best = np.linalg.norm(A - stiefel)
    for _ in range(10):
        K = 0.05 * RNG.standard_normal((6, 6))
        turn = np.linalg.qr(np.eye(6) + K - K.T)[0]
        turn *= np.sign(np.diag(turn))
        assert np.linalg.norm(A - turn @ stiefel) > best


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


class TestCallables:
    def test_any_function_will_do(self):
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
    def test_what_it_returns_is_checked(self, bad, message):
        with pytest.raises(rf.InputError, match=message):
            rf.decompose(subspace() + RNG.random((20, 300)), method="meadmm", projector=bad)

    def test_more_neighbours_than_images_are_all_of_them(self):
        A = subspace(n=5)
        np.testing.assert_array_equal(
            Regression(n_neighbors=50)(context_of(A)), Regression(n_neighbors=4)(context_of(A))
        )
        with pytest.raises(rf.InputError, match="n_neighbors=0 must be at least 1"):
            Regression(n_neighbors=0)
