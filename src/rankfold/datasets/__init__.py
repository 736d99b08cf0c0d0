"""Pictures and matrices that are generated, so that everything that is true of them is known."""

from rankfold.datasets.facade import facade
from rankfold.datasets.handheld import Handheld, handheld, panning
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
    "Handheld",
    "LowRankTruth",
    "cells",
    "facade",
    "handheld",
    "low_rank_plus_sparse",
    "panning",
    "rendered_heads",
    "street",
    "warped_low_rank",
    "write_batch",
]
