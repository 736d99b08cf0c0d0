"""How the penalty μ grows: the values that tell one schedule from another, and their table.

A :class:`Penalty` says how μ grows within one run of the inner solver. A :class:`Schedule` says
which penalty a decomposition uses and how the steps of :func:`rankfold.align` are solved: exactly
and from scratch, or to a few digits from where the last step ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rankfold.errors import InputError

# A dual residual that is more than so many times too large makes the penalty fall again.
FAR = 3


@dataclass(frozen=True)
class Penalty:
    """How μ starts and grows in one run of the inner solver; by default as RASL published it.

    Residuals are relative: the primal one to the norm of the data, the dual one to that of Y.
    """

    # μ_0 σ_1, where σ_1 is the largest singular value of the data.
    start: float = 1.25
    # ρ: what μ is multiplied by after an iteration.
    growth: float = 1.25
    # a: the steps after A use aA + (1 - a)(V_m - E) in its place.
    relaxation: float = 1.0
    # μ grows while the dual residual is at most so many times the primal one, at first: a proof
    # corrects the number. Infinity is the published rule, under which μ always grows and freezes
    # the iterates wherever they are.
    balance: float = np.inf

    def __post_init__(self) -> None:
        """Refuse values under which the loop cannot end well."""
        if not 1 < self.growth < 10:
            raise InputError(
                f"the penalty's growth {self.growth} must lie between 1 and 10; 1.25 is usual"
            )
        if not self.balance > 0:
            raise InputError(
                f"balance={self.balance} must be positive; infinity lets the penalty always grow"
            )
        if not 0 < self.relaxation < 2:
            raise InputError(
                f"the relaxation {self.relaxation} must lie between 0 and 2; 1 is none"
            )

    def growth_after(self, primal: float, dual: float, balance: float) -> float:
        """What μ is multiplied by, given both residuals of the last iteration."""
        if dual > FAR * balance * primal:
            return 1 / self.growth
        if dual > balance * primal:
            return 1.0
        return self.growth


@dataclass(frozen=True)
class Steps:
    """How the linearised problems of :func:`rankfold.align` are solved, one after the other.

    By default each is solved from scratch to the caller's tolerance, in the caller's precision.
    """

    penalty: Penalty = field(default_factory=Penalty)
    # Inner tolerances, used one after the other where they are larger than the caller's own; none:
    # the caller's alone. The next one is taken when the objective falls by less than ``falls`` of
    # itself, or when the outer loop would stop.
    tolerances: tuple[float, ...] = ()
    falls: float = 0.0
    # Start at the E and Y where the last step ended.
    warm: bool = False
    # Sample and solve in single precision.
    single: bool = False
    # Outer iterations, more than usual, that may pass without the objective falling.
    patience: int = 0
    # Of pictures: for fewer, few digits are too few, and each step is solved as RASL does.
    least: int = 0


@dataclass(frozen=True)
class Schedule:
    """A row of SCHEDULES."""

    name: str
    summary: str
    # Of a decomposition at fixed transforms.
    penalty: Penalty = field(default_factory=Penalty)
    # Of the steps of an alignment on pixels: its penalty takes the place of the one above.
    steps: Steps = field(default_factory=Steps)
    # Of those on features and on blurred pixels, which only have to come near.
    rough_steps: Steps = field(default_factory=Steps)
    # Of a decomposition that goes on where such steps ended; None: it starts from scratch.
    after_steps: Penalty | None = None
    # Whether a decomposition ends when its gap is proved to be small, see certificate.py; else by
    # the published rule, when A + E is nearly D.
    certified: bool = False
    # The tolerance of that rule where the caller names none.
    tol: float = 1e-7
    # Whether all of an alignment is in single precision. A run then compiles one precision alone.
    single: bool = False
    # Whether nothing is done for speed: every step on the whole frame, in the caller's precision
    # and to the caller's tolerance.
    exact: bool = False
    # Which problems it is for: the convex one, the others, or all (None).
    convex: bool | None = None


# A late start is made up for by over-relaxation. Chosen among 80 on seven matrices by the
# iterations to a proved gap of 1e-4, where the true one is then below 1e-5 (docs/solver.md).
_CERTIFIED = Penalty(start=10.0, growth=1.2, relaxation=1.7, balance=50.0)

# Steps to 1e-2, then 3e-3. ρ = 1.5 or a = 1.6 take longer here. Chosen on eight batches
# (docs/solver.md); an objective of three digits may hesitate once, hence the patience.
_STEPS = Steps(
    penalty=Penalty(start=8.0, growth=1.7, relaxation=1.4),
    tolerances=(1e-2, 3e-3),
    falls=5e-3,
    warm=True,
    single=True,
    patience=1,
    least=20,
)

# The same on features, under the reweighted surrogate.
_ROUGH_STEPS = Steps(
    penalty=Penalty(start=10.0, growth=1.5, relaxation=1.6),
    tolerances=(1e-2, 3e-3),
    falls=5e-3,
    warm=True,
    single=True,
    least=10,
)

# On pixels with a Φ, which moves while A does, only the digits are fewer. A start at the last E, or
# a penalty that starts later, leaves more of what is hidden in A (faces near their place .058 px
# instead of .053); over-relaxed, A and Φ may never meet.
_MANIFOLD_STEPS = Steps(tolerances=(1e-4,), single=True, least=10)

SCHEDULES: dict[str, Schedule] = {
    row.name: row
    for row in (
        Schedule(
            "certified",
            "rough steps; ends when the distance from the optimum is proved to be small",
            penalty=_CERTIFIED,
            steps=_STEPS,
            rough_steps=_ROUGH_STEPS,
            after_steps=replace(_CERTIFIED, start=40.0),
            certified=True,
            tol=1e-4,
            convex=True,
        ),
        Schedule(
            "rough",
            "rough steps; ends as published, because nothing is proved of what is not convex",
            steps=_MANIFOLD_STEPS,
            rough_steps=_ROUGH_STEPS,
            single=True,
            convex=False,
        ),
        Schedule(
            "published",
            "RASL's: every step from scratch; may end above the optimum, and does not know it",
            exact=True,
        ),
    )
}
"""The schedules that can be chosen by name: a Schedule by its name."""

# Names of 0.1, and what took their place.
FORMER = {
    "quick": "leave it out, because the default is as quick and knows how good it is",
    "balanced": "leave it out, and for more digits give decompose a smaller tol, as 1e-6",
}


def get_schedule(name: str, convex: bool, because: str = "") -> Schedule:
    """Look a schedule up by name; "auto" is the first one that is for the problem.

    Parameters
    ----------
    name : "auto" or a row of SCHEDULES
    convex : bool
        Whether the problem is the convex one. Of the others nothing can be proved.
    because : str
        What makes it so, for the message.
    """
    fitting = [row for row in SCHEDULES.values() if row.convex in (None, convex)]
    if name == "auto":
        return fitting[0]
    if name in FORMER:
        raise InputError(f"schedule={name!r} is no more: {FORMER[name]}")
    if name not in SCHEDULES:
        choices = ", ".join(["auto", *SCHEDULES])
        raise InputError(f"unknown schedule {name!r}; choose one of {choices}")
    if SCHEDULES[name] not in fitting:
        possible = " or ".join(row.name for row in fitting)
        raise InputError(
            f"schedule={name!r} cannot be used with {because}; leave it out, or take {possible}"
        )
    return SCHEDULES[name]
