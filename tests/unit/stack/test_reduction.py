"""Coarser pictures: means of valid pixels, and transforms that refer to the originals."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import warped_low_rank
from rankfold.metrics import alignment_error


def test_transforms_refer_to_the_originals():
    batch = warped_low_rank(20, rank=3, frame=(60, 60), misalignment=1.5, seed=0)
    stack = rf.Stack.of(batch.images)
    plain = rf.align(stack, method="rasl", frame=batch.frame, init=batch.start)
    small = rf.align(stack.reduced(2), method="rasl", frame=batch.frame, init=batch.start)
    np.testing.assert_array_equal(small.source_shapes, plain.source_shapes)
    np.testing.assert_allclose(small.start, plain.start, atol=1e-9)
    assert alignment_error(plain.transforms, batch.truth, batch.points).mean < 0.1
    assert alignment_error(small.transforms, batch.truth, batch.points).mean < 0.2


def test_means_masks_and_sizes():
    image = np.arange(90.0).reshape(9, 10)
    image[0, 0] = np.nan
    stack = rf.Stack.of([image, image + 1]).reduced(2)
    assert stack.sources[0].shape == (4, 5)
    assert stack.sources[0][1, 1] == image[2:4, 2:4].mean()
    assert stack.masks[0].all()  # three of four pixels are enough
    assert stack.sources[0][0, 0] == pytest.approx(np.nanmean(image[:2, :2]))
    holes = image.copy()
    holes[:2, :2] = np.nan
    holes[3, 3] = 5
    assert not rf.Stack.of([holes]).reduced(2).masks[0][0, 0]
    lattice = np.where(np.arange(10) % 2, image, np.nan)
    lattice[1::2] = np.nan
    with pytest.raises(rf.InputError, match=r"nothing is left of image 0"):
        rf.Stack.of([lattice]).reduced(2)
    assert stack.original_shapes == [(9, 10)] * 2
    with pytest.raises(rf.InputError, match="too small to be reduced by 3"):
        rf.Stack.of([image]).reduced(3)
    with pytest.raises(rf.InputError, match="at least 1"):
        stack.reduced(0)
