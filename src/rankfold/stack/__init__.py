"""What alignment starts from: pictures (Stack), a canonical grid (Frame), points (Points)."""

from rankfold.stack.checks import Bools
from rankfold.stack.frame import Frame, rescaling
from rankfold.stack.points import Points
from rankfold.stack.scaling import power_of_two
from rankfold.stack.stack import LUMINANCE, Origin, Stack
from rankfold.stack.views import View, view_of

__all__ = [
    "LUMINANCE",
    "Bools",
    "Frame",
    "Origin",
    "Points",
    "Stack",
    "View",
    "power_of_two",
    "rescaling",
    "view_of",
]
