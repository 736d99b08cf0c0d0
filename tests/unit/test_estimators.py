import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankfold as rf
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold.metrics import alignment_error


@parametrize_with_checks([rf.RobustPCA(tol=1e-6)])
def test_robust_pca_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def test_new_rows_are_explained_in_spite_of_gross_errors_and_holes():
    truth = low_rank_plus_sparse(120, 200, 4, 0.05, 0)
    model = rf.RobustPCA().fit(truth.data[:80])
    assert model.components_.shape == (4, 200)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-10)
    new, clean = truth.data[80:].copy(), truth.low_rank[80:]
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
    old, new = slice(0, 24), slice(24, 36)
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
    # the same pictures, but for a blur against aliasing that follows the start
    np.testing.assert_allclose(explained.low_rank + explained.sparse, dirty, atol=0.01)


def test_estimators_are_imported_only_when_asked_for():
    import subprocess
    import sys

    code = "import sys, rankfold; assert not {'sklearn', 'numba'} & set(sys.modules); rankfold.RobustPCA"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        rf.Nonsense  # noqa: B018
