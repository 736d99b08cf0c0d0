"""Bases that are made without the picture that is compared with them."""

import numpy as np
import pytest

from rankfold.align.model import GROUP, fit_model
from rankfold.align.settings import BasisSettings
from rankfold.scale import Serial, Threads

NUMBERS = BasisSettings()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def model_of(rows, **words):
    return fit_model(rows, rows, np.ones(rows.shape, bool), NUMBERS, **words)


def test_the_basis_of_a_picture_is_made_without_it(rng):
    rows = rng.standard_normal((6, 1)) @ rng.standard_normal((1, 50))
    rows[2] = rng.standard_normal(50)
    model = model_of(rows)
    one = np.ones((1, 50), bool)
    cost = np.array([model.others(i).cost(rows[i : i + 1], one)[0] for i in range(6)])
    assert np.argmax(cost) == 2
    assert cost[2] > 3 * np.delete(cost, 2).max()


def test_single_precision_gives_the_same_cost(rng):
    rows = rng.standard_normal((50, 8)) @ rng.standard_normal((8, 900)) / 30
    rows[:, ::7] += 2 * (rng.random((50, 129)) < 0.5)
    valid = rng.random(rows.shape) < 0.9
    model = fit_model(rows, rows, valid, NUMBERS)
    cost, single = (
        model.others(3, dtype).cost(rows[[3, 43]], valid[[3, 43]]) for dtype in (float, np.float32)
    )
    np.testing.assert_allclose(single, cost, rtol=1e-4)


def test_groups_share_a_basis_and_leave_nobody_out(rng):
    model = model_of(rng.standard_normal((410, 20)))
    groups = model.shared()
    assert sorted(np.concatenate(groups)) == list(range(410))
    assert all(len(set(model.fold[group])) == 1 for group in groups)
    assert max(len(group) for group in groups) <= GROUP


def test_values_of_groups_come_back_in_the_order_of_the_pictures(rng):
    model = model_of(rng.standard_normal((90, 20)))
    with Threads(2) as threads:
        for executor in (Serial(), threads):
            found = model.for_groups(lambda group: 2.0 * group, executor)
            np.testing.assert_array_equal(found, 2.0 * np.arange(90))


def test_the_bases_are_the_leading_singular_vectors_of_the_others(rng):
    # Rank 5 of 9.
    rows = rng.standard_normal((9, 5)) @ rng.standard_normal((5, 70))
    model = model_of(rows, rank=3)
    for i in range(9):
        expected = np.linalg.svd(np.delete(rows, i, axis=0))[2][:3]
        basis = model.others(i).rows
        np.testing.assert_allclose(basis.T @ basis, expected.T @ expected, atol=1e-10)


def test_only_good_pictures_go_into_the_bases(rng):
    rows = rng.standard_normal((10, 30))
    good = np.arange(10) < 8
    one = model_of(rows, good=good)
    wild = rows.copy()
    wild[8:] = 1e3
    two = fit_model(rows, wild, np.ones(rows.shape, bool), NUMBERS, good=good)
    for basis, other in zip(one.bases, two.bases, strict=True):
        np.testing.assert_allclose(basis.T @ basis, other.T @ other, atol=1e-6)


@pytest.mark.parametrize(("n", "rank"), [(5, 3), (30, 6), (100, 12)])
def test_the_rank_follows_from_the_number_of_pictures_within_limits(rng, n, rank):
    model = model_of(rng.standard_normal((n, 120)))
    assert {len(basis) for basis in model.bases} == {rank}
