"""The transforms of a run on other pictures of the same views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rankfold.errors import InputError
from rankfold.io import Source, write_pictures
from rankfold.io.source import nothing
from rankfold.outputs.grid import full_scale
from rankfold.outputs.originals import match_names
from rankfold.runs.display import Array
from rankfold.runs.folder import load_alignment
from rankfold.storage import whole_or_nothing


def apply_run(
    run: str | Path,
    source: Source,
    folder: str | Path,
    *,
    scale: float | None = 1.0,
    format: str | None = None,
    overwrite: bool = False,
    done: Callable[[], object] = nothing,
) -> Path:
    """Bring pictures into the frame of a run and write them, one in memory at a time.

    Parameters
    ----------
    run : str or Path
        The folder of an alignment.
    source : Source
        As many pictures as the run has. They are matched by name where the names are those of
        the run, and by order where all names are others.
    folder : str or Path
        A new folder, in which the pictures are called ``aligned``.
    scale : float, optional
        Pixels for one pixel of the frame; None for as many as the aligned pictures had.
    format : str, optional
        A row of FORMATS; that of the source by default.
    overwrite : bool
        Whether a folder that rankfold wrote earlier is replaced.
    done : callable
        Called after every picture; what it raises ends the job, and nothing is written.

    Returns
    -------
    Path
        The file or folder with the pictures.
    """
    result = load_alignment(run)
    if len(source) != len(result.names):
        raise InputError(
            f"{source.path} has {len(source)} pictures, {run} {len(result.names)} transforms; "
            "they must agree"
        )
    order = match_names(source.names, result.names, str(run))
    factor = full_scale(result.transforms, result.frame) if scale is None else scale

    # A generator: the writer asks for the next picture when the last one is on disk.
    def warped() -> Iterator[Array]:
        for index, picture in zip(order, source.pictures(), strict=True):
            yield result.apply_one(index, picture.values, scale=factor, mask=picture.mask)
            done()

    # The format adds its own ending, so that the name is known only after writing.
    with whole_or_nothing(folder, overwrite) as draft:
        written = write_pictures(draft / "aligned", source.names, warped(), source, format)
    return Path(folder) / written.name
