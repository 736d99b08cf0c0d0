"""Find what several pictures share and does not belong to the thing, and take it out.

``grid`` cuts the frame into cells, ``prediction`` predicts a region from its context,
``candidates`` looks for regions that split the batch, ``evidence`` examines them pixel by pixel,
``search`` chooses, ``stage`` decomposes without what was found.
"""

from rankfold.align.occluders.search import Decomposed, find_occluders
from rankfold.align.occluders.stage import occluder_stage, take_out

__all__ = ["Decomposed", "find_occluders", "occluder_stage", "take_out"]
