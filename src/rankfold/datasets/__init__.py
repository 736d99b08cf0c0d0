"""Ground truth that is generated, and readers for published data sets that you have on disk."""

from rankfold.datasets.facade import facade
from rankfold.datasets.rasl import RaslSet, read_points, read_rasl
from rankfold.datasets.scenes import cells, street
from rankfold.datasets.synthetic import (
    Batch,
    LowRankTruth,
    low_rank_plus_sparse,
    rendered_heads,
    warped_low_rank,
)
from rankfold.datasets.table import DATASETS, Dataset, write_batch

__all__ = [
    "DATASETS",
    "Batch",
    "Dataset",
    "LowRankTruth",
    "RaslSet",
    "cells",
    "facade",
    "low_rank_plus_sparse",
    "read_points",
    "read_rasl",
    "rendered_heads",
    "street",
    "warped_low_rank",
    "write_batch",
]
