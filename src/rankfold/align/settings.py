"""Every tuned number of the alignment, with its unit and where it came from.

Small frozen dataclasses, one for each part of the pipeline, held together by
:class:`AlignSettings`. ``align(settings=...)`` takes one, ``rankfold settings`` prints it,
``docs/settings.md`` is made from it, and the values that were used are stored with every result.

"Development faces" are subjects 1 to 10 of Extended Yale B under the protocols P1, P2 and P4 of
``docs/evaluation.md``; lengths are in pixels of the frame unless another unit is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from rankfold.errors import InputError

PX = "px of the frame"
VIEW_PX = "px of the view"
SHARE = "share"
COUNT = "count"


def tuned(
    value: Any,
    unit: str,
    why: str,
    *,
    least: float | None = None,
    most: float = np.inf,
    positive: bool = False,
    optional: bool = False,
) -> Any:
    """A field with its unit and where its value came from.

    A value is at least ``least`` (by default one for a count and zero for anything else) and at
    most ``most``. It is larger than zero where it must be ``positive``, and may be None where it
    is ``optional``.
    """
    if least is None:
        least = 1 if unit == COUNT else 0
    limits = {"least": least, "most": most, "positive": positive, "optional": optional}
    return field(default=value, metadata={"unit": unit, "why": why, **limits})


class Group:
    """A part of the settings, whose numbers are checked when it is made."""

    def __post_init__(self) -> None:
        """Refuse numbers with which the pipeline cannot work; NaN is no number."""
        for number in fields(self):  # type: ignore[arg-type]
            value = getattr(self, number.name)
            about = number.metadata
            if value is None and about["optional"]:
                continue
            several = np.atleast_1d(value)
            if not (several >= about["least"]).all():
                raise InputError(
                    f"the setting {number.name}={value} must be at least {about['least']:g}"
                )
            if not (several <= about["most"]).all():
                raise InputError(
                    f"the setting {number.name}={value} must be at most {about['most']:g}"
                )
            if about["positive"] and not (several > 0).all():
                raise InputError(f"the setting {number.name}={value} must be larger than zero")


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


@dataclass(frozen=True)
class FeatureSettings(Group):
    """Contrast features, on which light matters less."""

    smooth: float = tuned(
        0.7,
        PX,
        "A small blur first; without it the features see noise: .48 px instead of .31.",
        positive=True,
    )
    surround: float = tuned(
        1.7,
        PX,
        "What counts as surroundings; P1 of the development faces, eyes .545 to .314 px.",
        positive=True,
    )
    floor: float = tuned(
        0.002,
        "share of the pixel range",
        "About the noise that is left after the blur.",
        positive=True,
    )
    max_outer: int = tuned(20, COUNT, "Outer iterations at most. A limit, not tuned.")
    tol: float = tuned(
        1e-3, "relative residual", "Inner tolerance: only a step is wanted.", positive=True
    )
    single_above: int = tuned(
        2**18,
        "values of all derivatives",
        "Larger batches take steps on features and blurred pixels in single precision. Smaller "
        "ones fit into a cache, where that saves little.",
    )


@dataclass(frozen=True)
class BasisSettings(Group):
    """The leave-one-out bases that single pictures are compared with."""

    folds: int = tuned(40, COUNT, "Bases at most; with more pictures, a few are left out together.")
    pictures_a_dimension: int = tuned(5, COUNT, "The rank is n over this, within the limits below.")
    min_rank: int = tuned(3, COUNT, "Limit of the rank; chosen on the development faces.")
    max_rank: int = tuned(12, COUNT, "Limit of the rank; chosen on the development faces.")
    rounds: int = tuned(6, COUNT, "Of the reweighted fit. Chosen, not tuned.")
    good_spread: float = tuned(
        2.0, "robust standard deviations", "Pictures above it do not go into the second bases."
    )


@dataclass(frozen=True)
class RescueSettings(Group):
    """The search of a better place for single pictures that stand apart."""

    better: float = tuned(0.97, SHARE, "A new place must lower the cost to this share.")
    moved: float = tuned(0.3, PX, "A shorter way is no rescue.")
    rounds: int = tuned(3, COUNT, "Rounds at most. A limit, not tuned.")
    settle: int = tuned(3, COUNT, "Outer iterations of all pictures after a round.")
    few: int = tuned(
        3,
        COUNT,
        "Dimensions of the basis in the first round after a far start: pictures that went "
        "astray together explain each other in a larger one.",
    )
    near_angles: tuple[float, ...] = tuned(
        (-8.0, 0.0, 8.0), "degrees", "Grid around the start.", least=-np.inf
    )
    near_shifts: tuple[float, ...] = tuned(
        (-3.0, 0.0, 3.0), PX, "Grid around the start.", least=-np.inf
    )
    near_bound: float = tuned(8.0, PX, "A place further from the start is not believed.")
    wide_angles: tuple[float, ...] = tuned(
        (-30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0),
        "degrees",
        "The same after a far start.",
        least=-np.inf,
    )
    wide_shifts: tuple[float, ...] = tuned(
        (-7.5, -5.0, -2.5, 0.0, 2.5, 5.0, 7.5), PX, "The same after a far start.", least=-np.inf
    )
    wide_bound: float = tuned(0.6, "share of the short side", "The same after a far start.")
    local_angles: tuple[float, ...] = tuned(
        (-4.0, 0.0, 4.0), "degrees", "Grid around the current place.", least=-np.inf
    )
    local_shifts: tuple[float, ...] = tuned(
        (-1.5, 0.0, 1.5), PX, "Grid around the current place.", least=-np.inf
    )
    kept_starts: int = tuned(4, COUNT, "The most promising places are followed, and the current.")


@dataclass(frozen=True)
class RegistrationSettings(Group):
    """The robust Lucas-Kanade of one picture against a basis of the others."""

    anneal: tuple[float, ...] = tuned(
        (4.0, 2.0, 1.0),
        "times an ordinary residual",
        "From coarse to fine residuals.",
        positive=True,
    )
    steps: int = tuned(6, COUNT, "Steps for each of them at most.")
    fit_rounds: int = tuned(2, COUNT, "Of the reweighted fit before each step.")
    trust: float = tuned(3.0, PX, "No corner moves further in one step.", positive=True)
    still: float = tuned(0.01, PX, "A shorter step ends the scale.")


@dataclass(frozen=True)
class PixelSettings(Group):
    """The method itself on raw pixels."""

    patience: int = tuned(
        4, COUNT, "Outer iterations MeADMM may take without lowering its objective: not monotone."
    )
    nuclear_outer: int = tuned(2, COUNT, "After features: outer iterations with the nuclear norm.")
    reweighted_outer: int = tuned(1, COUNT, "And with the reweighted surrogate.")
    guard: float = tuned(
        0.5 / 42,
        "share of the short side",
        "After features, a picture that moves further drifts and is put back; P1 .345 to .285 px.",
    )


@dataclass(frozen=True)
class StepSettings(Group):
    """What keeps a step of the outer loop honest, and when the loop ends."""

    trust: float = tuned(3.0, PX, "No corner moves further in one step.", positive=True)
    halvings: int | None = tuned(
        3,
        COUNT,
        "Of a step that does not lower its picture's residual; None: take it whole.",
        optional=True,
        least=0,
    )
    slack: float = tuned(
        1.0001,
        "times the residual",
        "A step may raise it by this: below, rounding decides.",
        positive=True,
    )
    gain: float = tuned(1e-6, SHARE, "A residual that fell by less did not improve.")
    objective_tol: float = tuned(
        0.01, "objective", "A smaller fall ends the loop: RASL's rule.", least=-np.inf
    )


@dataclass(frozen=True)
class ManifoldSettings(Group):
    """The manifold constraint; what Definition 1 leaves open."""

    n_neighbors: int = tuned(7, COUNT, "K of the paper, while aligning; 7 to 20 hardly differ.")
    last_n_neighbors: int = tuned(
        12, COUNT, "K in the last decomposition, where n allows; 7 to 20 hardly differ."
    )
    alpha: float = tuned(
        0.05, "share of the pixel range", "The paper's α; a smaller difference is dropped."
    )
    keep: float = tuned(
        0.85, SHARE, "The paper's ε', of what is left of a difference; without it, salt leaks."
    )
    ridge: float = tuned(
        1e-4, "share of the mean diagonal", "Of the regression; 1e-2 is bad.", positive=True
    )
    window: float = tuned(
        0.11, "share of the short side", "Of the vote on what is in error: 5 px of faces 45 x 42."
    )
    weight: float = tuned(0.5, "β = σ/μ", "Weight of the clone penalty; 0.2 to 2 hardly differ.")
    start: float = tuned(28.0, "growth of μ", "Before, A is not worth projecting.")
    period: int = tuned(3, COUNT, "Iterations between two projections; 1 to 4 hardly differ.")


@dataclass(frozen=True)
class SurrogateSettings(Group):
    """The reweighted surrogate of the rank."""

    start: float = tuned(
        8.0, "μ / μ_0", "The nuclear norm before: from a poor start the surrogate does harm."
    )


@dataclass(frozen=True)
class DecompositionSettings(Group):
    """The decomposition at the final transforms."""

    more_iterations: int = tuned(
        5, "times max_inner", "It also waits for the dual residual, which takes longer."
    )


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
    null_shifts: int = tuned(8, COUNT, "By which the likeness that chance gives is measured.")
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
        "of 25 groups as large was the largest that there was; of smaller ones nine were not.",
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


@dataclass(frozen=True)
class MatchSettings(Group):
    """Keypoints that several photographs share, for a start from far apart.

    Pictures are matched in views, which are small grey copies.
    """

    side: int = tuned(
        1000,
        VIEW_PX,
        "A view is at most this long. On graf 500 was less accurate at the widest angle (2.7 "
        "instead of 1.4 px of the original).",
        least=32,
        most=1000,
    )
    max_keypoints: int = tuned(
        3000,
        COUNT,
        "Of one picture at most. With 1500, two of 16 windows with a pasted occluder were lost.",
        least=8,
    )
    max_keypoints_of_many: int = tuned(
        1200,
        COUNT,
        "The same with more than all_pairs pictures. Chosen for speed: 300 frames in 95 s.",
        least=8,
    )
    contrast: float = tuned(
        0.02,
        "SIFT's contrast threshold",
        "Half of what OpenCV takes; of windows with a pasted occluder, .04 lost one of 16.",
        positive=True,
    )
    cells: int = tuned(
        8,
        COUNT,
        "Cells along the long side of a grid, over which keypoints are spread and in which the "
        "cover of a link is counted; of windows with a pasted occluder 6 and 10 chose as well.",
    )
    margin: int = tuned(
        4, VIEW_PX, "Keypoints nearer to a missing pixel are dropped. Chosen, not tuned."
    )
    ratio: float = tuned(
        0.8,
        SHARE,
        "Lowe's (2004), of the distances to the nearest and the second nearest descriptor; on "
        "graf and leuven .7 to .9 hardly differ.",
        most=1.0,
    )
    tolerance: float = tuned(
        3.0, VIEW_PX, "A match that is closer agrees; on graf 2 to 5 hardly differ.", positive=True
    )
    samples: int = tuned(
        4000, COUNT, "Samples of matches at most; on graf and leuven 1000 gave the same."
    )
    fitted_samples: int = tuned(
        4, COUNT, "The best ones are fitted again; on graf, leuven and windows 8 gave the same."
    )
    max_scale: float = tuned(
        8.0,
        "times",
        "A transform that stretches more is not believed. A limit, not tuned.",
        least=1,
    )
    min_spread: float = tuned(
        0.02,
        "share of the long side",
        "Standard deviation of the matches across their shortest direction. A limit, not tuned.",
    )
    min_inliers: int = tuned(
        8,
        COUNT,
        "Matches that must agree beside the share below: Brown and Lowe (2007), not tuned.",
    )
    min_share: float = tuned(
        0.3,
        SHARE,
        "Of the tentative matches where both pictures see the same: Brown and Lowe (2007). No "
        "false link among 26 pictures of seven scenes, in any family.",
        most=1.0,
    )
    rival: float = tuned(
        0.5,
        SHARE,
        "A second transform with so much of the matches and of the cover makes a link ambiguous. "
        "Of 120 pairs of windows, no second transform had more than .13 of the matches.",
        most=1.0,
    )
    mixed: float = tuned(
        0.25,
        SHARE,
        "Of the second transform's matches whose nearest neighbour belongs to the first: below, "
        "it is that of something else beside it or in front. Chosen, not tuned.",
        most=1.0,
    )
    cycle: float = tuned(
        10.0,
        VIEW_PX,
        "Three links round must end this near to the start. Links of graf do, and a window of a "
        "facade is larger. Not tuned.",
        positive=True,
    )
    all_pairs: int = tuned(40, COUNT, "Up to so many pictures, every pair is compared: for speed.")
    in_time: tuple[float, ...] = tuned(
        (1.0, 2.0, 5.0, 10.0),
        "pictures",
        "With more, a picture is compared with those so far behind it. Chosen, not tuned.",
        least=1,
    )
    look_alikes: int = tuned(
        6, COUNT, "And with so many that look most like it. Chosen, not tuned.", least=0
    )
    words: int = tuned(
        32, COUNT, "Typical descriptors by which pictures are found to look alike. Not tuned."
    )
    points_a_link: int = tuned(
        150,
        COUNT,
        "Matches of a link in the joint refinement, well spread; on graf 50 to 2000 hardly differ.",
        least=4,
    )
    huber: float = tuned(
        1.0,
        VIEW_PX,
        "A match further apart pulls no harder (Huber's loss); on graf .5 to 2 hardly differ.",
        positive=True,
    )
    refine_rounds: int = tuned(
        3,
        COUNT,
        "Of refining and choosing the matches again; graf's third view 2.1, .8 and .7 px after "
        "one, two and three.",
    )
    refine_steps: int = tuned(40, COUNT, "Steps of a round at most. A limit, not tuned.")


@dataclass(frozen=True)
class AlignSettings:
    """All tuned numbers of :func:`rankfold.align`, by the part of the pipeline that uses them.

    Examples
    --------
    >>> from rankfold import AlignSettings
    >>> AlignSettings().changed({"features.surround": 2.0}).features.surround
    2.0
    """

    start: StartSettings = field(default_factory=StartSettings)
    matching: MatchSettings = field(default_factory=MatchSettings)
    routes: RouteSettings = field(default_factory=RouteSettings)
    coarse: CoarseSettings = field(default_factory=CoarseSettings)
    pyramid: PyramidSettings = field(default_factory=PyramidSettings)
    features: FeatureSettings = field(default_factory=FeatureSettings)
    basis: BasisSettings = field(default_factory=BasisSettings)
    rescue: RescueSettings = field(default_factory=RescueSettings)
    registration: RegistrationSettings = field(default_factory=RegistrationSettings)
    pixels: PixelSettings = field(default_factory=PixelSettings)
    steps: StepSettings = field(default_factory=StepSettings)
    manifold: ManifoldSettings = field(default_factory=ManifoldSettings)
    surrogate: SurrogateSettings = field(default_factory=SurrogateSettings)
    decomposition: DecompositionSettings = field(default_factory=DecompositionSettings)
    scores: ScoreSettings = field(default_factory=ScoreSettings)
    verdicts: VerdictSettings = field(default_factory=VerdictSettings)

    def values(self) -> dict[str, dict[str, Any]]:
        """Return the numbers as plain values, {"features": {"smooth": 0.7, ...}, ...}."""
        plain: dict[str, dict[str, Any]] = {}
        for row in setting_rows(self):
            value = np.asarray(row.value).tolist() if row.value is not None else None
            plain.setdefault(row.group, {})[row.name] = value
        return plain

    def changed(self, values: Mapping[str, Any]) -> AlignSettings:
        """Return the same settings with some values replaced, by names like "features.smooth"."""
        # The defaults have the types that the values must have.
        known = {f"{row.group}.{row.name}": row for row in setting_rows(AlignSettings())}
        new = self
        for name, value in values.items():
            if name not in known:
                raise InputError(
                    f"unknown setting {name!r}; `rankfold settings` lists them, as "
                    "'features.smooth'"
                )
            row = known[name]
            kept = row.optional and value is None
            number = None if kept else _like(row.value, value, name)
            group = replace(getattr(new, row.group), **{row.name: number})
            new = replace(new, **{row.group: group})
        return new


@dataclass(frozen=True)
class SettingRow:
    """One tuned number, for tables."""

    group: str
    name: str
    value: Any
    unit: str
    why: str
    optional: bool  # whether None is a value too

    @property
    def shown(self) -> str:
        """The value as text that ``--set`` takes."""
        return ",".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)


def setting_rows(settings: AlignSettings) -> Iterator[SettingRow]:
    """Every number of the settings with its unit and its sentence, in the order of the pipeline."""
    for part in fields(settings):
        group = getattr(settings, part.name)
        for number in fields(group):
            value = getattr(group, number.name)
            about = number.metadata
            yield SettingRow(
                part.name, number.name, value, about["unit"], about["why"], about["optional"]
            )


def _like(old: Any, new: Any, name: str) -> Any:
    """A new value in the type of the old one; several numbers may come as text, "4,2"."""
    kind = "numbers" if isinstance(old, tuple) else "a number"
    try:
        if isinstance(old, tuple):
            several = new.split(",") if isinstance(new, str) else new
            return tuple(float(one) for one in several)
        number = float(new)
    except (TypeError, ValueError) as error:
        raise InputError(f"the setting {name} must be {kind}, not {new!r}") from error
    if not isinstance(old, int):
        return number
    if not number.is_integer():
        raise InputError(f"the setting {name} must be a whole number, not {new!r}")
    return int(number)
