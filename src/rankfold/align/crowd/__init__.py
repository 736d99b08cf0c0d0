"""Large batches: a sample is aligned, every other picture is placed against it, one at a time.

``sample`` chooses the pictures, ``learned`` is what the sample teaches,
``placing`` finds the place of one picture, ``passing`` places all in one pass, ``gathering`` makes
one result of them.
"""

from rankfold.align.crowd.gathering import Gathering
from rankfold.align.crowd.learned import Learned, learn
from rankfold.align.crowd.passing import Placed, place_all
from rankfold.align.crowd.sample import Sampled, sample_of, sample_size, sampled

__all__ = [
    "Gathering",
    "Learned",
    "Placed",
    "Sampled",
    "learn",
    "place_all",
    "sample_of",
    "sample_size",
    "sampled",
]
