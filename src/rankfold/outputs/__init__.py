"""What people came for, at the size of the originals: the plate, restored pictures, masks.

All of it is made from one thing, the :class:`~rankfold.outputs.scene.Scene`: what most pictures
show on one grid, how much they differ there, and the light of each.
"""

from rankfold.outputs.foreground import Asked, Foreground, FrameMask, foreground_of
from rankfold.outputs.grid import AREAS
from rankfold.outputs.plate import Plate, plate_of
from rankfold.outputs.restore import Restoration, Restored
from rankfold.outputs.settings import OutputSettings

__all__ = [
    "AREAS",
    "Asked",
    "Foreground",
    "FrameMask",
    "OutputSettings",
    "Plate",
    "Restoration",
    "Restored",
    "foreground_of",
    "plate_of",
]
