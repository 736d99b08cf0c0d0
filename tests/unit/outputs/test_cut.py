"""The labels with the least cost, by trying all of them."""

import sys
from itertools import product

import numpy as np
import pytest
from scipy import ndimage

from rankfold.outputs import cut
from rankfold.outputs.cut import exact, labelled

SMALL = (3, 4)
EVERY = np.array(list(product([False, True], repeat=12))).reshape(-1, *SMALL)


def energy(labels, cost, judged, smoothness):
    """What labels (..., h, w) cost, True for what does not belong."""
    pixels = np.where(labels, 1.0, cost) * judged
    down = labels[..., 1:, :] != labels[..., :-1, :]
    along = labels[..., 1:] != labels[..., :-1]
    edges = down.sum(axis=(-1, -2)) + along.sum(axis=(-1, -2))
    return pixels.sum(axis=(-1, -2)) + smoothness * edges


@pytest.fixture
def without_maxflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "maxflow", None)


@pytest.fixture
def maxflow():
    return pytest.importorskip("maxflow")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("smoothness", [0.0, 0.4, 2.0])
def test_no_labels_cost_less(maxflow, seed, smoothness):
    rng = np.random.default_rng(seed)
    cost = rng.exponential(1.2, SMALL)
    # A third of the seeds has pixels of which nothing is known.
    judged = rng.random(SMALL) > (0.3 if seed % 3 == 0 else 0.0)
    found = labelled(cost, judged, smoothness)
    assert not found[~judged].any()
    # What is not judged costs nothing, so any labels may be there.
    consistent = (found == EVERY)[:, judged].all(axis=1)
    ours = energy(EVERY[consistent], cost, judged, smoothness).min()
    least = energy(EVERY, cost, judged, smoothness).min()
    assert ours == pytest.approx(least, abs=1e-9)


def blobs(seed, shape=(90, 120), count=4):
    """Errors of a picture with a few things in it: noise that costs little, and much inside."""
    rng = np.random.default_rng(seed)
    inside = np.zeros(shape, bool)
    y, x = np.mgrid[: shape[0], : shape[1]]
    for _ in range(count):
        centre = rng.uniform(0, 1, 2) * shape
        inside |= np.hypot(y - centre[0], x - centre[1]) < rng.uniform(3, 9)
    # As a squared error is: many small ones, also within things.
    cost = np.where(inside, 4.0, 0.04) * rng.chisquare(3, shape) / 3
    return cost, inside


@pytest.mark.parametrize("seed", range(6))
def test_parts_have_the_labels_of_the_whole(maxflow, seed, monkeypatch):
    cost, _ = blobs(seed)
    judged = np.random.default_rng(seed).random(cost.shape) > 0.02
    near = ndimage.binary_dilation(judged & (cost > 1), iterations=cut.AROUND)
    assert near.mean() < cut.WHOLE_ABOVE
    in_parts = labelled(cost, judged, 5.0)
    assert in_parts.any()
    monkeypatch.setattr(cut, "WHOLE_ABOVE", -1.0)
    whole = labelled(cost, judged, 5.0)
    # What is further than AROUND from any large error is not asked; of a gap between two things
    # that the whole cut closes, single pixels may so stay open.
    assert (in_parts != whole).sum() <= 2
    assert not (in_parts & ~whole).any()


@pytest.mark.parametrize("seed", range(6))
def test_the_approximation_is_nearly_as_good(maxflow, seed, monkeypatch):
    cost, inside = blobs(seed)
    judged = np.ones(cost.shape, bool)
    best = labelled(cost, judged, 5.0)
    monkeypatch.setitem(sys.modules, "maxflow", None)
    ours = labelled(cost, judged, 5.0)
    least = energy(best, cost, judged, 5.0)
    assert least <= energy(ours, cost, judged, 5.0) <= 1.05 * least
    assert (ours & inside).sum() > 0.9 * inside.sum()


def test_it_is_known_whether_the_cut_is_exact(maxflow, monkeypatch):
    assert exact()
    monkeypatch.setitem(sys.modules, "maxflow", None)
    assert not exact()


def test_without_the_package_things_are_found_too(without_maxflow):
    cost, inside = blobs(3)
    found = labelled(cost, np.ones(cost.shape, bool), 5.0)
    assert (found & inside).sum() / (found | inside).sum() > 0.85


@pytest.mark.parametrize("package", ["exact", "approximate"])
def test_where_nothing_errs_everything_belongs(package, monkeypatch):
    if package == "approximate":
        monkeypatch.setitem(sys.modules, "maxflow", None)
    assert not labelled(np.full((9, 9), 0.9), np.ones((9, 9), bool), 5.0).any()
    # An infinite cost of what is not judged neither.
    assert not labelled(np.full((9, 9), np.inf), np.zeros((9, 9), bool), 5.0).any()


@pytest.mark.parametrize("package", ["exact", "approximate"])
def test_one_wild_pixel_takes_no_others_along(package, monkeypatch):
    if package == "approximate":
        monkeypatch.setitem(sys.modules, "maxflow", None)
    cost = np.zeros((15, 15))
    cost[7, 7] = np.inf
    found = labelled(cost, np.ones((15, 15), bool), 5.0)
    assert found.sum() == 1
