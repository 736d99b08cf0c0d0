"""foreground: frames in, masks of what moves out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rankfold.align import AlignSettings
from rankfold.arguments import instance, word
from rankfold.moving.placing import CAMERAS, placed
from rankfold.outputs import Asked, Foreground, OutputSettings, foreground_of
from rankfold.outputs.means import Means, Progress
from rankfold.outputs.originals import Images, source_of, unit_for


def foreground(
    frames: Images,
    *,
    camera: str = "auto",
    sensitivity: float = 1.0,
    min_area: int = 0,
    shadows: str = "keep",
    settings: OutputSettings | None = None,
    align_settings: AlignSettings | None = None,
    n_jobs: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | Path | None = None,
    matching: Callable[[str, int, int], object] | None = None,
    progress: Progress | None = None,
) -> Foreground:
    """Find what moves in front of a scene, whether the camera stands still, shakes or pans.

    Frames of a moving camera are matched to the middle one and lie on a canvas, the union of all.
    The background is at every pixel the patch that most of some 40 frames agree on. Every frame is
    then compared with it, and a graph cut says which of its pixels do not belong.

    Parameters
    ----------
    frames : list of arrays, one array, a path or a Source
        Pictures of one size, in the order of time. Of a path one is read at a time, several times
        over.
    camera : {"auto", "still", "moving"}
        Whether the camera moves; "auto" asks nine frames. "auto" and "moving" need OpenCV.
    sensitivity : float
        Above one, smaller errors count.
    min_area : int
        Smaller pieces are left out, px.
    shadows : {"keep", "drop"}
        Whether cast shadows are kept in the masks. What is dropped is the background times one
        factor; a dark thing on a plain ground is that too.
    settings : OutputSettings, optional
        Every tuned number of the masks.
    align_settings : AlignSettings, optional
        The numbers in its group ``matching`` are used.
    n_jobs : int, optional
        Threads; -1 for all cores.
    memory_limit : int or str, optional
        Bytes, or "2G": what needs more is on disk meanwhile. 60 % of what is free by default.
    scratch : str or Path, optional
        The folder for that.
    matching : function (text, int, int), optional
        Is told while frames are matched what is done, how many of it, and of how many.
    progress : function (int, int), optional
        Is told after that how many steps are done, and of how many.

    Returns
    -------
    Foreground
        Iterate over it; a frame is judged when it is asked for.

    Examples
    --------
    >>> import rankfold as rf
    >>> from rankfold.datasets import panning
    >>> found = rf.foreground(panning(12, moves=False).images, camera="still")
    >>> found.masks.shape
    (12, 120, 160)
    """
    asked = Asked(sensitivity, min_area, shadows)
    means = Means(settings or OutputSettings(), n_jobs, memory_limit, scratch, progress)
    word("camera", camera, CAMERAS)
    if align_settings is not None:
        instance("align_settings", align_settings, AlignSettings, "pass AlignSettings()")
    source = source_of(frames)
    source.check_one_kind()
    placing = placed(source, camera, align_settings or AlignSettings(), matching)
    return foreground_of(
        source,
        placing.transforms,
        placing.canvas,
        unit_for(source),
        asked,
        means,
        placing.remarks,
    )
