"""The public function ``decompose``: shapes, schedules, and matrices that must be refused."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.samples import Samples
from rankfold.datasets import low_rank_plus_sparse
from rankfold.io import write_picture

PICTURES = np.random.default_rng(0).random((4, 20, 20))


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros(5), {}, "give"),
        (np.zeros((0, 5)), {}, r"the data have shape \(0, 5\)"),
        (np.full((3, 4), np.nan), {}, "NaN everywhere"),
        (np.full((3, 4), np.inf), {}, "contain infinity"),
        (np.ones((3, 4)) * 1j, {}, "type complex128"),
        (PICTURES, {"method": "rasl"}, "is its transforms; use align"),
        (PICTURES, {"method": "rals"}, "unknown method 'rals'; choose one of rpca, rasl, meadmm"),
        (PICTURES, {"dtype": np.int16}, "is not supported; use float64 or float32"),
        (PICTURES, {"method": "meadmm", "n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        (
            PICTURES,
            {"schedule": "fast"},
            "unknown schedule 'fast'; choose one of auto, certified, rough, published",
        ),
        (
            PICTURES,
            {"method": "meadmm", "schedule": "certified"},
            "schedule='certified' cannot be used with method 'meadmm' and its manifold constraint",
        ),
        (
            PICTURES,
            {"rank_surrogate": "reweighted", "schedule": "certified"},
            "and the reweighted surrogate of the rank, which is not convex; leave it out",
        ),
        (PICTURES, {"schedule": "quick"}, "is no more: leave it out, because the default is as"),
        (PICTURES, {"schedule": "balanced"}, "is no more: leave it out, and for more digits give"),
    ],
)
def test_bad_matrices_and_options_are_refused(X, options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.decompose(X, **options)


class TestSchedules:
    noise = 0.1 * np.random.default_rng(0).standard_normal((40, 200))
    data = low_rank_plus_sparse(40, 200, 3, 0.05, 0).data + noise

    def test_the_default_is_certified_for_robust_pca(self):
        plain = rf.decompose(self.data)
        certified = rf.decompose(self.data, schedule="certified", tol=1e-4)
        np.testing.assert_array_equal(plain.low_rank, certified.low_rank)
        assert plain.status is rf.Status.CONVERGED

    @pytest.mark.parametrize("schedule", ["rough", "published"])
    def test_for_meadmm_a_decomposition_is_as_published(self, schedule):
        plain = rf.decompose(self.data, method="meadmm")
        named = rf.decompose(self.data, method="meadmm", schedule=schedule)
        np.testing.assert_array_equal(plain.low_rank, named.low_rank)

    def test_an_end_above_the_optimum_is_no_warning_where_it_was_asked_for(self):
        result = rf.decompose(self.data, schedule="published")
        assert result.status is rf.Status.STALLED
        assert result.gap is None

    def test_tol_is_the_proved_gap_for_one_and_the_residual_for_the_other(self):
        for tol in (1e-3, 1e-5):
            certified = rf.decompose(self.data, tol=tol)
            assert certified.gap <= tol
            assert certified.trace.inner["gap"][-1] == certified.gap
            published = rf.decompose(self.data, schedule="published", tol=tol)
            residuals = published.trace.inner["primal_residual"]
            assert residuals[-1] <= tol < residuals[-2]
        # 1e-7 is what the published rule has where the caller says nothing.
        named = rf.decompose(self.data, schedule="published", tol=1e-7)
        plain = rf.decompose(self.data, schedule="published")
        np.testing.assert_array_equal(named.low_rank, plain.low_rank)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("schedule", ["certified", "published"])
    def test_the_sparse_part_is_what_the_low_rank_one_leaves(self, dtype, schedule):
        data = self.data.astype(dtype)
        result = rf.decompose(data, dtype=dtype, schedule=schedule, tol=1e-4)
        np.testing.assert_array_equal(result.sparse, data - result.low_rank)
        # With missing values too, where it is zero.
        data[3, 5:20] = np.nan
        holes = rf.decompose(data, dtype=dtype, schedule=schedule, tol=1e-4)
        seen = ~np.isnan(data)
        np.testing.assert_array_equal(holes.sparse[seen], (data - holes.low_rank)[seen])
        assert not holes.sparse[~seen].any()

    def test_the_objective_is_that_of_the_parts_that_are_returned(self):
        result = rf.decompose(self.data)
        nuclear = np.linalg.norm(result.low_rank, "nuc")
        expected = nuclear + result.sparsity * np.abs(result.sparse).sum()
        assert result.objective == pytest.approx(expected, rel=1e-9)


def test_a_run_that_does_not_converge_warns_once_or_raises_when_strict():
    with pytest.warns(
        rf.ConvergenceWarning, match="decompose: stopped at the iteration limit"
    ) as caught:
        rf.decompose(PICTURES, max_iter=2)
    assert len(caught) == 1
    with pytest.raises(rf.ConvergenceError, match="iteration limit"):
        rf.decompose(PICTURES, max_iter=2, strict=True)


def test_a_run_that_an_observer_stopped_still_adds_up():
    result = rf.decompose(PICTURES, observe=lambda record: record.iteration == 3)
    assert result.status is rf.Status.STOPPED
    np.testing.assert_allclose(result.low_rank + result.sparse, PICTURES, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "row_shape"),
    [((5, 12), (1, 1, 12)), ((5, 3, 4), (1, 3, 4)), ((5, 3, 4, 2), (2, 3, 4))],
)
def test_samples_become_rows_and_rows_samples(shape, row_shape):
    X = np.random.default_rng(0).random(shape)
    rows = Samples.of(X, np.float64)
    assert rows.data.shape == (5, np.prod(shape[1:]))
    assert rows.row_shape == row_shape
    # Colour comes with its channels one after the other, as everywhere.
    first = X[..., 0] if X.ndim == 4 else X
    size = first[0].size
    np.testing.assert_array_equal(rows.data[:, :size], first.reshape(5, -1))
    np.testing.assert_array_equal(rows._like_given(rows.data), X)


def test_settings_reach_the_manifold():
    X = low_rank_plus_sparse(20, 60, 3, 0.1, 0).data
    heavy = rf.AlignSettings().changed({"manifold.weight": 2.0})
    one = rf.decompose(X, method="meadmm")
    two = rf.decompose(X, method="meadmm", settings=heavy)
    assert np.abs(one.low_rank - two.low_rank).max() > 1e-6


class TestPaths:
    @pytest.fixture
    def street(self, tmp_path):
        pictures = (255 * np.random.default_rng(1).random((5, 12, 14, 3))).astype(np.uint8)
        folder = tmp_path / "street"
        folder.mkdir()
        for k, picture in enumerate(pictures):
            write_picture(folder / f"{k}.png", picture)
        return folder, pictures

    def test_pictures_are_read_and_come_back_in_their_units(self, street):
        folder, pictures = street
        found = rf.decompose(folder)
        given = rf.decompose(pictures / 255.0)
        np.testing.assert_array_equal(found.low_rank, 255 * given.low_rank)
        np.testing.assert_allclose(found.low_rank + found.sparse, pictures, atol=1e-9)
        np.testing.assert_allclose(found.objective, 255 * given.objective)

    def test_floats_share_one_unit(self, tmp_path):
        pictures = np.random.default_rng(2).random((4, 9, 11)).astype(np.float32)
        pictures[2] *= 2.0**30
        np.save(tmp_path / "much.npy", pictures)
        found = rf.decompose(tmp_path / "much.npy")
        sums = found.low_rank + found.sparse
        np.testing.assert_allclose(sums, pictures, rtol=1e-6, atol=1)

    def test_missing_pixels_stay_missing(self, tmp_path):
        pictures = np.random.default_rng(2).random((4, 9, 11))
        pictures[1, 3, 4] = np.nan
        np.save(tmp_path / "holes.npy", pictures)
        found = rf.decompose(tmp_path / "holes.npy")
        assert found.sparse[1, 3, 4] == 0
        assert np.isfinite(found.low_rank).all()

    @pytest.mark.parametrize(
        ("count", "message"), [(1, "has one picture only"), (2, "have 2 different sizes")]
    )
    def test_what_cannot_be_decomposed_is_refused(self, tmp_path, count, message):
        for k in range(count):
            write_picture(tmp_path / f"{k}.png", np.full((10 + k, 12), 9.0))
        with pytest.raises(rf.InputError, match=message):
            rf.decompose(tmp_path)


class TestMaskedArrays:
    DATA = np.random.default_rng(0).random((6, 5, 4))
    HIDDEN = np.random.default_rng(1).random((6, 5, 4)) < 0.2

    @pytest.mark.parametrize("as_list", [True, False])
    @pytest.mark.parametrize("dtype", [np.float64, np.int64])
    def test_they_say_the_same_as_nan(self, as_list, dtype):
        data = (100 * self.DATA).astype(dtype)
        masked = np.ma.masked_array(data, self.HIDDEN)
        found = rf.decompose(list(masked) if as_list else masked)
        same = rf.decompose(np.where(self.HIDDEN, np.nan, data))
        np.testing.assert_array_equal(found.low_rank, same.low_rank)
        assert not found.sparse[self.HIDDEN].any()

    def test_one_masked_picture_of_a_list_is_enough(self):
        mixed = [*self.DATA[:5], np.ma.masked_array(self.DATA[5], self.HIDDEN[5])]
        found = rf.decompose(mixed)
        assert not found.sparse[5][self.HIDDEN[5]].any()
        assert found.sparse[5][~self.HIDDEN[5]].any()


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3]],
        [[1.0, 2.0], None],
        [np.zeros((5, 5)), np.zeros((6, 6))],
        [np.ma.zeros((5, 5)), np.zeros((6, 6))],
        [[10**400, 1], [1, 2]],
    ],
)
def test_ragged_lists_get_a_sentence(X):
    with pytest.raises(rf.InputError, match="the data"):
        rf.decompose(X)


@pytest.mark.parametrize("projector", ["tangent", "regression", "average"])
def test_one_picture_has_no_neighbours(projector):
    with pytest.raises(rf.InputError, match=r"one picture has no neighbours .* give at least two"):
        rf.decompose(PICTURES[:1], "meadmm", projector=projector)


@pytest.mark.parametrize("projector", ["sphere", "stiefel", "identity"])
def test_one_picture_is_enough_for_projectors_without_neighbours(projector):
    found = rf.decompose(PICTURES[:1], "meadmm", projector=projector, max_iter=50)
    assert np.isfinite(found.low_rank).all()
