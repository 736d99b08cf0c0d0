"""The scikit-learn face: parameters, fitting, explaining new samples, names of features."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankfold as rf
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold.families import shift
from rankfold.metrics import alignment_error


@parametrize_with_checks([rf.RobustPCA(), rf.RobustPCA(schedule="published", tol=1e-6)])
def test_robust_pca_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_new_rows_are_explained_in_spite_of_gross_errors_and_holes():
    truth = low_rank_plus_sparse(120, 200, 4, 0.05, 0)
    model = rf.RobustPCA().fit(truth.data[:80])
    assert model.components_.shape == (4, 200)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-10)
    new = truth.data[80:].copy()
    clean = truth.low_rank[80:]
    new[np.random.default_rng(0).random(new.shape) < 0.1] = np.nan
    explained = model.explain(new)
    assert np.linalg.norm(explained.low_rank - clean) < 1e-3 * np.linalg.norm(clean)
    np.testing.assert_allclose(
        explained.low_rank, model.inverse_transform(explained.coefficients), atol=1e-9
    )
    np.testing.assert_array_equal(model.transform(new), explained.coefficients)
    gross = np.abs(truth.sparse[80:]) > 0
    seen = ~np.isnan(new)
    np.testing.assert_array_equal((np.abs(explained.sparse) > 0.5)[seen], gross[seen])


@pytest.mark.parametrize("kind", [rf.RASL, rf.MeADMM])
def test_new_pictures_are_placed_and_explained(kind):
    batch = rendered_heads(36, occluded=0.2, seed=4)
    old = slice(0, 24)
    new = slice(24, 36)
    model = kind(frame=(45, 42), init=batch.start[old]).fit(batch.images[old])
    explained = model.explain(batch.images[new], init=batch.start[new])
    fitted = model.alignment_
    both = np.concatenate([fitted.transforms, explained.transforms])
    before = alignment_error(batch.start[new], batch.truth[new], batch.points).mean
    after = alignment_error(both, batch.truth, batch.points).each[24:]
    assert np.median(after) < 0.3 * before
    assert explained.coefficients.shape == (12, len(model.components_))
    np.testing.assert_array_equal(
        model.transform(batch.images[new], init=batch.start[new]), explained.coefficients
    )
    clean = rf.align(
        batch.clean[new], method="rpca", frame=(45, 42), init=explained.transforms
    ).aligned
    error = np.linalg.norm(explained.low_rank - clean) / np.linalg.norm(clean)
    dirty = rf.align(
        batch.images[new], method="rpca", frame=(45, 42), init=explained.transforms
    ).aligned
    assert error < 0.2
    # The same pictures, but for a blur against aliasing that follows the start.
    np.testing.assert_allclose(explained.low_rank + explained.sparse, dirty, atol=0.01)
    # Every new picture says whether it found its place.
    assert explained.scores.shape == (12,)
    assert ((explained.scores > 0.9) <= (after > 1)).all()


def test_estimators_are_imported_only_when_asked_for():
    import subprocess
    import sys

    code = (
        "import sys, rankfold; assert not {'sklearn', 'numba'} & set(sys.modules); "
        "rankfold.RobustPCA"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        rf.Nonsense  # noqa: B018


class TestParameters:
    # What does not change a result, and what goes to fit because it belongs to the pictures.
    ELSEWHERE = frozenset(
        {"images", "method", "masks", "n_jobs", "executor", "observe", "checkpoint", "strict"}
        | {"sample", "memory_limit", "scratch"}
    )

    @pytest.mark.parametrize("kind", [rf.RASL, rf.MeADMM])
    def test_they_are_all_keywords_of_align_that_change_a_result_with_its_defaults(self, kind):
        known = inspect.signature(rf.align).parameters
        mine = inspect.signature(kind).parameters
        assert set(mine) == (set(known) - self.ELSEWHERE) | {"n_jobs"}
        for name, parameter in mine.items():
            assert parameter.default is known[name].default or (
                parameter.default == known[name].default
            )
        assert "masks" in inspect.signature(kind.fit).parameters
        explained = " ".join(rf.RASL.__doc__.split())
        assert all(name in explained for name in mine)

    def test_those_of_robust_pca_are_keywords_of_decompose(self):
        known = inspect.signature(rf.decompose).parameters
        for name, parameter in inspect.signature(rf.RobustPCA).parameters.items():
            assert parameter.default == known[name].default

    @pytest.mark.parametrize("kind", [rf.RASL, rf.MeADMM, rf.RobustPCA])
    def test_they_are_kept_as_they_are_and_cloned(self, kind):
        model = kind(sparsity_weight=0.7, schedule="published")
        assert model.get_params()["sparsity_weight"] == 0.7
        assert clone(model).get_params() == model.get_params()
        assert kind().set_params(schedule="published").schedule == "published"

    def test_a_bad_one_is_refused_by_fit_and_not_before(self, heads):
        model = rf.MeADMM(schedule="certified", frame=heads.frame)
        with pytest.raises(rf.InputError, match="schedule='certified' cannot be used"):
            model.fit(heads.images)


@pytest.fixture(scope="module")
def fitted(heads):
    """A model of pictures, and the coefficients that ``fit_transform`` gave."""
    model = rf.RASL(frame=heads.frame, init=heads.start)
    return model, model.fit_transform(heads.images)


class TestPictures:
    def test_fitting_is_aligning(self, fitted, heads, aligned):
        model, _ = fitted
        np.testing.assert_array_equal(model.alignment_.transforms, aligned.transforms)
        np.testing.assert_array_equal(model.alignment_.low_rank, aligned.low_rank)
        assert model.alignment_.method == "rasl"
        assert len(model.components_) == aligned.rank

    def test_fit_transform_gives_coefficients_that_explain_the_aligned_pictures(
        self, fitted, aligned
    ):
        model, coefficients = fitted
        assert coefficients.shape == (8, aligned.rank)
        rebuilt = model.inverse_transform(coefficients)
        assert rebuilt.shape == aligned.low_rank.shape
        # Pictures come back with unit norm.
        norms = np.sqrt(np.nansum(aligned.aligned**2, axis=(1, 2)))
        rest = rebuilt * norms[:, None, None] - aligned.aligned
        # The low-rank part is in the same basis, but the nuclear norm makes it smaller.
        smaller = aligned.low_rank - aligned.aligned
        for k in range(8):
            seen = aligned.valid[k]
            assert np.linalg.norm(rest[k][seen]) < np.linalg.norm(smaller[k][seen])

    def test_the_coefficients_have_names(self, fitted):
        model, coefficients = fitted
        names = model.get_feature_names_out()
        assert list(names) == [f"rasl{k}" for k in range(coefficients.shape[1])]

    def test_one_new_picture_is_enough(self, fitted, heads):
        model, _ = fitted
        explained = model.explain([heads.images[3]], init=heads.start[3:4])
        assert explained.transforms.shape == (1, 3, 3)
        assert explained.scores[0] < 0.9
        assert explained.low_rank.shape == (1, 45, 42)

    def test_a_picture_of_something_else_scores_high(self, fitted, heads):
        model, _ = fitted
        noise = np.random.default_rng(0).random(heads.images[0].shape)
        explained = model.explain([noise], init=heads.start[:1])
        assert explained.scores[0] > 0.9

    def test_colour_comes_back_in_colour(self, heads):
        tint = np.array([1.0, 0.8, 0.6])
        colour = [image[:, :, None] * tint for image in heads.images]
        model = rf.RASL(frame=heads.frame, init=heads.start, outer_tol=0.5)
        coefficients = model.fit_transform(colour)
        assert model.inverse_transform(coefficients).shape == (8, 45, 42, 3)
        assert model.explain(colour[:2], init=heads.start[:2]).sparse.shape == (2, 45, 42, 3)

    def test_another_number_of_channels_is_refused(self, heads):
        tint = np.array([1.0, 0.8, 0.6, 0.4])
        colour = [image[:, :, None] * tint for image in heads.images]
        three = [image[:, :, :3] for image in colour]
        model = rf.RASL(frame=heads.frame, init=heads.start, max_outer=1, outer_tol=99).fit(three)
        with pytest.raises(rf.InputError, match="have 3 channels, these have 4; give the same"):
            model.explain(colour, init=heads.start)

    def test_masks_go_to_fit(self, heads):
        masks = [np.ones(image.shape, bool) for image in heads.images]
        masks[0][20:50, 20:50] = False
        options = {"frame": heads.frame, "init": heads.start, "outer_tol": 0.5}
        model = rf.RASL(**options).fit(heads.images, masks=masks)
        same = rf.align(heads.images, method="rasl", masks=masks, **options)
        np.testing.assert_array_equal(model.alignment_.valid, same.valid)
        assert not model.alignment_.valid[0].all()


def test_the_scores_of_rows_say_how_badly_they_fit():
    truth = low_rank_plus_sparse(60, 80, 3, 0.05, 0)
    model = rf.RobustPCA().fit(truth.data[:50])
    good = model.explain(truth.low_rank[50:])
    bad = model.explain(np.random.default_rng(0).standard_normal((4, 80)))
    assert good.scores.shape == (10,)
    assert (good.scores < 0.1).all()
    assert (bad.scores > 0.5).all()
    assert good.transforms is None
    assert list(model.get_feature_names_out()) == ["robustpca0", "robustpca1", "robustpca2"]


def test_new_pictures_are_seen_at_the_resolution_of_the_fitted_ones():
    heads = rendered_heads(6, seed=1)
    large = [np.kron(image, np.ones((2, 2))) for image in heads.images]
    stack = rf.Stack.of(large).reduced(2)
    fitted = rf.RASL(frame=(45, 42), outer_tol=5.0).fit(stack)
    again = fitted.explain(large)
    same = fitted.explain(stack)
    np.testing.assert_allclose(again.transforms, same.transforms)
    np.testing.assert_allclose(again.scores, same.scores)
    with pytest.raises(rf.InputError, match="not both grey or both in colour"):
        fitted.explain([np.dstack([image] * 3) for image in large])


def test_where_matching_found_the_start_new_pictures_need_one(monkeypatch):
    """Their middle is not where the fitted ones began."""
    heads = rendered_heads(6, seed=0)
    model = rf.RASL(frame=(45, 42)).fit(heads.images)
    moved = replace(model.alignment_, base=model.alignment_.start @ shift(np.array([3.0, 0.0])))
    monkeypatch.setattr(model, "alignment_", moved)
    with pytest.raises(rf.InputError, match="or where matching found them; say where the new ones"):
        model.transform(heads.images)


class TestUnitsOfRobustPCA:
    """``transform`` gave NaN at 1e-160, and an OverflowError at 1e160."""

    TRUTH = low_rank_plus_sparse(40, 60, 3, 0.05, 0)

    @pytest.mark.parametrize("fitted", [1e-160, 1e-30, 1.0, 1e30, 1e160])
    def test_coefficients_and_scores_have_no_unit(self, fitted):
        plain = rf.RobustPCA().fit(self.TRUTH.data[:30]).explain(self.TRUTH.data[30:])
        found = (
            rf.RobustPCA().fit(fitted * self.TRUTH.data[:30]).explain(fitted * self.TRUTH.data[30:])
        )
        largest = np.abs(plain.coefficients).max()
        np.testing.assert_allclose(
            found.coefficients / fitted, plain.coefficients, atol=1e-6 * largest
        )
        np.testing.assert_allclose(found.scores, plain.scores, atol=1e-6)
        np.testing.assert_allclose(found.low_rank / fitted, plain.low_rank, atol=1e-6 * largest)

    @pytest.mark.parametrize("other", [1e-160, 1e160])
    def test_rows_in_the_basis_are_explained_however_large_they_are(self, other):
        model = rf.RobustPCA().fit(self.TRUTH.data)
        coefficients = np.random.default_rng(0).standard_normal((5, 3))
        found = model.explain(other * model.inverse_transform(coefficients))
        np.testing.assert_allclose(found.coefficients / other, coefficients, rtol=1e-6)
        assert (found.scores < 0.2).all()

    @pytest.mark.parametrize("size", [1.0, 1e3, 1e7, 1e9, 1e160])
    def test_rows_larger_than_any_that_were_fitted_are_explained_as_well(self, size):
        """What the basis misses of them was taken for errors: up to 63 % were off."""
        rng = np.random.default_rng(0)
        low_rank = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 40))
        errors = 3 * (rng.random(low_rank.shape) < 0.05)
        model = rf.RobustPCA().fit(low_rank + errors)
        found = model.explain(size * (low_rank + errors)).low_rank / size
        assert np.linalg.norm(found - low_rank) < 1e-3 * np.linalg.norm(low_rank)

    def test_a_single_huge_error_makes_no_row_a_large_one(self):
        model = rf.RobustPCA().fit(self.TRUTH.data)
        row = model.low_rank_[:1].copy()
        wrong = row.copy()
        wrong[0, 7] += 1e6
        np.testing.assert_allclose(model.explain(wrong).low_rank, row, atol=1e-4)

    @pytest.mark.parametrize("factor", [1e-300, 1e300])
    def test_what_leaves_no_room_gets_a_sentence(self, factor):
        with pytest.raises(rf.InputError, match="the samples have a largest value of about"):
            rf.RobustPCA().fit(factor * self.TRUTH.data)
        model = rf.RobustPCA().fit(self.TRUTH.data)
        with pytest.raises(rf.InputError, match="the samples have a largest value of about"):
            model.transform(factor * self.TRUTH.data)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_the_way_back_has_the_precision_of_the_fit(self, dtype):
        model = rf.RobustPCA().fit(self.TRUTH.data.astype(dtype))
        coefficients = model.transform(self.TRUTH.data.astype(dtype))
        assert coefficients.dtype == dtype
        assert model.inverse_transform(coefficients).dtype == dtype
        assert model.inverse_transform(coefficients.tolist()).dtype == dtype

    @pytest.mark.parametrize("as_list", [True, False])
    def test_masked_values_are_missing(self, as_list):
        hidden = np.random.default_rng(0).random(self.TRUTH.data.shape) < 0.1
        masked = np.ma.masked_array(self.TRUTH.data, hidden)
        given = list(masked) if as_list else masked
        with_nan = np.where(hidden, np.nan, self.TRUTH.data)
        model = rf.RobustPCA().fit(given)
        same = rf.RobustPCA().fit(with_nan)
        np.testing.assert_array_equal(model.low_rank_, same.low_rank_)
        np.testing.assert_array_equal(model.transform(given), same.transform(with_nan))


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        (np.zeros((2, 9)), r"the coefficients have shape \(2, 9\) .* as \(n, 3\)"),
        (np.zeros(3), r"the coefficients have shape \(3,\)"),
        ([[1, 2, 3], [4]], "the coefficients is no array of numbers"),
        ([["a", "b", "c"]], "the coefficients have shape .* and type <U1"),
        ([[1, 2, np.nan]], "the coefficients contain NaN or infinity"),
        # Too large for single precision.
        (np.full((1, 3), 1e200), "the coefficients are too large"),
    ],
)
def test_what_are_no_coefficients_gets_a_sentence(coefficients, message):
    data = low_rank_plus_sparse(30, 40, 3, 0.05, 0).data
    model = rf.RobustPCA().fit(data.astype(np.float32))
    with pytest.raises(rf.InputError, match=message):
        model.inverse_transform(coefficients)


def test_rows_that_no_float_can_hold_get_a_sentence():
    with pytest.raises(rf.InputError, match="X"):
        rf.RobustPCA().fit([[10**400, 1], [1, 2]])
