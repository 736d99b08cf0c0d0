"""One clean picture from a run and the originals, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.outputs import Plate
from rankfold.outputs.plate import check_two_files
from rankfold.runs.apart import check_apart, check_no_original
from rankfold.runs.folder import config_of, load_alignment
from rankfold.runs.made import WRITABLE, Made, stepping
from rankfold.runs.watch import Unwatched, Watch
from rankfold.storage import check_free


def plate_run(
    run: str | Path,
    source: Source,
    path: str | Path,
    *,
    confidence: str | Path | None = None,
    overwrite: bool = False,
    watch: Watch | None = None,
    **options: Any,
) -> Made:
    """Put one clean picture together and write it.

    Parameters
    ----------
    run : str or Path
        The folder of an alignment.
    source : Source
        The originals.
    path : str or Path
        The file; its ending says which format. TIFF and PNG keep 16 bits.
    confidence : str or Path, optional
        Where to write how many pictures agree.
    overwrite : bool
        Whether files that are there are replaced.
    watch : Watch, optional
        Follows the work.
    **options
        Further arguments of :meth:`rankfold.Alignment.plate`.
    """
    check_two_files(path, confidence)
    config = config_of(Path(run))
    for target in (path, confidence):
        if target is not None:
            check_writable(target, source, overwrite)
            check_no_original(target, run, config)
    watching = watch or Unwatched()
    plate = load_alignment(run).plate(
        source, progress=stepping(watching, "putting the plate together"), **options
    )
    like = source.names.index(plate.light) if plate.light else 0
    metadata = source.metadata(like)
    watching.say("writing")
    plate.save(path, confidence, overwrite, metadata)
    return Made(Path(path), plate.sentence, _figures(plate))


def _figures(plate: Plate) -> dict[str, Any]:
    """A plate in numbers."""
    return {
        "height": plate.valid.shape[0],
        "width": plate.valid.shape[1],
        "type": str(plate.picture.dtype),
        "images": len(plate.names),
        "empty": 1 - float(plate.valid.mean()),
        "two_faced": float(plate.two_faced.mean()),
        "light": plate.light,
    }


def check_writable(path: str | Path, source: Source, overwrite: bool) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    target = Path(path)
    if target.suffix.lower() not in WRITABLE:
        known = ", ".join(ending[1:] for ending in WRITABLE)
        raise InputError(f"cannot tell a format from {target.name!r}; end it in one of {known}")
    check_free(target, overwrite)
    check_apart(target, source)
