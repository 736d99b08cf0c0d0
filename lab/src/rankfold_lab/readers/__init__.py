"""Readers for published data sets on disk; the READERS table says where to ask for them."""

from rankfold_lab.readers.ar import ArPerson, read_ar
from rankfold_lab.readers.cdnet import cdnet_folders, read_cdnet
from rankfold_lab.readers.clip import Clip, Labels
from rankfold_lab.readers.decolor import decolor_files, read_decolor
from rankfold_lab.readers.rasl import RaslSet, read_points, read_rasl
from rankfold_lab.readers.table import READERS, Reader
from rankfold_lab.readers.usps import read_usps
from rankfold_lab.readers.wild import Person, Plane, read_lfw, read_oxford
from rankfold_lab.readers.windows import Windows, read_windows
from rankfold_lab.readers.yale import YaleSubject, read_yale_subject

__all__ = [
    "READERS",
    "ArPerson",
    "Clip",
    "Labels",
    "Person",
    "Plane",
    "RaslSet",
    "Reader",
    "Windows",
    "YaleSubject",
    "cdnet_folders",
    "decolor_files",
    "read_ar",
    "read_cdnet",
    "read_decolor",
    "read_lfw",
    "read_oxford",
    "read_points",
    "read_rasl",
    "read_usps",
    "read_windows",
    "read_yale_subject",
]
