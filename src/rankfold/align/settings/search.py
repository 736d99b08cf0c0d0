"""Numbers of the stages that search transforms: features, rescue, pixels, and their steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfold.tuned import COUNT, PX, SHARE, Group, tuned


@dataclass(frozen=True)
class ResolutionSettings(Group):
    """On how large a frame pictures are aligned, before the whole frame refines that."""

    side: int = tuned(
        128,
        PX,
        "Short side at most of the frame on which places are searched. Of a stack 512 x 512, 64 "
        "left .128 px, 128 .036, 171 .038, and 256 .187.",
        least=16,
    )
    detail: float = tuned(
        0.2,
        "correlation",
        "Of two pictures' finest detail on the whole frame, the median pair; below, it shows "
        "noise, and steps on it go astray. Photographs .37, .59 and .77, noisy stacks .04.",
        most=1.0,
    )
    blur: float = tuned(0.7, PX, "What this blur takes away is the finest detail.", positive=True)
    sample: int = tuned(12, COUNT, "Pictures at most that are asked for it.", least=2)


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
    few_moved: float = tuned(
        0.1,
        SHARE,
        "Of the pictures: where a round moves fewer, those that it searched in vain are not "
        "searched again. Chosen for speed.",
        most=1.0,
    )
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

    trust: float = tuned(
        3.0,
        PX,
        "No corner moves further in one step.",
        positive=True,
        # The published RASL knows no such limit.
        most=np.inf,
    )
    halvings: int | None = tuned(
        3,
        COUNT,
        "Of a step that does not lower its picture's residual; None: take it whole.",
        # A step that was halved more often is none.
        most=50,
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
