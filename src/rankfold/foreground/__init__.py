"""Foreground of a video: what moves in front of a scene, by a camera that may move too."""

from rankfold.foreground.placing import placed as foreground
from rankfold.outputs.foreground import Foreground, FrameMask

__all__ = ["Foreground", "FrameMask", "foreground"]
