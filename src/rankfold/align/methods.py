"""The METHODS table: what each method does by itself. Every choice can be overridden."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.admm import Solver, solve
from rankfold.errors import InputError


@dataclass(frozen=True)
class Method:
    """A row of METHODS: what solves a linearised problem, and which stages come before.

    ``solve`` is called as ``solve(problem, settings, executor, observe, outer, near)`` with a
    :class:`rankfold.admm.Problem` and returns a :class:`rankfold.admm.Solution`. A method that is
    not ADMM is a function of its own there, see ``docs/changing-things.md``.
    """

    name: str
    # A sentence for tables.
    summary: str
    # What solves a linearised problem.
    solve: Solver = solve
    # Whether it estimates transforms.
    moves: bool = True
    # A row of PROJECTORS: the manifold constraint.
    projector: str | None = None
    # "nuclear", or "reweighted": the concave surrogate from μ = 10/σ_1 on.
    rank_surrogate: str = "nuclear"
    # Stages before the pixels: on which features, or None for no such stage.
    features: str | None = None
    # Whether single pictures that stand apart are searched a better place.
    rescue: bool = False
    # How the pictures come to their start: a row of ROUTES, or "auto" to try several.
    route: str = "given"
    # The largest share of the pictures that an occluder may be on; 0: none is looked for.
    shared: float = 0.5
    # Options of the inner solver that ``solve`` does not use: "projector", "n_neighbors",
    # "rank_surrogate" or "schedule". A caller who gives one is told so.
    ignores: tuple[str, ...] = ()


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rpca", "robust PCA: low rank + sparse at fixed transforms", moves=False),
        Method("rasl", "RASL: low rank + sparse + one transform an image"),
        Method(
            "meadmm",
            "MeADMM: RASL with the low-rank images on a learned manifold, after stages that find "
            "the place",
            projector="regression",
            rank_surrogate="reweighted",
            features="contrast",
            rescue=True,
            route="auto",
        ),
    )
}
"""The methods that can be chosen by name: a Method by its name."""


def get_method(method: str | Method) -> Method:
    """Look a method up by name; a Method is taken as it is."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    return METHODS[method]


def refuse_ignored(method: Method, **options: object) -> None:
    """Refuse options that would have no effect; None and "auto" leave the choice to the method."""
    for name in method.ignores:
        value = options.get(name)
        left_open = value is None or (isinstance(value, str) and value == "auto")
        if not left_open:
            raise InputError(f"{name} has no effect with method {method.name!r}; leave it out")
