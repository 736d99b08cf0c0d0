"""The paper's Algorithm 2 as printed: it runs, and it does not converge."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import low_rank_plus_sparse, rendered_heads
from rankfold_lab.literal import LITERAL


@pytest.mark.parametrize("projector", ["average", "regression"])
def test_it_ends_with_a_clear_status_and_no_decomposition(projector):
    data = low_rank_plus_sparse(30, 300, 3, 0.05, 1).data
    with pytest.warns(rf.ConvergenceWarning):
        result = rf.decompose(data, method=LITERAL, projector=projector)
    assert result.method == "literal"
    assert result.status in (rf.Status.MAX_ITER, rf.Status.NON_FINITE)
    assert result.trace.inner["primal_residual"][-1] > 1e-2
    assert np.isfinite(result.low_rank).all()


def test_it_aligns_nothing_but_says_so():
    heads = rendered_heads(6, frame=(16, 15), seed=0)
    with pytest.warns(rf.ConvergenceWarning):
        result = rf.align(
            heads.images, method=LITERAL, frame=heads.frame, init=heads.start, max_outer=1
        )
    assert not result.status.good


def test_without_a_projector_it_is_refused():
    with pytest.raises(rf.InputError, match="needs a projector"):
        rf.decompose(np.eye(5), method=LITERAL, projector=None)
