"""Reading and writing pictures."""

from rankfold.io.pictures import read_picture, write_picture

__all__ = ["read_picture", "write_picture"]
