"""What to do where pictures did not find their place: advice that fits what was tried."""

from __future__ import annotations

import numpy as np

from rankfold.align.job import Job
from rankfold.align.matching import Matches, available
from rankfold.align.progress import Progress
from rankfold.align.routes import are_large, in_view, where_matched
from rankfold.align.verdicts import Judgement
from rankfold.families import map_points
from rankfold.verdicts import BatchVerdict, listed

# Share of a picture that the frame covers at the start, from which on it shows all of it.
WHOLE = 0.8

INSTALL = (
    "OpenCV is not installed, so keypoints were not matched, which is what photographs from "
    "different places need: run `pip install rankfold[match]`"
)
NARROW = (
    "the frame shows the whole pictures; if the thing is only a part of them, use a smaller frame "
    "around it"
)
OTHER_VIEW = (
    "by the matches: take a picture between them for the frame (`frame_of`), a wider frame, or "
    "fewer pictures"
)
OF_A_KIND = (
    "heads that turn, and different things of one kind, agree no better than this; look at the "
    "pictures that are doubtful or failed"
)
FEW = "too few pictures may show the same thing: look at them, and leave out those that do not"


def advice(job: Job, progress: Progress, judgement: Judgement) -> str:
    """Say in a sentence what may help; empty where nothing is amiss."""
    if judgement.batch is BatchVerdict.GOOD or not job.request.method.moves:
        return ""
    sentences = []
    matches = progress.matches
    if matches is not None and (tells_something(matches) or job.request.route == "match"):
        sentences.append(f"matching: {matches.sentence}")
    hidden = out_of_view(job, matches)
    if hidden:
        sentences.append(f"the frame does not see {listed(hidden)}, {OTHER_VIEW}")
    if judgement.batch is not BatchVerdict.PARTIAL:
        if job.request.route == "auto" and not available() and are_large(job):
            sentences.append(INSTALL)
        if shows_all(job):
            sentences.append(NARROW)
        if not sentences:
            rough = judgement.batch is BatchVerdict.ROUGH
            sentences.append(OF_A_KIND if rough else FEW)
    return "; ".join(sentences)


def out_of_view(job: Job, matches: Matches | None) -> list[str]:
    """Name the pictures that matching found outside the frame."""
    if matches is None:
        return []
    outside = matches.reached & ~in_view(job, where_matched(job, matches))
    return [name for name, out in zip(matches.names, outside, strict=True) if out]


def tells_something(matches: Matches) -> bool:
    """Whether matching linked most pictures, so that it matters which ones it left out."""
    linked = sum(len(group) for group in matches.groups if len(group) > 1)
    return not matches.reached.all() and 2 * linked >= len(matches.names)


def shows_all(job: Job) -> bool:
    """Whether the frame covers most of the pictures where they start."""
    request = job.request
    shares = []
    for source, transform in zip(request.stack.sources, request.start, strict=True):
        corners = map_points(transform, request.frame.corners)
        sides = np.ptp(corners, axis=0) + 1  # across, down
        shares.append((sides / source.shape[1::-1]).min())
    return bool(np.median(shares) >= WHOLE)
