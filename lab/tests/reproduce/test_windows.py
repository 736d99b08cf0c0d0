"""The facade windows."""

import numpy as np

from rankfold_lab.reproduce.standins import windows
from rankfold_lab.reproduce.windows import patched


def test_patches_lie_on_the_window_and_are_all_that_changed():
    photographs = windows()
    given, changed, truth = patched(photographs)
    for g, c, t in zip(given, changed, truth, strict=True):
        assert 0.005 < c.mean() < 0.2
        np.testing.assert_array_equal(g[c == 0], t[c == 0])
