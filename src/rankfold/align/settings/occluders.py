"""Numbers of the search for what several pictures share and does not belong."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.tuned import COUNT, PX, SHARE, Group, tuned


@dataclass(frozen=True)
class OccluderSettings(Group):
    """Occluders that several pictures share: candidates from cells, then evidence from pixels."""

    side: int = tuned(
        64, PX, "Short side of the pictures in which they are sought, at most.", least=12
    )
    sample: int = tuned(
        200, COUNT, "They are sought in so many pictures at most; the others are asked after."
    )
    least_pictures: int = tuned(10, COUNT, "With fewer, nobody can say what is shared.", least=4)
    cells: int = tuned(6, COUNT, "Along each side of the frame.", least=2)
    least_cells: int = tuned(4, COUNT, "Of a rectangle that is tried: sunglasses take 5.")
    most_cells: int = tuned(
        18,
        COUNT,
        "Of a rectangle that is tried. With 15, scarves over half of the face were missed.",
    )
    least: float = tuned(
        0.2,
        SHARE,
        "Of the pictures, that share it at least; what fewer have is no split.",
        most=0.5,
    )
    ridge: float = tuned(
        0.01, "squared norm of a context", "Of the prediction; the prototype's.", positive=True
    )
    noise: float = tuned(
        0.05, "norm of a context", "Added to its misfit; the prototype's.", positive=True
    )
    rounds: int = tuned(4, COUNT, "In which donors are chosen again; 6 find the same.")
    neighbours: int = tuned(12, COUNT, "To which a typical picture is alike; the prototype's.")
    nearest: int = tuned(
        5, COUNT, "Neighbours that say whether members keep to themselves; the prototype's."
    )
    spread: float = tuned(
        0.15, "natural logarithm", "Added to the spread of surprises within a group.", positive=True
    )
    excess: float = tuned(
        2.0, "times the misfit", "Median surprise of members that counts in full.", positive=True
    )
    score: float = tuned(
        2.0, "standard deviations", "A split below is not examined; what was found has 2.3 or more."
    )
    candidates: int = tuned(16, COUNT, "Splits that are examined, at most.")
    alike: float = tuned(
        0.7,
        SHARE,
        "Of common cells and pictures, from which on one of two splits is enough.",
        most=1.0,
    )
    most_hidden: float = tuned(
        0.67, SHARE, "Of the cells that may be left out; the rest is context.", most=1.0
    )
    contrast: float = tuned(
        0.08,
        "share of the pixel range",
        "A difference that contradicts. With .05 shadows on generated heads were found, with .1 "
        "seven of twenty bands were not.",
        positive=True,
    )
    times: float = tuned(
        2.0, "times the usual", "A difference that contradicts, where it has the contrast too."
    )
    turns: int = tuned(8, COUNT, "In which members are chosen again; most end after three.")
    nearly: float = tuned(
        0.75, SHARE, "Of the footprint, that members show in the last turn.", most=1.0
    )
    hopeless: int = tuned(2, COUNT, "Turns after which a split without confidence is dropped.")
    filled: float = tuned(
        0.33, SHARE, "Of the region, that is contradicted at least; the prototype's.", most=1.0
    )
    confidence: float = tuned(
        0.5,
        SHARE,
        "By how much more of the footprint must be contradicted in members than in others.",
        most=1.0,
    )
    fills: int = tuned(
        2,
        COUNT,
        "Decompositions of filled-in pictures. With 1, AR's lights lose 17 % of what they had, "
        "with 2 1 %; more let bands leak back where a picture was overlooked.",
    )
    few: int = tuned(
        20, COUNT, "With fewer pictures the strength must be larger, by as much as they are fewer."
    )
    strength: float = tuned(
        0.6,
        "score x confidence²",
        "What counts as found. Sunglasses and scarves have 1.3 or more, most bands .63 or more, "
        "200 batches without any at most .5.",
    )
