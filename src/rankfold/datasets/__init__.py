"""Ground truth that is generated, and readers for published data sets that you have on disk."""

from rankfold.datasets.facade import facade
from rankfold.datasets.rasl import RaslSet, read_points, read_rasl
from rankfold.datasets.synthetic import (
    Batch,
    LowRankTruth,
    low_rank_plus_sparse,
    rendered_heads,
    warped_low_rank,
)

__all__ = [
    "Batch",
    "LowRankTruth",
    "RaslSet",
    "facade",
    "low_rank_plus_sparse",
    "read_points",
    "read_rasl",
    "rendered_heads",
    "warped_low_rank",
]
