"""One refinement of all transforms over all links, so that chains do not drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import splu

from rankfold.align.matching.keypoints import Keypoints
from rankfold.align.matching.pairs import Pair
from rankfold.align.settings import MatchSettings
from rankfold.families import Family, Floats, coordinate_jacobian
from rankfold.families.points import affine_matrix, homogeneous

# Damping of the steps (Levenberg-Marquardt): where it starts, how it falls and rises, its limit.
DAMPING = 1e-4
EASE = 0.3
STIFFEN = 10.0
STIFFEST = 1e8

# A step that lowers the cost by a smaller share is the last one.
ENOUGH = 1e-6

# The least depth, of about one, that a matched point may have: closer is at the horizon.
HORIZON = 0.02

# Strips of a picture along which matches are counted off, so that those kept are well spread.
STRIPS = 8


@dataclass(frozen=True)
class Sizes:
    """The sizes of n pictures and of their views."""

    extents: Floats  # (n, 2) width and height of the originals, px
    reductions: Floats  # (n,) px of the original that one px of the view spans

    @classmethod
    def of(cls, keypoints: Sequence[Keypoints]) -> Sizes:
        """Collect the sizes of the pictures that keypoints were found in."""
        extents = np.array([one.extent for one in keypoints]).reshape(-1, 2)
        return cls(extents, np.array([float(one.reduction) for one in keypoints]))

    def __len__(self) -> int:
        """Count the pictures."""
        return len(self.extents)


@dataclass(frozen=True)
class Shared:
    """Matches of one direction of a link, in conditioned coordinates."""

    origin: int  # position among the moving pictures; -1 is the reference
    target: int
    points: Floats  # (k, 2) of the origin
    aims: Floats  # (k, 2) of the target
    width: float  # where a residual counts as an outlier's (Huber), conditioned


def refine(
    family: Family,
    transforms: Floats,
    reference: int,
    pairs: Sequence[Pair],
    sizes: Sizes,
    numbers: MatchSettings,
) -> Floats:
    """Transforms (n, 3, 3) that bring all matches of all links together.

    The residuals are those of each match in both of its pictures, through the reference, with
    Huber's loss. The reference stays. What has no way to the reference stays NaN, and everything
    stays as it was where the refinement does not help.

    Parameters
    ----------
    family : Family
    transforms : (n, 3, 3) array
        From the reference to each picture, px of the originals; NaN where there is no way.
    reference : int
    pairs : sequence of Pair
    sizes : Sizes
    numbers : MatchSettings
    """
    reached = np.asarray(np.isfinite(transforms).all(axis=(1, 2)))
    moving = [int(k) for k in np.flatnonzero(reached) if k != reference]
    if not moving:
        return transforms
    # One unit for all pictures, so that translations and motions stay what they are.
    unit = float(sizes.extents[reached].max()) / 2
    conditions = affine_matrix(np.eye(2) / unit, (0.5 - sizes.extents / 2) / unit)
    position = {index: k for k, index in enumerate(moving)}
    position[reference] = -1
    both = [
        shared
        for pair in pairs
        if reached[pair.one] and reached[pair.two] and pair.strength
        for shared in _both_ways(pair, position, conditions, sizes, unit, numbers)
    ]
    back = np.linalg.inv(conditions[reference])
    start = family.parameters(conditions[moving] @ transforms[moving] @ back)
    # A link with a match at the horizon contradicts the others, and no step could be taken.
    G = _matrices(family, start)
    inverses = _inverted(G)
    possible = [shared for shared in both if np.isfinite(_loss(G, inverses, shared))]
    if not possible:
        return transforms
    found = _descend(family, start, possible, numbers.refine_steps)
    refined = transforms.copy()
    matrices = np.linalg.inv(conditions[moving]) @ family.matrix(found) @ conditions[reference]
    refined[moving] = matrices / matrices[:, 2:, 2:]
    return refined


def _both_ways(
    pair: Pair,
    position: dict[int, int],
    conditions: Floats,
    sizes: Sizes,
    unit: float,
    numbers: MatchSettings,
) -> list[Shared]:
    """The matches of a link, from one to two and from two to one."""
    chosen = well_spread(pair.points_one, numbers.points_a_link)
    # Conditioning moves and scales, so points need no division.
    ends = []
    for index, points in ((pair.one, pair.points_one), (pair.two, pair.points_two)):
        C = conditions[index]
        width = numbers.huber * sizes.reductions[index] / unit
        ends.append((position[index], points[chosen] * C[0, 0] + C[:2, 2], width))
    (one, a, width_one), (two, b, width_two) = ends
    return [Shared(one, two, a, b, width_two), Shared(two, one, b, a, width_one)]


def well_spread(points: Floats, most: int) -> npt.NDArray[np.int_]:
    """Indices of at most so many points (k, 2), evenly along a line that winds through them all."""
    if len(points) <= most:
        return np.arange(len(points))
    low = points.min(axis=0)
    span = np.maximum(np.ptp(points, axis=0), 1e-9)
    place = (points[:, 0] - low[0]) / span[0]
    column = np.minimum(place * STRIPS, STRIPS - 1).astype(int)
    # Down one strip, up the next.
    along = np.where(column % 2 == 0, points[:, 1], -points[:, 1])
    order = np.lexsort((along, column))
    evenly = np.linspace(0, len(points) - 1, most).round().astype(int)
    return np.asarray(order[evenly])


def _descend(family: Family, parameters: Floats, both: list[Shared], steps: int) -> Floats:
    """Parameters (n, p) of the lowest cost, by damped Gauss-Newton steps."""
    cost = _cost(family, parameters, both)
    damping = DAMPING
    for _ in range(steps):
        normal, gradient = _normal_equations(family, parameters, both)
        while damping < STIFFEST:
            step = _solve(normal, gradient, damping).reshape(parameters.shape)
            new = _cost(family, parameters - step, both)
            if new < cost:
                break
            damping *= STIFFEN
        else:
            return parameters
        gain = 1 - new / cost
        parameters = parameters - step
        cost = new
        damping *= EASE
        if gain < ENOUGH:
            break
    return parameters


def _solve(normal: Any, gradient: Floats, damping: float) -> Floats:
    """The damped step (n p,)."""
    diagonal = normal.diagonal()
    # A picture whose links all left has no equation; it stays where it is.
    floor = 1e-12 * diagonal.max() + 1e-300
    damped = normal + sparse.diags_array(damping * diagonal + floor)
    factors = splu(damped.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    return np.asarray(factors.solve(gradient))


def _matrices(family: Family, parameters: Floats) -> Floats:
    """Matrices (n + 1, 3, 3) of the moving pictures; the last is the reference, at index -1."""
    return np.concatenate([family.matrix(parameters), np.eye(3)[None]])


def _inverted(G: Floats) -> Floats:
    """Inverses of matrices (n, 3, 3), of any scale."""
    return np.asarray(np.linalg.inv(G), dtype=np.float64)


def _cost(family: Family, parameters: Floats, both: list[Shared]) -> float:
    """Sum of Huber's loss over all residuals; infinite where a match is at the horizon."""
    G = _matrices(family, parameters)
    try:
        inverses = _inverted(G)
    except np.linalg.LinAlgError:
        return np.inf
    return float(sum(_loss(G, inverses, shared) for shared in both))


