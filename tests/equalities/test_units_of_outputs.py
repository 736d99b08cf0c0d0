"""Plates, restored pictures and masks do not depend on the unit of floats, however far it is."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import rendered_heads


@pytest.fixture(scope="module")
def heads():
    return rendered_heads(n=8, seed=3, occluded=0.3)


def made(heads, factor):
    """Everything that is made of pictures times a factor, over that factor."""
    images = [np.asarray(image, np.float64) * factor for image in heads.images]
    result = rf.align(images, method="rasl", frame=heads.frame, init=heads.start)
    found = result.mask(images)
    frames = list(found)
    return {
        "low rank": result.low_rank / factor,
        "plate": result.plate(images).picture / factor,
        "masks": np.stack([frame.mask for frame in frames]),
        "background": np.stack([frame.background for frame in frames]) / factor,
        "canvas": found.canvas / factor,
        "noise": found.noise / factor,
        "restored": np.stack([one.picture for one in result.restore(images)]) / factor,
    }


@pytest.fixture(scope="module")
def plain(heads):
    return made(heads, 1.0)


@pytest.mark.parametrize("exponent", [-500, -100, 200])
def test_a_power_of_two_changes_no_digit(heads, plain, exponent):
    """Beyond 1e38 plates were infinite and masks were others, without a word."""
    for name, values in made(heads, 2.0**exponent).items():
        np.testing.assert_array_equal(values, plain[name], err_msg=name)
