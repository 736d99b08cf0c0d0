"""What is on disk: results with a checksum, and folders that are whole or not there.

``results`` writes and reads the files of a result, ``archives`` writes arrays, ``places`` puts
files and folders in their place in one step, ``marks`` knows which files are ours, ``drafts`` which
are being written, ``disk`` asks the system.
"""

from rankfold.storage.archives import write_arrays, write_rows
from rankfold.storage.disk import NO_SPACE, regular
from rankfold.storage.drafts import DRAFT, DRAFT_FILE, RANDOM
from rankfold.storage.marks import ARRAYS, FACTS, MARK, remove_ours
from rankfold.storage.places import (
    INSIDE,
    LOCK,
    REPLACED,
    check_free,
    check_ours,
    lock_of,
    restore_interrupted,
    whole_file,
    whole_or_nothing,
)
from rankfold.storage.results import (
    check_beside,
    checksum,
    damage_named,
    fill,
    read,
    while_it_stays,
)

__all__ = [
    "ARRAYS",
    "DRAFT",
    "DRAFT_FILE",
    "FACTS",
    "INSIDE",
    "LOCK",
    "MARK",
    "NO_SPACE",
    "RANDOM",
    "REPLACED",
    "check_beside",
    "check_free",
    "check_ours",
    "checksum",
    "damage_named",
    "fill",
    "lock_of",
    "read",
    "regular",
    "remove_ours",
    "restore_interrupted",
    "while_it_stays",
    "whole_file",
    "whole_or_nothing",
    "write_arrays",
    "write_rows",
]
