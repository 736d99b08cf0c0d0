"""The public function :func:`align`: pictures in, transforms, clean pictures and error maps out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankfold.align.arguments import check_arguments
from rankfold.align.assemble import assemble
from rankfold.align.batches import InMemory
from rankfold.align.checkpoints import Checkpoint
from rankfold.align.crowd import Gathering, Sampled, sampled
from rankfold.align.given import Images, Init, Masks, opened, without_empty
from rankfold.align.job import Job
from rankfold.align.journal import journal_for
from rankfold.align.methods import Method
from rankfold.align.plan import needs_of_request
from rankfold.align.request import check_stages, resolve, without_pictures
from rankfold.align.settings import AlignSettings
from rankfold.align.stages import run_stages
from rankfold.align.steps import Gauge
from rankfold.io import Source
from rankfold.manifold import Projector, WholeRows
from rankfold.result import Alignment
from rankfold.scale import (
    MEMORY,
    Executor,
    Store,
    check_executor,
    executor_for,
    give_back,
    store_for,
)
from rankfold.stack import Frame
from rankfold.status import Observer, announce


def align(
    images: Images,
    method: str | Method = "meadmm",
    family: str = "similarity",
    frame: tuple[int, int] | Frame | None = None,
    init: Init = "centred",
    *,
    masks: Masks = None,
    sparsity_weight: float = 1.0,
    projector: str | Projector | WholeRows | None = "auto",
    n_neighbors: int | None = None,
    rank_surrogate: str = "auto",
    features: str | None = "auto",
    rescue: str | bool = "auto",
    shared: float | None = None,
    start: str | None = None,
    coarse: str | bool | None = None,
    frame_of: int | str | None = None,
    channels: str = "luminance",
    gauge: Gauge = "mean",
    max_outer: int = 50,
    outer_tol: float = 0.02,
    max_inner: int = 1000,
    inner_tol: float = 1e-6,
    schedule: str = "auto",
    n_jobs: int | None = None,
    executor: Executor | None = None,
    memory_limit: int | str | None = None,
    scratch: str | Path | None = None,
    observe: Observer | None = None,
    checkpoint: str | Path | Checkpoint | None = None,
    strict: bool = False,
    dtype: npt.DTypeLike = np.float64,
    settings: AlignSettings | None = None,
    sample: str | int | None = "auto",
) -> Alignment:
    """Align pictures of one thing and split each into a clean picture and what did not belong.

    Parameters
    ----------
    images : list of (h, w) or (h, w, c) arrays, one (n, h, w[, c]) array, a Stack, or a path
        Integers are taken as 0 to the largest value of their type; NaN marks a missing pixel. A
        path is a folder, a video or any other file that ``rankfold.io.open_pictures`` reads; frames
        of a stack or a video that are the same everywhere are then left out, with a warning.
    method : {"meadmm", "rasl", "rpca"} or Method
        What "auto" means below. "rasl" is RASL as published, with the right derivative, step
        control and gauge; "rpca" keeps the transforms of ``init`` and only decomposes.
    family : {"translation", "euclidean", "similarity", "affine", "homography"}
        What each picture may do, on top of its start.
    frame : (height, width), optional
        The canonical grid; the median size of the pictures by default.
    init : "centred", "identity", (n, 3, 3) array or Points
        Where to start: the frame over the middle of each picture at its resolution, over its top
        left corner, given matrices (frame to picture coordinates, (x, y), 0-based), or
        corresponding points.
    masks : list of (h, w) arrays, optional
        True where a pixel may be used.
    sparsity_weight : float
        λ_c of λ = λ_c/√max(n, m), m the pixels of the frame. One suits up to about 15 % of hidden
        pixels; use 0.6-0.7 where half of the pictures have 40 % of their area hidden.
    projector : row of PROJECTORS, Projector, callable, None or "auto"
        The manifold that the low-rank images are held on; a callable gets a
        :class:`rankfold.manifold.Context` and returns an array like its ``low_rank``.
    n_neighbors : int, optional
        K of the projector; 7 while aligning and 12 for the last decomposition by default, at most
        n - 1.
    rank_surrogate : {"nuclear", "reweighted", "auto"}
        "reweighted" continues with a concave surrogate of the rank from μ = 10/σ_1 on, and on
        pixels only after steps with the nuclear norm.
    features : {"contrast", None, "auto"}
        Find the transforms on contrast features first; light matters less there.
    rescue : bool or "auto"
        Look for a better place for single pictures that the others do not confirm. Turn it off
        where the pictures have no common basis (handwriting).
    shared : float, optional
        Take out what at most this share of the pictures has in front of it in the same place, as
        sunglasses and scarves: 0.5 if left out, 0 to keep all. ``result.occluders`` says what was
        found. What a person wears on some of the pictures only, spectacles or a beard, goes too.
    start : {"auto", "given", "match", "coarse", "pyramid"}, optional
        How pictures come from ``init`` to where the other stages can take over: not at all, by
        matching keypoints (needs OpenCV), by blurred pictures, or by contrast from coarse to
        fine. "auto", which MeADMM does by itself, tries those that make sense until one is plainly
        good, and else keeps the one after which the pictures agree best; ``result.trace.routes``
        says what was tried.
    coarse : bool or "auto", optional
        The earlier name: True is ``start="coarse"``, False ``start="given"``.
    frame_of : int or str, optional
        Index or name of the picture whose view is the frame; the others are matched to it. By
        default it is the picture that most others see.
    channels : {"luminance", "joint"}
        For colour: transforms from the luminance, or from all channels together. Outputs are in
        colour either way.
    gauge : {"mean", "none"} or int
        What keeps all transforms from drifting together: the mean stays, nothing does, or image k
        stays.
    max_outer, outer_tol : int, float
        At most so many linearisations; stop when the median image's corners move less than this
        (pixels of the frame, of the smaller one where a large frame is searched on that).
    max_inner, inner_tol : int, float
        The same for the inner solver; its tolerance is relative to the norm of the data. The last
        decomposition ends by ``settings.decomposition``: by a proved gap where there can be one,
        which may take five times as many iterations, else by the coarser one of both tolerances.
    schedule : {"auto", "certified", "rough", "published"}
        How RASL and robust PCA are solved. "certified" (what "auto" means for them) solves the
        problem of every step to two or three digits, from where the last one ended and in single
        precision, and stops the last decomposition when it is proved to be near the optimum.
        Batches of fewer than twenty pictures take steps to ``inner_tol``, from scratch: for them
        three digits are too few. "published" does all as RASL does, and ends where its penalty
        has frozen the iterates. MeADMM and the reweighted surrogate are not convex, so nothing
        can be proved: "rough" (what "auto" means for them) also solves steps to a few digits.
    n_jobs : int, optional
        Threads; -1 for all cores. The result has the same bits for every number.
    executor : Executor, optional
        Your own way to run the slabs, instead of ``n_jobs``.
    memory_limit : int or str, optional
        Bytes, or a text as "2G"; 60 % of what is free if left out. A run that is estimated to
        need more keeps its large arrays in files of the scratch folder and reads them piece by
        piece. It takes longer and has the same bits; the pictures of the result are then arrays
        in mapped files. An ``executor`` has its own store instead.
    scratch : str or Path, optional
        The scratch folder; the system's folder for temporary files if left out.
    observe : callable, optional
        Called with an InnerRecord or OuterRecord after each iteration; return True to stop and
        keep what there is. Its method ``begin_stage``, if it has one, is called with the name of
        a stage that begins and the names of all.
    checkpoint : str, Path or Checkpoint, optional
        A folder that gets what the run needs to go on, after every outer iteration, and is
        removed when the run is complete. If the run is interrupted, the same call goes on from
        there and ends with the bits that it would have had. Other pictures or options are refused.
        ``observe`` is not called again for iterations that are done.
    strict : bool
        Raise ConvergenceError instead of warning when the run did not converge. Status STALLED
        does not count: it is what ``schedule="published"`` asks for.
    dtype : float64 or float32
        Of the pictures in the result, and the precision where ``schedule`` is "published". MeADMM
        is computed in single precision, and so are rough steps and batches of more than two
        million values.
    settings : AlignSettings, optional
        Every other number of the pipeline; see ``docs/settings.md``.
    sample : "auto", int or None
        Align so many pictures, spread over the batch, and place every other one against them by
        itself: time grows linearly, and of a path only the sample and a few pictures are in
        memory. "auto" takes 200 of more than 500 pictures; None aligns all together. The manifold
        constraint holds in the sample; the others are explained by its low-rank basis. The
        pictures of a path are then lazy arrays, see :class:`rankfold.lazy.LazyPictures`.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import rankfold as rf
    >>> from rankfold.datasets import rendered_heads
    >>> heads = rendered_heads(n=8, seed=0)
    >>> result = rf.align(heads.images, frame=heads.frame, init=heads.start)
    >>> result.transforms.shape, result.low_rank.shape
    ((8, 3, 3), (8, 45, 42))
    """
    # Pictures come after what can be checked without them: looking at them may take long. Nothing
    # but the arguments has a name yet.
    check_arguments(locals())
    without_pictures(
        method,
        projector=projector,
        n_neighbors=n_neighbors,
        rank_surrogate=rank_surrogate,
        rescue=rescue,
        start=start,
        coarse=coarse,
        frame_of=frame_of,
        schedule=schedule,
    )
    check_executor(executor, memory_limit, scratch)
    given = opened(images)
    if isinstance(given, Source) and given is not images:
        given = without_empty(given, masks, init, frame_of, gauge)
    many = sampled(
        given,
        masks,
        sample,
        (settings or AlignSettings()).sample,
        frame=None if frame is None else Frame.of(frame),
        init=init,
        family=family,
        gauge=gauge,
        frame_of=frame_of,
        dtype=dtype,
    )
    if many is not None:
        # What was said of single pictures, for those of the sample.
        given = many.batch.together(many.indices.tolist())
        masks = None
        init = many.init
        gauge = many.gauge_in_sample
        frame_of = many.frame_of_in_sample
    request = resolve(
        given,
        method,
        family,
        frame,
        init,
        masks=masks,
        sparsity_weight=sparsity_weight,
        projector=projector,
        n_neighbors=n_neighbors,
        rank_surrogate=rank_surrogate,
        features=features,
        rescue=rescue,
        shared=shared,
        start=start,
        coarse=coarse,
        frame_of=frame_of,
        channels=channels,
        gauge=gauge,
        max_outer=max_outer,
        outer_tol=outer_tol,
        max_inner=max_inner,
        inner_tol=inner_tol,
        schedule=schedule,
        dtype=dtype,
        settings=settings,
    )
    if checkpoint is not None:
        check_stages(request.method, checkpoint=str(checkpoint))
    store: Store = MEMORY
    if executor is None:
        store = store_for(needs_of_request(request), memory_limit, scratch)
    with (
        executor_for(executor, n_jobs, store) as run,
        journal_for(checkpoint, request, observe) as journal,
    ):
        job = Job(request, run, observe, journal=journal)
        del request, given
        if many is None:
            return complete(job, strict)
        gathering = gather(job, many, strict)
        del job
        return place_all_in(gathering, run, observe)


def complete(job: Job, strict: bool = False) -> Alignment:
    """Run all stages of a job; warn once, or raise if ``strict``, where it did not converge."""
    job.check_cover()
    job.check_guide()
    result = assemble(*run_stages(job), job.request.start)
    give_back()
    announce(result.status, "align", strict, stacklevel=4)
    return result


def place_all_in(gathering: Gathering, executor: Executor, observe: Observer | None) -> Alignment:
    """Place every picture of a batch whose sample is aligned, and tell the observer of each."""
    begin = getattr(observe, "begin_placing", None)
    tell = getattr(observe, "placed", None)
    in_memory = isinstance(gathering.sampled.batch, InMemory)
    if begin is not None:
        begin(len(gathering.transforms))
    kept = []
    for one in gathering.place(executor):
        if tell is not None:
            tell(one, gathering)
        if in_memory:
            kept.append(one)
    return gathering.result_in_memory(kept) if in_memory else gathering.result()


def gather(job: Job, many: Sampled, strict: bool = False) -> Gathering:
    """Run all stages of a sample and learn from them; the pictures are then to be placed."""
    job.check_cover()
    job.check_guide()
    gathering = Gathering.after(many, *run_stages(job), job.request.start)
    announce(gathering.status, "align", strict, stacklevel=4)
    give_back()
    return gathering
