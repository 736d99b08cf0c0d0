"""Numbers of large batches, of which a sample is aligned and the others are placed against it."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.tuned import COUNT, PX, Group, tuned


@dataclass(frozen=True)
class SampleSettings(Group):
    """Large batches: a sample is aligned, and every other picture is placed against it."""

    above: int = tuned(
        500, COUNT, "Pictures, above which sample='auto' takes a sample. Chosen, not tuned."
    )
    size: int = tuned(
        200, COUNT, "Of the sample that 'auto' takes. Chosen for memory, not tuned.", least=10
    )
    max_rank: int = tuned(
        40,
        COUNT,
        "Leading rows of the sample's low-rank basis to which another picture is fitted; its time "
        "grows with the square.",
    )
    levels: int = tuned(
        3,
        COUNT,
        "Frames on which a picture is placed, each half as large as the next. Frames of a shaking "
        "camera: with one, 57 of 300 were off by more than 2 px.",
    )
    least_side: int = tuned(
        24, PX, "No such frame has a shorter side, but for the frame of the search.", least=16
    )
    coarse_rank: int = tuned(
        1,
        COUNT,
        "Of the sample's features on all but the last of these frames. Two groups of the sample "
        "that lie apart explain themselves with two or more: 36 of 200 stayed 9 px off.",
    )
    apart: float = tuned(
        1.0,
        PX,
        "A picture of the sample that the others place further away than this lies apart; the "
        "sample is then aligned once more, from where they lie together.",
    )
    spread: float = tuned(
        3.0,
        "robust standard deviations",
        "A picture that costs more above the median of the sample tries further starts.",
    )
    scale: float = tuned(
        1 / 3,
        "root mean squares",
        "A residual of pixels below it is ordinary: errors raise the root mean square.",
        positive=True,
    )
