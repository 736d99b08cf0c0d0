"""Reading and writing: pictures, TIFF stacks, video, arrays and zarr."""

from rankfold.io.encoding import write_picture
from rankfold.io.formats import FORMATS, open_pictures, reopen, write_pictures
from rankfold.io.memory import in_memory
from rankfold.io.metadata import Metadata, read_metadata
from rankfold.io.pictures import read_picture
from rankfold.io.source import Picture, Source

__all__ = [
    "FORMATS",
    "Metadata",
    "Picture",
    "Source",
    "in_memory",
    "open_pictures",
    "read_metadata",
    "read_picture",
    "reopen",
    "write_picture",
    "write_pictures",
]
