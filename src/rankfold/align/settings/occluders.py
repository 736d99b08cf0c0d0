"""Numbers of the search for what several pictures share and does not belong."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.align.settings.numbers import COUNT, PX, SHARE, Group, tuned


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
    most_cells: int = tuned(18, COUNT, "Of a rectangle that is tried: a scarf takes 12 to 18.")
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
        most=1,
    )
    most_hidden: float = tuned(
        0.67, SHARE, "Of the cells that may be left out; the rest is context.", most=1.0
    )
    times: float = tuned(
        2.0, "times the usual", "A difference that contradicts, where it is above α too."
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
    strength: float = tuned(
        0.55,
        "score x confidence²",
        "What counts as found. Sunglasses, scarves and bands have .67 or more, 139 batches without "
        "any have at most .44.",
    )
