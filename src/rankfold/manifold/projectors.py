"""The table of projectors, and how a name or a function becomes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rankfold.arguments import shown
from rankfold.errors import InputError
from rankfold.manifold.contract import (
    AnyProjector,
    Function,
    Projector,
    WholeRows,
)
from rankfold.manifold.embedding import Average, Regression
from rankfold.manifold.given import Identity, Sphere, Stiefel
from rankfold.manifold.tangent import Tangent

PROJECTORS: dict[str, Callable[[], Projector]] = {
    "regression": Regression,
    "average": Average,
    "tangent": Tangent,
    "sphere": Sphere,
    "stiefel": Stiefel,
    "identity": Identity,
}
"""The projectors that can be chosen by name: a class, called without arguments, by its name."""


def get_projector(
    projector: str | AnyProjector | WholeRows, n_neighbors: int | None = None, **parameters: float
) -> AnyProjector:
    """A row of PROJECTORS by name, a Projector as it is, or a function from a Context to Φ.

    Parameters
    ----------
    projector : str, Projector or callable
    n_neighbors : int, optional
        K, where the projector of that name has one.
    **parameters
        The same for its other parameters, as ``alpha=0.05``.
    """
    if isinstance(projector, Projector | Function):
        return projector
    if isinstance(projector, type):
        raise InputError(f"{projector.__name__} is a class; pass one of it, {projector.__name__}()")
    if callable(projector):
        return Function(projector)
    if not isinstance(projector, str) or projector not in PROJECTORS:
        names = ", ".join(PROJECTORS)
        raise InputError(
            f"unknown projector {shown(projector)}; choose one of {names}, or pass a callable"
        )
    instance = PROJECTORS[projector]()
    wanted = {"n_neighbors": n_neighbors, **parameters}
    own = {
        name: value
        for name, value in wanted.items()
        if value is not None and hasattr(instance, name)
    }
    return replace(instance, **own)  # type: ignore[type-var]
