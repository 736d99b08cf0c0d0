"""Runs: pictures on disk in, a folder with everything out. What the commands do, as functions.

``choice`` settles frame and start, ``planning`` says what a run will take, ``jobs`` does it,
``folder`` writes and reads the run folder, ``applying`` uses its transforms on other pictures,
``plating``, ``restoring`` and ``masking`` make what people came for from it,
``leftovers`` finds and removes what killed runs have left, ``many`` has the table of many runs.
"""

from rankfold.outputs import AREAS
from rankfold.outputs.originals import match_names
from rankfold.runs.apart import check_no_original
from rankfold.runs.applying import apply_run
from rankfold.runs.choice import Choice, choose, choose_as_they_lie, transforms_of
from rankfold.runs.decomposing import run_decompose
from rankfold.runs.display import as_bytes, display_range
from rankfold.runs.folder import Run, fill, is_run, load_alignment, open_run, write_parts
from rankfold.runs.jobs import Output, run_align
from rankfold.runs.leftovers import Cleaned, Leftover, can_go_on, clean, leftovers, unfinished
from rankfold.runs.made import Made, originals_of_run
from rankfold.runs.many import BatchRow, BatchState, ManySummary
from rankfold.runs.masking import mask_run
from rankfold.runs.planning import machine_memory, plan_run
from rankfold.runs.plating import plate_run
from rankfold.runs.points import read_points_csv
from rankfold.runs.restoring import restore_run
from rankfold.runs.streaming import sample_in
from rankfold.runs.summary import AlignmentSummary, Summary
from rankfold.runs.thumbnails import small_copies
from rankfold.runs.trace import trace_lines
from rankfold.runs.watch import Unwatched, Watch

__all__ = [
    "AREAS",
    "AlignmentSummary",
    "BatchRow",
    "BatchState",
    "Choice",
    "Cleaned",
    "Leftover",
    "Made",
    "ManySummary",
    "Output",
    "Run",
    "Summary",
    "Unwatched",
    "Watch",
    "apply_run",
    "as_bytes",
    "can_go_on",
    "check_no_original",
    "choose",
    "choose_as_they_lie",
    "clean",
    "display_range",
    "fill",
    "is_run",
    "leftovers",
    "load_alignment",
    "machine_memory",
    "mask_run",
    "match_names",
    "open_run",
    "originals_of_run",
    "plan_run",
    "plate_run",
    "read_points_csv",
    "restore_run",
    "run_align",
    "run_decompose",
    "sample_in",
    "small_copies",
    "trace_lines",
    "transforms_of",
    "unfinished",
    "write_parts",
]
