"""Who is near whom along the manifold: geodesic distances from the Gram matrix alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

# Images up to which the cubic method, which has less to set up, is the quicker one.
DENSE = 100


def unit_distances(gram: Floats) -> Floats:
    """Euclidean distances (n, n) between the rows of A over their norms, from A A'.

    A zero row is far from all.
    """
    from rankfold.manifold.kernels import chords

    return np.asarray(chords(np.ascontiguousarray(gram)))


def geodesics(distances: Floats, k: int) -> Floats:
    """Shortest paths (n, n) on the symmetrised k-nearest-neighbour graph.

    A pair that no path joins gets its Euclidean distance plus the largest geodesic there is. So it
    is farther than every pair that is joined, and still in order among its like.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra, floyd_warshall

    n = len(distances)
    nearest, straight = _nearest(distances, k)
    rows = np.repeat(np.arange(n), k)
    # Two identical pictures are neighbours too, but a dense graph takes a length below 1e-8 for no
    # edge.
    lengths = np.maximum(straight.ravel(), 1e-7)
    if n <= DENSE:
        graph = np.full((n, n), np.inf)
        graph[rows, nearest.ravel()] = lengths
        paths = np.asarray(floyd_warshall(np.minimum(graph, graph.T), directed=True))
    else:
        graph = csr_array((lengths, (rows, nearest.ravel())), shape=(n, n))
        paths = np.asarray(dijkstra(graph, directed=False))
    joined = np.isfinite(paths)
    return np.where(joined, paths, distances + paths[joined].max(initial=0.0))


def geodesic_neighbours(gram: Floats, k: int, links: int | None = None) -> tuple[Ints, Floats]:
    """The k geodesically nearest images (n, k) of every image, nearest first, and how far they are.

    ``links`` neighbours are joined in the graph, k by default. With k or more no path needs to be
    searched: the k nearest in space are one link away, and no path to anyone else is shorter than
    the straight line to it.
    """
    distances = unit_distances(gram)
    paths = distances if links is None or links >= k else geodesics(distances, links)
    return _nearest(paths, k)


def check_has_neighbours(count: int) -> None:
    """Refuse a single image, of which nothing can be rebuilt from others."""
    if count < 2:
        raise InputError(
            "one picture has no neighbours that it could be rebuilt from; give at least two, or "
            "leave the projector out"
        )


def _nearest(distances: Floats, k: int) -> tuple[Ints, Floats]:
    """Where the smallest entries of every row but the diagonal are (n, k), and what they are."""
    from rankfold.manifold.kernels import smallest

    nearest, lengths = smallest(distances, k)
    return nearest, lengths
