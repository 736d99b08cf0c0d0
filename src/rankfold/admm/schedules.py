"""How the penalty μ grows: the values that tell one schedule from another, and their table.

A :class:`Penalty` says how μ grows within one run of the inner solver. A :class:`Schedule` says
which penalty a decomposition uses and how the steps of :func:`rankfold.align` are solved: exactly
and from scratch, or to a few digits from where the last step ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankfold.errors import InputError

# A dual residual below so many times its tolerance is not yet given up.
FAR = 10


@dataclass(frozen=True)
class Penalty:
    """How μ starts, grows and ends in one run of the inner solver; by default as RASL published it.

    Residuals are relative: the primal one to the norm of the data, the dual one to that of Y.
    """

    # μ_0 σ_1, where σ_1 is the largest singular value of the data.
    start: float = 1.25
    # ρ: what μ is multiplied by after an iteration.
    growth: float = 1.25
    # μ grows only while the dual residual is at most so many times the primal one.
    # A finite value also makes the stop wait for the dual residual; infinity is the published rule.
    balance: float = np.inf
    # A dual residual above so many times the primal one is left behind: the run is frozen, and
    # only its primal residual falls any more.
    outrun: float = np.inf
    # ρ once the run is frozen and only the primal residual has to fall.
    finish: float = 1.25
    # a: the steps after A use aA + (1 - a)(V_m - E) in its place, until the run is frozen.
    relaxation: float = 1.0
    # A relative dual residual above this is not an optimum.
    dual_tol: float = 1e-3

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

    @property
    def waits_for_dual(self) -> bool:
        """Whether the run goes on until the dual residual is small too."""
        return bool(np.isfinite(self.balance))

    def is_frozen(self, primal: float, dual: float) -> bool:
        """Whether μ has outrun the dual residual, by both residuals of the last iteration."""
        if not np.isfinite(self.outrun):
            return False
        return dual > max(self.outrun * primal, FAR * self.dual_tol)

    def growth_after(self, primal: float, dual: float) -> float:
        """What μ is multiplied by, given both residuals of the last iteration."""
        if self.is_frozen(primal, dual):
            return self.finish
        if self.waits_for_dual and dual > self.balance * primal:
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


@dataclass(frozen=True)
class Schedule:
    """A row of SCHEDULES."""

    name: str
    summary: str
    # Of a decomposition at fixed transforms.
    penalty: Penalty = field(default_factory=Penalty)
    # Of the steps of an alignment: its penalty takes the place of the one above in every step.
    steps: Steps = field(default_factory=Steps)
    # Of a decomposition that goes on where such steps ended; None: it starts from scratch.
    after_steps: Penalty | None = None


# "quick" ends 3e-5 to 5e-5 above the least objective on real data. It starts later and takes
# longer strides than the published schedule, which over-relaxation makes up for, and ends in
# strides that are longer still, which saves a third of its iterations. Its constants were chosen
# on seven matrices (docs/solver.md).
_QUICK = Penalty(start=8.0, growth=1.5, relaxation=1.6, outrun=1000.0, finish=10.0)

# Steps to 1e-2, then 3e-3. ρ = 1.5 or a = 1.6 take longer here. Chosen on eight batches
# (docs/solver.md); an objective of three digits may hesitate once, hence the patience.
_QUICK_STEPS = Steps(
    penalty=Penalty(start=8.0, growth=1.7, relaxation=1.4),
    tolerances=(1e-2, 3e-3),
    falls=5e-3,
    warm=True,
    single=True,
    patience=1,
)

SCHEDULES: dict[str, Schedule] = {
    row.name: row
    for row in (
        Schedule("published", "RASL's: the penalty always grows; may end above the optimum"),
        Schedule(
            "balanced",
            "the penalty waits for the dual residual: ends at an optimum",
            penalty=Penalty(balance=30.0),
        ),
        Schedule(
            "quick",
            "a little above the optimum, in a fifth to a tenth of the time",
            penalty=_QUICK,
            steps=_QUICK_STEPS,
            # Going on at 40/σ_1 saves four iterations.
            after_steps=Penalty(start=40.0, growth=1.5, relaxation=1.6, outrun=1000.0, finish=10.0),
        ),
    )
}
"""The schedules that can be chosen by name: a Schedule by its name."""


def get_schedule(name: str, convex: bool, because: str = "", remedy: str = "") -> Schedule:
    """Look a schedule up by name; "auto" is the best one for the problem.

    Parameters
    ----------
    name : "auto" or a row of SCHEDULES
    convex : bool
        Whether the problem is the convex one. The others have their own rule: when Φ and the
        surrogate come in depends on how far the published penalty has grown.
    because, remedy : str
        Why it is not, and what to do instead, for the message.
    """
    if name == "auto":
        return SCHEDULES["balanced" if convex else "published"]
    if name not in SCHEDULES:
        choices = ", ".join(["auto", *SCHEDULES])
        raise InputError(f"unknown schedule {name!r}; choose one of {choices}")
    if not convex and name != "published":
        raise InputError(
            f"schedule={name!r} cannot be used with {because}, which always follows the published "
            f"schedule; leave the schedule out, or {remedy}"
        )
    return SCHEDULES[name]
