"""Numbers of the verdicts, and of how well a new picture fits."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.tuned import COUNT, PX, SHARE, Group, tuned


@dataclass(frozen=True)
class ScoreSettings(Group):
    """How well a new picture fits: its cost where it lies over its cost a little away."""

    shift: float = tuned(3.0, PX, "How far away; eight directions.", positive=True)


@dataclass(frozen=True)
class VerdictSettings(Group):
    """Whether each picture lies where the others do; the confirmed share of its tiles."""

    side: int = tuned(
        45, PX, "Short side at most of the small frame in which pictures are compared.", least=16
    )
    clip: float = tuned(3.0, "features", "Larger ones count as this.", positive=True)
    null_shifts: int = tuned(
        8, COUNT, "By which the likeness that chance gives is measured.", most=1000
    )
    linked: float = tuned(5.0, "standard deviations", "Pictures more alike than that are linked.")
    tile: float = tuned(12.5, "px of the small frame", "Side of a tile, about.", positive=True)
    min_tiles: int = tuned(2, COUNT, "Along a side.")
    max_tiles: int = tuned(5, COUNT, "Along a side.")
    floor: float = tuned(
        0.05, SHARE, "Of a tile's power, so that a shift to an empty place is no good one."
    )
    faint: float = tuned(0.25, SHARE, "Of the usual energy; a fainter tile does not vote.")
    near: float = tuned(1.5, "px of the small frame", "A tile that fits best so near agrees.")
    agrees: float = tuned(0.8, "confirmed share", "Pictures above it form the group.")
    pictures_a_dimension: int = tuned(4, COUNT, "The group's rank is its size over this.")
    max_rank: int = tuned(6, COUNT, "Limit of the rank.")
    folds: int = tuned(
        20, COUNT, "Bases at most; with more pictures, several are left out.", least=2
    )
    rounds: int = tuned(12, COUNT, "Of growth at most. A limit, not tuned.")
    only_growing: int = tuned(6, COUNT, "Rounds after which nobody leaves the group.")
    half: float = tuned(
        0.5, SHARE, "Of the pictures in the group, from which on the batch is good or partial."
    )
    few: float = tuned(
        0.25,
        SHARE,
        "The same where the pictures do not agree even roughly: below it the batch failed. Each "
        "of 24 groups as large was the largest that there was; of 22 smaller ones 8 were not.",
    )
    least: int = tuned(3, COUNT, "Pictures in such a group; two may agree by chance.")
    good: float = tuned(0.9, SHARE, "Of the pictures placed; below, the batch is partial.")
    placed: float = tuned(
        0.5,
        "confirmed share",
        "Above it a picture is placed. On all sets with a truth .45 to .6 give recalls of .93 to "
        ".95 and false alarms of .053 to .069.",
    )
    doubtful: float = tuned(0.35, "confirmed share", "Above it, it is doubtful; below, it failed.")
    even: float = tuned(0.36, "confirmed share", "At which a picture is as likely lost as not.")
    slope: float = tuned(10.0, "log odds a confirmed share", "Of the probability of being lost.")
    rough_near: float = tuned(
        2.3, "px of the small frame", "The same as near where pictures agree only roughly."
    )
    rough_placed: float = tuned(0.55, "confirmed share", "The same as placed, there.")
    rough_doubtful: float = tuned(0.35, "confirmed share", "The same as doubtful, there.")
    rough_even: float = tuned(0.49, "confirmed share", "The same as even, there.")
    rough_slope: float = tuned(7.8, "log odds a confirmed share", "The same as slope, there.")
    rough_most: float = tuned(
        0.75, SHARE, "So many pictures not failed, roughly: the batch agrees only roughly."
    )
    rough_some: float = tuned(0.25, SHARE, "And so many of the pictures confirmed in part.")
    failed_group: float = tuned(0.4, "probability", "Least of the group in a batch that failed.")
    failed_rest: float = tuned(0.8, "probability", "Least of the others in it.")
