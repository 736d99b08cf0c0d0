"""Projections of the low-rank images onto a manifold, learned (Definition 1) or given."""

from rankfold.manifold.contract import (
    AnyProjector,
    Block,
    Context,
    Function,
    Overview,
    Projection,
    Projector,
    WholeRows,
    project_rows,
)
from rankfold.manifold.embedding import Average, Regression
from rankfold.manifold.given import Identity, Sphere, Stiefel
from rankfold.manifold.projectors import PROJECTORS, get_projector
from rankfold.manifold.tangent import Tangent, estimate_dimension

__all__ = [
    "PROJECTORS",
    "AnyProjector",
    "Average",
    "Block",
    "Context",
    "Function",
    "Identity",
    "Overview",
    "Projection",
    "Projector",
    "Regression",
    "Sphere",
    "Stiefel",
    "Tangent",
    "WholeRows",
    "estimate_dimension",
    "get_projector",
    "project_rows",
]
