"""The public function ``decompose``: shapes, schedules, and matrices that must be refused."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.decomposition import Samples
from rankfold.datasets import low_rank_plus_sparse

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
            "unknown schedule 'fast'; choose one of auto, published, balanced, quick",
        ),
        (
            PICTURES,
            {"method": "meadmm", "schedule": "quick"},
            "schedule='quick' cannot be used with method 'meadmm' and its manifold constraint",
        ),
        (
            PICTURES,
            {"rank_surrogate": "reweighted", "schedule": "balanced"},
            "schedule='balanced' cannot be used with the reweighted surrogate",
        ),
    ],
)
def test_bad_matrices_and_options_are_refused(X, options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.decompose(X, **options)


class TestSchedules:
    noise = 0.1 * np.random.default_rng(0).standard_normal((40, 200))
    data = low_rank_plus_sparse(40, 200, 3, 0.05, 0).data + noise

    def test_the_default_is_balanced_for_robust_pca(self):
        plain = rf.decompose(self.data)
        balanced = rf.decompose(self.data, schedule="balanced")
        np.testing.assert_array_equal(plain.low_rank, balanced.low_rank)
        assert plain.status is rf.Status.CONVERGED

    def test_the_default_is_published_for_meadmm(self):
        plain = rf.decompose(self.data, method="meadmm")
        published = rf.decompose(self.data, method="meadmm", schedule="published")
        np.testing.assert_array_equal(plain.low_rank, published.low_rank)

    @pytest.mark.parametrize("schedule", ["published", "quick"])
    def test_an_end_above_the_optimum_is_no_warning_where_it_was_asked_for(self, schedule):
        result = rf.decompose(self.data, schedule=schedule)
        assert result.status is rf.Status.STALLED


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
