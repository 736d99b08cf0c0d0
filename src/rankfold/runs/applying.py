"""The transforms of a run on other pictures of the same views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rankfold.errors import InputError
from rankfold.io import Source, write_pictures
from rankfold.outputs.grid import full_shape
from rankfold.outputs.originals import match_names
from rankfold.runs.apart import check_apart
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
    step: Callable[[int, int], object] | None = None,
) -> Path:
    """Bring pictures into the frame of a run and write them, one in memory at a time.

    Parameters
    ----------
    run : str or Path
        The folder of an alignment.
    source : Source
        As many pictures as the run has, or more if the names of the run are among theirs. They
        are matched by name where the names are those of the run, and by order where all names are
        others.
    folder : str or Path
        A new folder, in which the pictures are called ``aligned``.
    scale : float, optional
        Pixels for one pixel of the frame; None for as many as the aligned pictures had.
    format : str, optional
        A row of FORMATS; that of the source by default.
    overwrite : bool
        Whether a folder that rankfold wrote earlier is replaced.
    step : callable, optional
        Called after every picture with how many are done and how many there are; what it raises
        ends the job, and nothing is written.

    Returns
    -------
    Path
        The file or folder with the pictures.
    """
    result = load_alignment(run)
    check_apart(folder, source, run)
    source = source.named(result.names)
    if len(source) != len(result.names):
        raise InputError(
            f"{source.path} has {len(source)} pictures, {run} {len(result.names)} transforms; "
            "they must agree"
        )
    order = match_names(source.names, result.names, str(run))
    size: dict[str, Any] = {"scale": scale}
    if scale is None:
        size = {"shape": full_shape(result.transforms, result.frame, result.source_shapes)}

    # A generator: the writer asks for the next picture when the last one is on disk.
    def warped() -> Iterator[Array]:
        pictures = zip(order, source.pictures(), strict=True)
        for done, (index, picture) in enumerate(pictures, start=1):
            yield result.apply_one(index, picture.values, mask=picture.mask, **size)
            if step is not None:
                step(done, len(source))

    # The format adds its own ending, so that the name is known only after writing.
    with whole_or_nothing(folder, overwrite) as draft:
        written = write_pictures(draft / "aligned", source.names, warped(), source, format)
    return Path(folder) / written.name
