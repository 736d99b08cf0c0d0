"""Reading and writing: pictures, TIFF stacks, video, arrays and zarr."""

from rankfold.io.encoding import write_picture
from rankfold.io.formats import FORMATS, open_pictures, reopen, write_pictures
from rankfold.io.pictures import read_picture
from rankfold.io.source import Picture, Source

__all__ = [
    "FORMATS",
    "Picture",
    "Source",
    "open_pictures",
    "read_picture",
    "reopen",
    "write_picture",
    "write_pictures",
]