def _loss(G: Floats, inverses: Floats, shared: Shared) -> float:
    """Huber's loss of the residuals of a link; infinite where a match is at the horizon."""
    residual = _residual(G[shared.target] @ inverses[shared.origin], shared)
    if residual is None:
        return np.inf
    length = np.sqrt((residual**2).sum(axis=1)) / shared.width
    # A square near zero, a line further out.
    return float(np.where(length < 1, length**2, 2 * length - 1).sum())


def _residual(M: Floats, shared: Shared) -> Floats | None:
    """How far points land from their aims (k, 2); None where one is at the horizon."""
    mapped = homogeneous(shared.points) @ M.T
    depth = mapped[:, 2]
    # The sign of a homogeneous matrix is arbitrary; a point on the other side is not.
    depth = depth * np.sign(depth[0])
    if depth.min() < HORIZON * depth.max():
        return None
    return mapped[:, :2] / mapped[:, 2:] - shared.aims


def _normal_equations(family: Family, parameters: Floats, both: list[Shared]) -> tuple[Any, Floats]:
    """J'WJ (n p, n p), sparse, and J'Wr (n p,) with Huber's weights, block by block."""
    n, p = parameters.shape
    G = _matrices(family, parameters)
    inverses = _inverted(G)
    derivatives = family.derivative(parameters)
    blocks: dict[tuple[int, int], Floats] = {}
    gradient = np.zeros((n, p))
    for shared in both:
        jacobians, weight, residual = _linearised(G, inverses, derivatives, shared)
        for first, left in jacobians.items():
            weighted = (left * weight[:, None, None]).reshape(-1, p)
            gradient[first] += weighted.T @ residual.ravel()
            for second, right in jacobians.items():
                block = weighted.T @ right.reshape(-1, p)
                blocks[first, second] = blocks.get((first, second), 0) + block
    return _assembled(blocks, n, p), gradient.ravel()


def _linearised(
    G: Floats, inverses: Floats, derivatives: Floats, shared: Shared
) -> tuple[dict[int, Floats], Floats, Floats]:
    """Jacobians (k, 2, p) by each moving picture, Huber's weights (k,) and residuals (k, 2)."""
    i = shared.origin
    j = shared.target
    M = G[j] @ inverses[i]
    residual = _residual(M, shared)
    # Steps to where a match is at the horizon were refused.
    assert residual is not None
    length = np.sqrt((residual**2).sum(axis=1)) / shared.width
    weight = 1 / (np.maximum(length, 1.0) * shared.width**2)
    # M = G_j G_i^-1, so dM = dG_j G_i^-1 and dM = -M dG_i G_i^-1.
    jacobians = {}
    if j >= 0:
        jacobians[j] = coordinate_jacobian(M, derivatives[j] @ inverses[i], shared.points)
    if i >= 0:
        change = -M @ derivatives[i] @ inverses[i]
        jacobians[i] = coordinate_jacobian(M, change, shared.points)
    return jacobians, weight, residual


def _assembled(blocks: dict[tuple[int, int], Floats], n: int, p: int) -> Any:
    """A sparse matrix (n p, n p) of blocks (p, p)."""
    places = np.array(list(blocks)).reshape(-1, 2) * p
    values = np.array(list(blocks.values())).reshape(-1, p, p)
    rows = places[:, 0, None, None] + np.arange(p)[:, None] + np.zeros((1, p), dtype=int)
    columns = places[:, 1, None, None] + np.arange(p) + np.zeros((p, 1), dtype=int)
    entries = (values.ravel(), (rows.ravel(), columns.ravel()))
    return sparse.coo_array(entries, shape=(n * p, n * p)).tocsc()
