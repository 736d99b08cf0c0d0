"""Reading pictures."""

from rankfold.io.pictures import read_picture

__all__ = ["read_picture"]
