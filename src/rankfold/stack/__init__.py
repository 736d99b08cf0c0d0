"""What alignment starts from: pictures (Stack), a canonical grid (Frame), points (Points)."""

from rankfold.stack.checks import Bools
from rankfold.stack.frame import MOST_PIXELS, Frame, rescaling
from rankfold.stack.points import Points
from rankfold.stack.scaling import has_white, largest_of, power_of_two
from rankfold.stack.stack import LUMINANCE, Origin, Stack
from rankfold.stack.views import View, view_of

__all__ = [
    "LUMINANCE",
    "MOST_PIXELS",
    "Bools",
    "Frame",
    "Origin",
    "Points",
    "Stack",
    "View",
    "has_white",
    "largest_of",
    "power_of_two",
    "rescaling",
    "view_of",
]
