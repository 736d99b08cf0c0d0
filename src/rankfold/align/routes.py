"""The ROUTES table: ways to a start, from which the pictures can be aligned.

A route brings pictures from where they were given to where the other stages can take over. With
``start="auto"`` those that make sense are tried one after the other, each carried on through the
stage of features, until one is plainly good. Then the pictures decide which is kept: by how many of
them confirm each other's places, or, where these are few, by how well all of them agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankfold.align.agreement import agreement, confirmation
from rankfold.align.job import Job
from rankfold.align.matching import Matches, available, match_views
from rankfold.align.packing import pack_matches, unpack_matches
from rankfold.align.pixels import feature_stage
from rankfold.align.progress import Progress, advance, lifted
from rankfold.align.settings import AlignSettings
from rankfold.errors import UnseenError
from rankfold.families import Floats, map_points
from rankfold.stack import Bools
from rankfold.status import RouteRecord, Status

# Points of the frame, about, at which it is asked whether a picture is in view.
GRID = 400
# Parameters of a family from which on it describes photographs of a plane from several places.
PROJECTIVE = 6


@dataclass(frozen=True)
class Route:
    """A row of ROUTES."""

    name: str
    # What it does, for tables and sentences.
    sentence: str
    # The work itself, from the start.
    run: Callable[[Job, Progress], Progress]
    # Whether "auto" tries it on this job.
    makes_sense: Callable[[Job], bool]
    # Whether single pictures may still be far from where they belong: on pixels and features some
    # are left behind, while matches are right or they are none.
    far: bool = False


def as_given(_: Job, progress: Progress) -> Progress:
    """Leave the pictures where they are."""
    return progress


def blurred_pixels(job: Job, progress: Progress) -> Progress:
    """Plain RASL on blurred pixels, blurred less and less."""
    numbers = job.request.settings.coarse
    for blur in numbers.blurs:
        outer = job.outer_loop("start", numbers.max_outer)
        progress = advance(job, progress, job.blurred(blur), job.plain(numbers.tol), outer)
        if progress.over:
            break
    return progress


def feature_pyramid(job: Job, progress: Progress) -> Progress:
    """Reweighted RASL on contrast features whose lengths become shorter and shorter."""
    numbers = job.request.settings.pyramid
    for scale in numbers.scales:
        outer = job.outer_loop("start", numbers.max_outer)
        inner = job.plain(numbers.tol, "reweighted")
        progress = advance(job, progress, job.contrast_at(scale), inner, outer)
        if progress.over:
            break
    return progress


def matched_keypoints(job: Job, progress: Progress) -> Progress:
    """Lay the frame over the picture that most others see, and follow the matches from there.

    A picture stays where it was given if no link reaches it, or if the frame sees next to nothing
    of it where it was found.
    """
    request = job.request
    stack = request.stack

    def run() -> Matches:
        """Match the pictures."""
        return match_views(
            job.views,
            request.family,
            request.settings.matching,
            request.frame_of,
            stack.names,
            getattr(job.observe, "count", None),
        )

    found = job.journal.call("matching", run, pack_matches, unpack_matches)
    matrices = where_matched(job, found)
    followed = found.reached & in_view(job, matrices)
    start = np.where(followed[:, None, None], matrices, request.start)
    start = start / start[:, 2:, 2:]
    moved = Progress.at_start(job.starting_at(start))
    return replace(progress, motion=moved.motion, origin=start, matches=found)


def where_matched(job: Job, found: Matches) -> Floats:
    """Transforms (n, 3, 3) of the job by the matches; NaN where a picture is not reached."""
    stack = job.request.stack
    # Matches are in px of the originals, the start is not where pictures were read coarser.
    frame_to_reference = stack.to_original(job.request.start[found.reference])
    return stack.from_original(found.transforms @ frame_to_reference)


def in_view(job: Job, transforms: Floats) -> Bools:
    """Whether the frame sees enough of each picture at transforms (n, 3, 3), an array (n,)."""
    request = job.request
    grid = request.frame.grid[:: max(len(request.frame.grid) // GRID, 1)]
    seen = np.zeros(len(transforms), dtype=bool)
    for i, (source, transform) in enumerate(zip(request.stack.sources, transforms, strict=True)):
        if np.isfinite(transform).all():
            points = map_points(transform, grid)
            # Behind the horizon of a homography there is nothing to see.
            depth = grid @ transform[2, :2] + transform[2, 2]
            height, width = source.shape[:2]
            inside = (points > -0.5) & (points < [width - 0.5, height - 0.5])
            share = (inside.all(axis=1) & (depth * transform[2, 2] > 0)).mean()
            seen[i] = share >= request.settings.routes.least_seen
    return seen


def can_match(job: Job) -> bool:
    """Whether keypoints can be looked for: OpenCV is there, and the pictures are no thumbnails."""
    return available() and are_large(job)


def are_large(job: Job) -> bool:
    """Whether the pictures are large enough to have keypoints."""
    least = job.request.settings.routes.least_view
    return all(min(shape) >= least for shape in job.request.stack.original_shapes)


def always(_: Job) -> bool:
    """Any pictures will do."""
    return True


ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        Route("given", "from where they were given", as_given, always),
        Route("match", "by matching keypoints", matched_keypoints, can_match),
        Route("coarse", "by blurred pictures", blurred_pixels, always, far=True),
        Route("pyramid", "by contrast from coarse to fine", feature_pyramid, always, far=True),
    )
}
"""The ways to a start by their names, in the order in which "auto" tries them."""


@dataclass(frozen=True)
class Attempt:
    """A route that was tried on the smaller frame, and what came of it."""

    route: Route
    job: Job  # on the whole frame, from where the route starts
    reached: Progress  # where the route ended
    ahead: Progress  # where the stage of features leads from there
    agreement: float  # infinite where it broke off, so that it is never the best
    confirmed: float

    @property
    def was_stopped(self) -> bool:
        """Whether an observer stopped it."""
        return self.ahead.status is Status.STOPPED

    def record(self, kept: bool) -> RouteRecord:
        """What the trace keeps."""
        share = f"{self.confirmed:.0%} of the pictures confirmed, agreement {self.agreement:.2f}"
        if self.ahead.over:
            share = "broke off"
        return RouteRecord(
            self.route.name, self.agreement, self.confirmed, kept, f"{self.route.sentence}: {share}"
        )


def start_stage(job: Job, progress: Progress) -> Progress:
    """Take the route that was asked for, or try several and keep the best."""
    chosen = job.request.route
    if chosen != "auto":
        return follow(job, progress, ROUTES[chosen])
    attempts = try_routes(job)
    if not attempts:
        # The next stage says which picture the frame does not see.
        return follow(job, progress, ROUTES["given"])
    kept = best_of(attempts, job.request.settings)
    records = tuple(one.record(one is kept) for one in attempts)
    matches = next((one.reached.matches for one in attempts if one.reached.matches), None)
    after = replace(taken(kept), attempts=records, matches=matches)
    if any(one.was_stopped for one in attempts):
        return replace(after, status=Status.STOPPED, stop_rule="observer")
    return after


def try_routes(job: Job) -> list[Attempt]:
    """Try one route after the other until one is plainly good, or an observer stops it."""
    attempts: list[Attempt] = []
    for route in in_order(job):
        try:
            attempt = try_out(job, route)
        except UnseenError:
            # It leads to where the frame sees nothing of a picture. Other errors, and those of the
            # caller's own functions among them, are not for a route to swallow.
            continue
        attempts.append(attempt)
        plainly_good = attempt.confirmed >= job.request.settings.routes.plainly_good
        if plainly_good or attempt.was_stopped:
            break
    return attempts


def best_of(attempts: Sequence[Attempt], numbers: AlignSettings) -> Attempt:
    """The attempt that the pictures favour.

    Where half of the pictures confirm each other, their number decides. The first start is given
    up only for one that confirms clearly more: where much of the pictures is hidden, all starts
    are about equally good, and the first moves nothing too far. Where less than half do, their
    number is a matter of chance, and the agreement decides.
    """
    most = max(attempt.confirmed for attempt in attempts)
    if most < numbers.verdicts.half:
        return min(attempts, key=lambda one: one.agreement)
    # No start could be better by more than this than one that is plainly good.
    clearly = 1 - numbers.routes.plainly_good
    # Shares such as .6 and .8 are not exact.
    if most - attempts[0].confirmed <= clearly + 1e-9:
        return attempts[0]
    return max(attempts, key=lambda one: (one.confirmed, -one.agreement))


def in_order(job: Job) -> list[Route]:
    """The routes that make sense, in the order in which they are tried."""
    routes = [route for route in ROUTES.values() if route.makes_sense(job)]
    if job.request.located or job.request.family.size < PROJECTIVE:
        return routes
    # A flat scene from several places is what keypoints are made for. Where the middle would do as
    # well, matches are more precise: corners of leuven .81 px off instead of 1.1 in the worst view.
    return sorted(routes, key=lambda route: route.name != "match")


def follow(job: Job, progress: Progress, route: Route) -> Progress:
    """Take one route on the whole frame, without asking how good it is."""
    record = RouteRecord(route.name, np.nan, np.nan, True, f"{route.sentence}, as was asked for")
    return replace(route.run(job, progress), attempts=(record,))


def try_out(job: Job, route: Route) -> Attempt:
    """Take a route on the smaller frame, go on through the stage of features, and compare."""
    small = job.rehearsal
    reached = route.run(small, Progress.at_start(small))
    if reached.matches is not None:
        job = job.starting_at(job.from_smaller(small, reached.origin))
        # Prepared for where the pictures were found, and in px of these pictures.
        small = job.rehearsal
        reached = replace(Progress.at_start(small), matches=reached.matches)
    ahead = reached if reached.over else feature_stage(small, reached)
    if ahead.over:
        return Attempt(route, job, reached, ahead, np.inf, 0.0)
    transforms = ahead.motion.transforms
    agrees = job.request.settings.verdicts.agrees
    found = confirmation(small, transforms)
    ahead = replace(ahead, confirmation=found)
    confirmed = float((found.share >= agrees).mean())
    return Attempt(route, job, reached, ahead, agreement(small, transforms), confirmed)


def taken(attempt: Attempt) -> Progress:
    """The progress after a route, on the whole frame."""
    whole = attempt.job
    small = whole.rehearsal
    wants_features = whole.request.features is not None
    if small is whole and attempt.was_stopped:
        # No further stage will look at what is ahead.
        return attempt.ahead
    if small is whole:
        # What was looked at ahead is the stage of features itself, and need not be done again.
        ahead = attempt.ahead if wants_features else None
        return replace(attempt.reached, ahead=ahead)
    end = attempt.ahead if wants_features else attempt.reached
    return lifted(end, whole, small, stage="start")
