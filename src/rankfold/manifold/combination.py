"""Φ as a combination of other images: what the learned manifolds have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.manifold.contract import Array, Block, Floats, Projection

Ints = npt.NDArray[np.intp]

# Pixels that one call of a kernel does.
BLOCK = 1024


@dataclass(frozen=True)
class Combination(Projection):
    """Φ_i = M_1 + ε' S_α[A_i - M_1] with M_1 = Σ_j w_ij A_j over the neighbours j of i (Def. 1)."""

    nearest: Ints  # (n, k): the neighbours of every image
    alphas: Floats  # (n,): α in the scale of row i
    keep: float  # ε'
    # (n, k): w, where they are known without a look at the pixels.
    fixed: Floats | None = None

    def weights(self, total: tuple[Floats, ...]) -> Any:  # noqa: ARG002
        """The weights (n, k) that were given."""
        return self.fixed

    def embed(self, block: Block, weights: Any, out: Array) -> None:
        """Combine the neighbours' pixels."""
        from rankfold.manifold.kernels import embed

        def rebuild(first: int) -> None:
            last = min(first + BLOCK, block.size)
            embed(block.low_rank, self.nearest, weights, self.alphas, self.keep, first, last, out)

        block.executor.run(rebuild, range(0, block.size, BLOCK))
