"""Which pixels do not belong: the labels with the least cost, where neighbours like to agree.

A pixel that belongs costs what its error says; one that does not costs one. Every edge between two
neighbours with different labels costs as much as the smoothness. The exact minimum is a cut of a
graph, which PyMaxflow finds. Without that package an approximation serves: labels as probabilities
that are brought into agreement with their neighbours, and slowly become sharp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.stack import Bools

Array = npt.NDArray[Any]

# An error above this costs no more: one wild pixel shall not outweigh all of its neighbours.
MOST_COST = 1e4

# Unit: px. Around pixels with a large error, a cut is looked for so far.
AROUND = 8

# Share of the picture: where cuts are looked for in more, it is done once for the whole.
WHOLE_ABOVE = 0.6

# Sharpness of the probabilities in the approximation, from the first rounds to the last.
SHARPNESS = np.geomspace(0.05, 2.0, 40)


def exact() -> bool:
    """Whether the exact minimum can be found: whether PyMaxflow is installed."""
    try:
        import maxflow  # noqa: F401
    except ImportError:
        return False
    return True


def labelled(cost: Array, judged: Bools, smoothness: float) -> Bools:
    """Return which pixels do not belong.

    Parameters
    ----------
    cost : (h, w) array
        What it costs if a pixel belongs; one is what it costs if it does not.
    judged : (h, w) array
        Elsewhere nothing is known, and neither costs anything.
    smoothness : float

    Returns
    -------
    (h, w) array of bool
        False where a pixel is not judged.
    """
    found = np.zeros(cost.shape, bool)
    # What is far from any large error belongs, and need not be asked.
    large = (judged & (cost > 1)).astype(np.uint8)
    near = ndimage.maximum_filter(large, 2 * AROUND + 1) > 0
    if not near.any():
        return found
    minimum = _by_graph if exact() else _by_field
    if near.mean() > WHOLE_ABOVE:
        return minimum(cost, judged, smoothness) & judged
    labels, _ = ndimage.label(near)
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        here = minimum(cost[box], judged[box], smoothness)
        found[box] |= here & (labels[box] == number)
    return found & judged


def _by_graph(cost: Array, judged: Bools, smoothness: float) -> Bools:
    """Find the exact minimum."""
    import maxflow

    graph = maxflow.Graph[float]()
    nodes = graph.add_grid_nodes(cost.shape)
    graph.add_grid_edges(nodes, smoothness)
    belongs = np.where(judged, np.minimum(cost, MOST_COST), 0.0)
    graph.add_grid_tedges(nodes, belongs, np.where(judged, 1.0, 0.0))
    graph.maxflow()
    # True for the side of the sink, which pays what it costs to belong.
    return np.asarray(~graph.get_grid_segments(nodes))


def _by_field(cost: Array, judged: Bools, smoothness: float) -> Bools:
    """Approximate the minimum: every pixel sees the mean of what its neighbours are."""
    gain = np.where(judged, np.minimum(cost, MOST_COST) - 1, 0.0)
    share = np.full(cost.shape, 0.5)
    for sharpness in SHARPNESS:
        # Minus one for a neighbour that belongs, one for one that does not.
        leaning = 2 * share - 1
        pull = np.zeros(cost.shape)
        pull[1:] += leaning[:-1]
        pull[:-1] += leaning[1:]
        pull[:, 1:] += leaning[:, :-1]
        pull[:, :-1] += leaning[:, 1:]
        field = np.clip(sharpness * (gain + smoothness * pull), -50, 50)
        share = 0.5 * share + 0.5 / (1 + np.exp(-field))
    return np.asarray(share > 0.5)
