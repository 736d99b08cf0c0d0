"""What is measured in a cell."""

from dataclasses import replace

import numpy as np

import rankfold as rf
from rankfold_lab.reproduce.measures import distance_to_own
from rankfold_lab.reproduce.methods import sheet
from rankfold_lab.reproduce.standins import masked_person


def test_the_distance_to_ones_own_is_zero_for_ones_own():
    person = masked_person(1)
    result = rf.align(list(person.images), method="rpca")
    free = np.array([hidden == "" for hidden in person.hidden])
    mixed = np.einsum("ij,jkl->ikl", np.full((13, 7), 1 / 7), result.aligned[free])
    own = replace(result, low_rank=mixed)
    assert distance_to_own(own, person, "scarf") < 1e-10
    scarf = replace(result, low_rank=result.aligned)
    assert distance_to_own(scarf, person, "scarf") > 0.1


def test_a_sheet_has_all_its_tiles():
    tile = np.linspace(0, 1, 20).reshape(4, 5)
    picture = sheet([[tile, tile, tile], [tile]], zoom=2)
    assert picture.shape == (2 * 8 + 3, 3 * 10 + 6)
    assert picture[11 + 3, -1] == 255
