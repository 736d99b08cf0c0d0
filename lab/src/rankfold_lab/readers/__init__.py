"""Readers for published data sets on disk; the READERS table says where to ask for them."""

from rankfold_lab.readers.ar import ArPerson, read_ar
from rankfold_lab.readers.rasl import RaslSet, read_points, read_rasl
from rankfold_lab.readers.table import READERS, Reader
from rankfold_lab.readers.usps import read_usps
from rankfold_lab.readers.wild import Person, Plane, read_lfw, read_oxford
from rankfold_lab.readers.windows import Windows, read_windows
from rankfold_lab.readers.yale import YaleSubject, read_yale_subject

__all__ = [
    "READERS",
    "ArPerson",
    "Person",
    "Plane",
    "RaslSet",
    "Reader",
    "Windows",
    "YaleSubject",
    "read_ar",
    "read_lfw",
    "read_oxford",
    "read_points",
    "read_rasl",
    "read_usps",
    "read_windows",
    "read_yale_subject",
]
