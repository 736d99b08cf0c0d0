"""Foreground of a video: what moves in front of a scene, by a camera that may move too."""

from rankfold.moving.api import foreground
from rankfold.outputs import Foreground, FrameMask

__all__ = ["Foreground", "FrameMask", "foreground"]
