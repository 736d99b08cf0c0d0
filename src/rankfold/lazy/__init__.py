"""Pictures of a large result that are computed when they are asked for.

A result of 10,000 pictures has few numbers a picture: its transform, and its coefficients in the
low-rank basis of the sample. From these, and from the originals where they lie, the aligned,
low-rank and error pictures are made again, one at a time.
"""

from rankfold.lazy.explained import Explained, low_rank_row, warped
from rankfold.lazy.originals import OnDisk, Originals, absolute
from rankfold.lazy.pictures import LazyPictures, lazy_parts, restored

__all__ = [
    "Explained",
    "LazyPictures",
    "OnDisk",
    "Originals",
    "absolute",
    "lazy_parts",
    "low_rank_row",
    "restored",
    "warped",
]
