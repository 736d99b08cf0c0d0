"""What a result can make of the pictures at their own size: plate, restore, mask."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankfold.errors import InputError
from rankfold.outputs.foreground import Asked, Foreground
from rankfold.outputs.masks import masks_in_frame, masks_of
from rankfold.outputs.means import Means, Progress
from rankfold.outputs.originals import Aligned, Images, Masks
from rankfold.outputs.plate import Plate, plate_of
from rankfold.outputs.restore import HiddenMasks, Restoration, restoration_of
from rankfold.outputs.settings import OutputSettings

Array = npt.NDArray[Any]


class InMemory(Aligned, Protocol):
    """An alignment with its aligned pictures."""

    @property
    def aligned(self) -> Array:
        """(n, h, w[, c]) array, NaN where missing."""


class AtFullSize:
    """Adds to an alignment what is made from the originals, without aligning again."""

    def plate(
        self: Aligned,
        originals: Images,
        *,
        light: int | str | None = None,
        area: str = "frame",
        scale: float | None = None,
        masks: Masks = None,
        settings: OutputSettings | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        scratch: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Plate:
        """Put one clean picture together, at the resolution of the originals.

        At every pixel, the patch that most pictures agree on wins, and the pictures that agree are
        averaged, after their light was made the same. What the decomposition says does not belong
        has less of a say.

        Parameters
        ----------
        originals : list of arrays, one array, a path or a Source
            The pictures that were aligned, at any resolution. Of a path one is read at a time.
        light : int or str, optional
            The picture whose light the plate shall have; the usual light of all if left out.
        area : {"frame", "common", "union"}
            The frame of the run, the largest rectangle that every picture covers, or everything
            that some picture covers.
        scale : float, optional
            Pixels of the plate for one of the frame; as many as the originals have if left out.
        masks : sequence of (h, w) arrays, optional
            True where a pixel may be used, of pictures in memory.
        settings : OutputSettings, optional
            Every tuned number.
        n_jobs : int, optional
            Threads; -1 for all cores.
        memory_limit : int or str, optional
            Bytes, or "2G": what needs more is on disk meanwhile. 60 % of what is free by default.
        scratch : str or Path, optional
            The folder for that.
        progress : callable, optional
            Is told how many steps are done, and of how many.

        Returns
        -------
        Plate
        """
        means = Means(settings or OutputSettings(), n_jobs, memory_limit, scratch, progress)
        return plate_of(self, originals, means, masks=masks, light=light, area=area, scale=scale)

    def restore(
        self: Aligned,
        originals: Images,
        *,
        hidden: HiddenMasks | None = None,
        automatic: bool | None = None,
        masks: Masks = None,
        settings: OutputSettings | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        scratch: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Restoration:
        """Replace in every picture what was in front by what the others show.

        Each picture keeps its geometry, size and type, and every pixel that is not replaced is the
        same to the last bit.

        Parameters
        ----------
        originals : list of arrays, one array, a path or a Source
            The pictures that were aligned, at any resolution.
        hidden : sequence of (h, w) arrays or None, optional
            True where a picture shall be replaced; None for a picture of which nothing is. What is
            missing (NaN, transparent) is always replaced.
        automatic : bool, optional
            Whether to look for what does not belong; by default, if nothing is said to be hidden.
        masks, settings, n_jobs, memory_limit, scratch, progress
            As in :meth:`plate`.

        Returns
        -------
        Restoration
            Iterate over it; a picture is restored when it is asked for.
        """
        means = Means(settings or OutputSettings(), n_jobs, memory_limit, scratch, progress)
        return restoration_of(
            self, originals, means, hidden=hidden, automatic=automatic, masks=masks
        )

    def mask(
        self: InMemory,
        originals: Images | None = None,
        *,
        sensitivity: float = 1.0,
        min_area: int = 0,
        shadows: str = "keep",
        settings: OutputSettings | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        scratch: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Foreground:
        """Say of every pixel whether it belongs.

        Parameters
        ----------
        originals : list of arrays, one array, a path or a Source, optional
            The pictures that were aligned, at any resolution: masks are in their pixels. Without
            them, masks are in the frame.
        sensitivity : float
            Above one, smaller errors count.
        min_area : int
            Smaller pieces are left out, px.
        shadows : {"keep", "drop"}
            Whether cast shadows are kept in the masks. What is dropped is the background times one
            factor; a dark thing on a plain ground is that too.
        settings, n_jobs, memory_limit, scratch, progress
            As in :meth:`plate`.

        Returns
        -------
        Foreground
            Iterate over it; a picture is judged when it is asked for.
        """
        asked = Asked(sensitivity, min_area, shadows)
        means = Means(settings or OutputSettings(), n_jobs, memory_limit, scratch, progress)
        if originals is not None:
            return masks_of(self, originals, asked, means)
        return masks_in_frame(
            self.names, self.low_rank, self.sparse, self.aligned, self.failed, asked, means
        )


class AsTheyLie:
    """Adds masks to a decomposition of pictures that lie in one frame as they are."""

    low_rank: Array
    sparse: Array

    def mask(
        self,
        *,
        sensitivity: float = 1.0,
        min_area: int = 0,
        shadows: str = "keep",
        settings: OutputSettings | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        scratch: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Foreground:
        """Say of every pixel whether it belongs; see :meth:`rankfold.Alignment.mask`."""
        if self.low_rank.ndim < 3:
            raise InputError("masks are of pictures, and this is the decomposition of a matrix")
        count = len(self.low_rank)
        return masks_in_frame(
            tuple(f"picture {k}" for k in range(count)),
            self.low_rank,
            self.sparse,
            Sums(self.low_rank, self.sparse),
            np.zeros(count, bool),
            Asked(sensitivity, min_area, shadows),
            Means(settings or OutputSettings(), n_jobs, memory_limit, scratch, progress),
        )


class Sums:
    """Rows of low_rank + sparse, added when they are asked for."""

    def __init__(self, low_rank: Array, sparse: Array) -> None:
        self._low_rank = low_rank
        self._sparse = sparse

    def __getitem__(self, k: int) -> Array:
        """Return one picture."""
        return np.asarray(self._low_rank[k] + self._sparse[k])
