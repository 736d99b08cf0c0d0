"""The table of projectors, and how a name or a callable becomes one that is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rankfold.errors import InputError
from rankfold.manifold.contract import Array, Context, Projector
from rankfold.manifold.embedding import Average, Regression
from rankfold.manifold.given import Identity, Sphere, Stiefel
from rankfold.manifold.tangent import Tangent

PROJECTORS: dict[str, Callable[..., Any]] = {
    "regression": Regression,
    "average": Average,
    "tangent": Tangent,
    "sphere": Sphere,
    "stiefel": Stiefel,
    "identity": Identity,
}


def get_projector(projector: str | Projector, n_neighbors: int | None = None) -> Projector:
    """A row of PROJECTORS by name, or any callable from a Context to an array like A."""
    if callable(projector):
        return _checked(projector)
    if projector not in PROJECTORS:
        raise InputError(
            f"unknown projector {projector!r}; choose one of {', '.join(PROJECTORS)}, or pass a callable"
        )
    instance = PROJECTORS[projector]()
    if n_neighbors is not None and hasattr(instance, "n_neighbors"):
        instance = replace(instance, n_neighbors=n_neighbors)
    return instance  # type: ignore[no-any-return]


def _checked(projector: Projector) -> Projector:
    """Check what a caller's projector returns, every time."""
    name = getattr(projector, "__name__", type(projector).__name__)

    def project(context: Context) -> Array:
        phi = np.asarray(projector(context))
        if phi.shape != context.low_rank.shape:
            raise InputError(
                f"the projector {name} returned shape {phi.shape}; it must return an array like the low-rank rows, "
                f"{context.low_rank.shape}"
            )
        if not np.isfinite(phi).all():
            raise InputError(
                f"the projector {name} returned NaN or infinity; every value must be finite"
            )
        return phi.astype(context.low_rank.dtype, copy=False)

    return project
