"""Numbers of the ways to a start."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.tuned import COUNT, PX, SHARE, Group, tuned


@dataclass(frozen=True)
class StartSettings(Group):
    """What a start has to be like."""

    min_cover: float = tuned(
        0.5,
        SHARE,
        "Of the frame that at least one picture covers; below, most would be made up.",
        most=1.0,
    )


@dataclass(frozen=True)
class CoarseSettings(Group):
    """Plain RASL on blurred pictures, for pictures that are far off."""

    blurs: tuple[float, ...] = tuned(
        (4.0, 2.0),
        PX,
        "Standard deviations, one after the other; faces 10 degrees and 8 px off.",
        positive=True,
    )
    max_outer: int = tuned(8, COUNT, "Outer iterations at most, for each blur. A limit, not tuned.")
    tol: float = tuned(
        1e-3, "relative residual", "Inner tolerance: only a step is wanted.", positive=True
    )


@dataclass(frozen=True)
class PyramidSettings(Group):
    """Reweighted RASL on contrast features from coarse to fine, for portraits."""

    scales: tuple[float, ...] = tuned(
        (4.0, 2.0),
        "times the lengths of the features",
        "One after the other; portraits of four people, landmarks 3.0 to 2.2 px apart.",
        positive=True,
    )
    max_outer: int = tuned(6, COUNT, "Outer iterations at most, for each scale.")
    tol: float = tuned(
        1e-3, "relative residual", "Inner tolerance: only a step is wanted.", positive=True
    )


@dataclass(frozen=True)
class RouteSettings(Group):
    """How starts are tried and compared."""

    side: int = tuned(
        64, PX, "Short side at most of the smaller frame on which starts are tried.", least=16
    )
    plainly_good: float = tuned(
        0.8,
        SHARE,
        "Of the pictures that confirm each other; above it nothing else is tried. The first start "
        "is given up only for one that confirms more by what is missing to all of them: of faces "
        "half hidden 15 of 64 were lost without that, and 4 with it.",
        most=1.0,
    )
    least_seen: float = tuned(
        0.1,
        SHARE,
        "Of the frame that a matched picture must cover; others stay where they were given. A "
        "limit, not tuned.",
        most=1.0,
    )
    least_view: int = tuned(
        128, "px", "Short side of a picture below which keypoints are not looked for."
    )
