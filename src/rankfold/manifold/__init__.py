"""Projections of the low-rank images onto a manifold, learned (Definition 1) or given; the PROJECTORS table."""

from rankfold.manifold.contract import Context, Projector
from rankfold.manifold.projectors import PROJECTORS, get_projector
from rankfold.manifold.tangent import estimate_dimension

__all__ = ["PROJECTORS", "Context", "Projector", "estimate_dimension", "get_projector"]
