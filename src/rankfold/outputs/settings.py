"""Tuned numbers of the plate, of restored pictures and of masks."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankfold.tuned import COUNT, SHARE, Group, Tuned, tuned

RANGE = "share of the range"
PIXELS = "px of the originals"


@dataclass(frozen=True)
class RefineSettings(Group):
    """How places are refined at full size, by small tiles that are found again."""

    least_scale: float = tuned(
        1.5,
        "times",
        "Pixels of the originals for one of the frame: below, the alignment has seen as much.",
        least=1,
    )
    most: int = tuned(
        200, COUNT, "Pictures that are refined at most, spread over the batch. For speed.", least=2
    )
    side: int = tuned(48, PIXELS, "Of a tile. Not tuned.", least=16)
    across: int = tuned(16, COUNT, "Tiles along a side of the grid at most. For speed.", least=2)
    reach: float = tuned(
        1.0,
        "px of the frame",
        "How far around its place a tile is looked for: two pictures may each be off by half of "
        "that. With 1.5, windows restored were .8 dB worse: their wall repeats itself.",
    )
    alike: float = tuned(
        0.6, "correlation", "Tiles that look less alike have no say. Not tuned.", most=1.0
    )
    tolerance: float = tuned(
        0.75, PIXELS, "A tile agrees with a motion if it is found so near.", positive=True
    )
    least_tiles: int = tuned(12, COUNT, "That must agree; for a homography twice as many.", least=4)


@dataclass(frozen=True)
class LightSettings(Group):
    """How the light of the pictures is made the same: a gain that varies over the picture."""

    side: int = tuned(192, "px", "Long side of the copies on which it is fitted. Not tuned.")
    degree: int = tuned(
        2,
        "degree",
        "Of the polynomial that the gain of a plate is: lamps and lenses are brighter on a side.",
        least=0,
        most=3,
    )
    rounds: int = tuned(4, COUNT, "Of fitting and taking the median again. Not tuned.")


@dataclass(frozen=True)
class VoteSettings(Group):
    """Which value at a pixel most pictures agree on."""

    donors: int = tuned(
        40,
        COUNT,
        "Pictures that are asked at most, spread over the batch; the prototype of masks had as "
        "many. Not tuned.",
        least=2,
    )
    limit: float = tuned(
        24.0,
        "variances",
        "Patches that differ by more than so many times the noise do not agree at all. A "
        "Gaussian of twice the noise is as wide.",
        positive=True,
    )
    doubt: float = tuned(
        0.1,
        RANGE,
        "An error of the decomposition as large as this halves the trust in a pixel.",
        positive=True,
    )


@dataclass(frozen=True)
class NoiseSettings(Group):
    """How much pictures differ where they show the same: a + c |gradient|²."""

    bins: int = tuned(20, COUNT, "Of the gradient, in which the variance is looked at. Not tuned.")
    floor: float = tuned(
        0.008, RANGE, "Least standard deviation: two grey levels of 255.", positive=True
    )
    tiles: int = tuned(24, COUNT, "Of large pictures, parts that are looked at. Not tuned.")


@dataclass(frozen=True)
class CutSettings(Group):
    """Which pixels do not belong: a graph cut. The cost of foreground is one a pixel."""

    smoothness: float = tuned(
        5.0, "pixels", "Cost of an edge between neighbours of which one does not belong."
    )
    first: float = tuned(
        6.0,
        "standard deviations",
        "An error of so many costs as much as foreground, in the first pass.",
        positive=True,
    )
    second: float = tuned(
        5.0, "standard deviations", "The same in the second, which knows better.", positive=True
    )
    seen: float = tuned(
        0.25, SHARE, "Of the donors that must see a pixel for it to be judged.", most=1.0
    )


@dataclass(frozen=True)
class ShadowSettings(Group):
    """What is taken for a cast shadow, where shadows are to be dropped."""

    radius: int = tuned(
        4, PIXELS, "Around a pixel in which one factor must do; 2 and 4 hardly differ."
    )
    darkest: float = tuned(
        0.6,
        "factor",
        "A shadow leaves at least so much light. With .4 more cars are lost: F .857 instead of "
        ".872 on CDnet's traffic.",
        most=1.0,
    )
    brightest: float = tuned(0.95, "factor", "And takes at least some. Not tuned.", most=1.0)
    width: float = tuned(
        3.0,
        "standard deviations",
        "An error of so many costs as much as foreground; 5 loses more cars.",
        positive=True,
    )
    penalty: float = tuned(0.2, "pixels", "What a shadow costs by itself. Not tuned.")


@dataclass(frozen=True)
class FillSettings(Group):
    """How hidden parts of a picture are filled in."""

    degree: int = tuned(
        1,
        "degree",
        "Of the polynomial that the gain of a picture is, where a hole is filled in: it is carried "
        "into the hole. With 2, faces are .3 dB better, and generated pictures of rank five, a "
        "quarter of each hidden, off by 55 grey levels instead of 6.",
        least=0,
        most=3,
    )
    grow: int = tuned(
        2,
        PIXELS,
        "What was found to be in front is made larger by this: its edge is mixed. Not tuned.",
        least=0,
    )
    most: float = tuned(
        0.65,
        "share of the contrast",
        "If more of what a picture should show seems to be behind something, what is known of its "
        "light is too little, and it stays as it is. Of 120 generated heads under extreme lamps, "
        "right fillings took up to .56 and wrong ones from .72 on.",
        most=1.0,
    )
    seam: float = tuned(
        0.015,
        "share of the long side",
        "Width of the rim around a hole, whose light the filling is given. On windows with a "
        "pasted occluder .004 was .1 dB worse, .03 as much better, and less of a seam is wide.",
        positive=True,
        most=0.5,
    )


@dataclass(frozen=True)
class OutputSettings(Tuned):
    """All tuned numbers of what is made at the size of the originals.

    Examples
    --------
    >>> from rankfold.outputs import OutputSettings
    >>> OutputSettings().changed({"cut.smoothness": 3}).cut.smoothness
    3.0
    """

    refine: RefineSettings = field(default_factory=RefineSettings)
    light: LightSettings = field(default_factory=LightSettings)
    votes: VoteSettings = field(default_factory=VoteSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    cut: CutSettings = field(default_factory=CutSettings)
    shadows: ShadowSettings = field(default_factory=ShadowSettings)
    fill: FillSettings = field(default_factory=FillSettings)
