"""Whether pictures that a region splits off do have something in front of them there.

The region is left out, the pictures are predicted from what is around it, and the predictions are
held against what the pictures show. A pixel is contradicted where that differs by a twelfth of the
pixel range, and by more than twice what is usual there. What several pictures share is contradicted
in the same place in all of them, and not in the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from rankfold.align.occluders.candidates import Candidate, Regions, Sizes
from rankfold.align.occluders.grid import Grid, grown
from rankfold.align.occluders.prediction import Array, Bools, Context, Coordinates, Floats
from rankfold.align.settings import OccluderSettings


@dataclass(frozen=True)
class Pictures:
    """What the evidence is taken from: n pictures of c x h x w."""

    data: Array  # D, n x c x h x w
    valid: Bools  # n x h x w
    limits: Floats  # (n,): a difference that contradicts, in the scale of picture i
    coordinates: Coordinates  # of the low-rank pictures
    grid: Grid
    shown: Floats  # g x g x r x r: what each cell shows of the coordinates
    window: int  # of the vote, px

    def only(self, chosen: npt.NDArray[np.intp]) -> Pictures:
        """Some of the pictures."""
        return replace(
            self,
            data=self.data[chosen],
            valid=self.valid[chosen],
            limits=self.limits[chosen],
            coordinates=replace(self.coordinates, points=self.coordinates.points[chosen]),
        )


@dataclass(frozen=True)
class Evidence:
    """What is there where a region is left out, if some pictures are members."""

    cells: Bools  # g x g: the region
    members: Bools  # (n,)
    footprint: Bools  # h x w: contradicted in at least half of the members
    contradicted: Bools  # n x h x w
    share: Floats  # (n,): how much of the footprint is contradicted
    # The lowest tenth of the members' shares less the highest tenth of the others'.
    confidence: float
    # The score of the split times the square of the confidence: what decides.
    strength: float = 0.0


def examine(
    pictures: Pictures, candidate: Candidate, sizes: Sizes, numbers: OccluderSettings
) -> Evidence | None:
    """Follow a candidate to the pictures that agree on a footprint; None where there are none.

    Who contradicts the prediction depends on who is left to predict, and the other way round. So
    members are chosen again and again, at last only those that show nearly all of the footprint,
    and the strongest of all states is taken.
    """
    cells = candidate.cells
    left_out = grown(cells)
    if left_out.mean() > numbers.most_hidden:
        return None
    regions = Regions.of(pictures.coordinates.points, pictures.shown, cells[None], numbers)
    least = numbers.filled * pictures.grid.pixels(cells).sum()
    states = []
    members = candidate.members
    for turn in range(numbers.turns + 1):
        state = gather(pictures, cells, left_out, members, numbers)
        if state is None:
            break
        large_enough = state.footprint.sum() >= least and sizes.fit(members)
        if large_enough and state.confidence >= numbers.confidence:
            score = float(regions.score(members[None])[0])
            states.append(replace(state, strength=score * state.confidence**2))
        now = state.share >= 0.5
        settled = (now == members).all() or turn >= numbers.turns - 1
        if settled:
            now = state.share >= numbers.nearly
        hopeless = turn >= numbers.hopeless and state.confidence <= 0
        if hopeless or (now == members).all() or min(now.sum(), (~now).sum()) < 2:
            break
        members = now
    return max(states, key=lambda state: state.strength, default=None)


def gather(
    pictures: Pictures,
    cells: Bools,
    left_out: Bools,
    members: Bools,
    numbers: OccluderSettings,
) -> Evidence | None:
    """The evidence for some members (n,), without its strength; None without a footprint."""
    contradicted = contradictions(pictures, left_out, ~members, numbers)
    footprint = contradicted[members].mean(axis=0) >= 0.5
    if not footprint.any():
        return None
    share = contradicted[:, footprint].mean(axis=1)
    return Evidence(cells, members, footprint, contradicted, share, margin(share, members))


def margin(share: Floats, members: Bools) -> float:
    """The lowest tenth of the members' shares (n,) less the highest tenth of the others'."""
    low = np.quantile(share[members], 0.1)
    high = np.quantile(share[~members], 0.9)
    return float(low - high)


def contradictions(
    pictures: Pictures, left_out: Bools, donors: Bools, numbers: OccluderSettings
) -> Bools:
    """Where (n, h, w) pictures are not as the donors (n,) predict them.

    ``left_out`` (g, g) are the cells that nothing is predicted from; only they are looked at.
    """
    inside = pictures.shown[left_out].sum(axis=0)
    seen = np.eye(len(inside)) - inside
    context = Context.outside(pictures.coordinates.points, seen[None])
    rest, _ = context.predict(donors[None], numbers.ridge)
    predicted = (context.points - rest)[0] * context.norms[0][:, None]
    where = pictures.grid.pixels(left_out)
    n, channels = pictures.data.shape[:2]
    basis = pictures.coordinates.basis.reshape(-1, channels, *where.shape)[:, :, where]
    shown = pictures.data[:, :, where]
    # Nothing is darker than black: in the shade a linear prediction would go below.
    expected = np.clip(np.tensordot(predicted, basis, axes=1), shown.min(), shown.max())
    off = np.abs(shown - expected)
    usual = np.median(off[donors], axis=0)
    limit = np.maximum(pictures.limits[:, None, None], numbers.times * usual)
    flags = np.zeros((n, *where.shape), dtype=np.float32)
    flags[:, where] = (off > limit).any(axis=1)
    return vote(flags, pictures.window) & where & pictures.valid


def vote(flags: Array, window: int) -> Bools:
    """Where most pixels of the window around a pixel of pictures (n, h, w) are flagged."""
    shares = ndimage.uniform_filter(flags, (0, window, window), mode="nearest")
    return np.asarray(shares > 0.5)
