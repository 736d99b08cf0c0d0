"""Sums in the order of one tree, whoever adds up which part."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfold.admm.trees import Branch, grown, total


def written(one, other):
    """A sum that shows its order."""
    return f"({one}{other})"


def leaves(first, last):
    return [Branch(k, 1, chr(ord("a") + k)) for k in range(first, last)]


@pytest.mark.parametrize(
    ("count", "order"),
    [(1, "a"), (2, "(ab)"), (3, "((ab)c)"), (4, "((ab)(cd))"), (7, "(((ab)(cd))((ef)g))")],
)
def test_the_order_is_that_of_a_tree(count, order):
    assert total(leaves(0, count), written) == order


@given(st.integers(1, 26), st.lists(st.integers(0, 26), max_size=4))
def test_it_does_not_depend_on_who_adds_up_which_part(count, cuts):
    edges = sorted({0, count, *(cut for cut in cuts if cut < count)})
    parts = [grown(leaves(a, b), written) for a, b in itertools.pairwise(edges)]
    assert total([one for part in parts for one in part], written) == total(
        leaves(0, count), written
    )


@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_few_branches_are_there_at_a_time(count):
    numbers = [Branch(k, 1, k) for k in range(count)]
    found = grown(numbers, np.add)
    assert len(found) <= np.log2(count) + 1
    assert total(numbers, np.add) == count * (count - 1) / 2
