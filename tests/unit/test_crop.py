import numpy as np
import pytest

import rankfold as rf
from rankfold.crop import crop, crop_to_common


def test_a_cropped_result_shows_the_same_pixels(heads, aligned):
    part = crop(aligned, 5, 3, 40, 30)
    assert part.frame.shape == (35, 27)
    np.testing.assert_allclose(
        part.apply(heads.images), aligned.apply(heads.images)[:, 5:40, 3:30], atol=1e-12
    )
    np.testing.assert_array_equal(part.low_rank, aligned.low_rank[:, 5:40, 3:30])
    with pytest.raises(rf.InputError, match="no part of 4x4"):
        crop(aligned, 5, 3, 7, 30)
    assert crop_to_common(part).frame.shape == part.frame.shape
