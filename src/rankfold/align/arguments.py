"""What each keyword of ``align``, ``decompose`` and the estimators may be, as one table.

It is looked at before any picture is: a word that is misspelt is told of at once, not after an hour
of reading. What can only be said beside the pictures, or beside another keyword, is checked where
those are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rankfold.admm.proximal import SURROGATES
from rankfold.align.checkpoints import Checkpoint
from rankfold.align.features import FEATURES
from rankfold.align.given import as_matrices, check_start
from rankfold.align.methods import METHODS, Method
from rankfold.align.settings import AlignSettings
from rankfold.arguments import callable_one, number, path_of, precision, shown, switch, whole, word
from rankfold.errors import InputError
from rankfold.families import FAMILIES
from rankfold.manifold import get_projector
from rankfold.scale.executors import number_of_threads
from rankfold.scale.limits import bytes_of
from rankfold.stack import Frame, Points
from rankfold.stack.checks import check_masks_kind

# Beyond it and one over it, everything or nothing is an error; squares of much larger ones would
# leave single precision.
LARGEST_WEIGHT = 1e12

# A sample of fewer pictures says too little of the others.
LEAST_SAMPLE = 10

Check = Callable[[str, Any], object]
"""Is given the name of a keyword and its value, and refuses what the value cannot be."""


def check_arguments(given: Mapping[str, object]) -> None:
    """Refuse keywords whose value can never be right; those without a row are passed over."""
    for name, value in given.items():
        if name in ARGUMENTS:
            ARGUMENTS[name](name, value)


def optional(check: Check) -> Check:
    """None, or what another check takes."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(*choices: str) -> Check:
    """One of some words."""
    return lambda name, value: word(name, value, choices)


def at_least(least: int) -> Check:
    """A whole number."""
    return lambda name, value: whole(name, value, least)


def one_of_kinds(kinds: tuple[type, ...], remedy: str) -> Check:
    """An object of one of some types."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, kinds):
            raise InputError(f"{name}={shown(value)} is a {type(value).__name__}; {remedy}")

    return check


def check_method(name: str, value: object) -> None:
    """A row of METHODS, by its name or itself."""
    if not isinstance(value, Method):
        word(name, value, METHODS)


def check_init(_: str, value: Any) -> None:
    """A word; what is no word has to fit the pictures, which are not known yet."""
    if isinstance(value, str):
        check_start(value)
    elif not isinstance(value, Points):
        as_matrices(value)


def check_projector(_: str, value: Any) -> None:
    """A row of PROJECTORS, a Projector or a function."""
    if not (isinstance(value, str) and value == "auto"):
        get_projector(value)


def check_weight(name: str, value: object) -> None:
    """A number above zero, within what the solver can multiply and divide by."""
    weight = number(name, value, "it must be a positive number, as 1.0")
    if not 0 < weight < np.inf:
        raise InputError(f"{name}={shown(value)} must be a positive number, and no infinity")
    if not 1 / LARGEST_WEIGHT <= weight <= LARGEST_WEIGHT:
        raise InputError(
            f"{name}={shown(value)} must lie between {1 / LARGEST_WEIGHT:g} and "
            f"{LARGEST_WEIGHT:g}; 1.0 is usual"
        )


def check_length(name: str, value: object) -> None:
    """A length, zero among them."""
    if not number(name, value, "give a length in pixels, as 0.02") >= 0:
        raise InputError(f"{name}={shown(value)} must be zero or a length in pixels")


def check_tolerance(name: str, value: object) -> None:
    """A number between 0 and 1, both excluded."""
    if not 0 < number(name, value, "give one between 0 and 1, as 1e-6") < 1:
        raise InputError(f"{name}={shown(value)} must lie between 0 and 1")


def check_share(name: str, value: object) -> None:
    """A share of the pictures, half of them at most."""
    if not 0 <= number(name, value, "give a share from 0 to 0.5") <= 0.5:
        raise InputError(
            f"{name}={shown(value)} must lie between 0 and 0.5: what more than half of the "
            "pictures have in common is taken for the thing itself"
        )


def check_features_kind(name: str, value: object) -> None:
    """A row of FEATURES, or "auto"."""
    if not (isinstance(value, str) and value in ("auto", *FEATURES)):
        raise InputError(f"unknown {name} {shown(value)}; use 'contrast', or None for raw pixels")


def check_switch(name: str, value: object) -> None:
    """True, False or "auto"."""
    if not (isinstance(value, str) and value == "auto"):
        switch(name, value)


def check_gauge_kind(name: str, value: object) -> None:
    """A word, or the number of a picture."""
    if isinstance(value, str):
        word(name, value, ("mean", "none"))
    elif isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(
            f"unknown {name} {shown(value)}; use 'mean', 'none' or the index of an image to hold"
        )
    else:
        whole(name, value, 0)


def check_picture(name: str, value: object) -> None:
    """The name or the number of a picture."""
    if not isinstance(value, str):
        whole(name, value)


def check_sample(name: str, value: object) -> None:
    """The word "auto", or a number of pictures against which others can be placed."""
    if isinstance(value, str) and value == "auto":
        return
    size = number(name, value, "use 'auto', None or a number of pictures")
    if not size.is_integer():
        raise InputError(f"unknown {name}={shown(value)}; use 'auto', None or a number of pictures")
    if size < LEAST_SAMPLE:
        raise InputError(
            f"{name}={shown(value)} is too few to place others against; use {LEAST_SAMPLE} or "
            "more, or None"
        )


def check_executor_kind(name: str, value: object) -> None:
    """Whatever has a method ``run``."""
    if isinstance(value, type) or not callable(getattr(value, "run", None)):
        raise InputError(
            f"{name}={shown(value)} has no method run; pass an Executor, as Threads(2) of "
            "rankfold.scale"
        )


def check_checkpoint(name: str, value: object) -> None:
    """The path of a folder, or a Checkpoint."""
    if not isinstance(value, Checkpoint):
        path_of(name, value)


def check_coarse(name: str, value: object) -> None:
    """True, False or "auto", the first two also as words."""
    known = isinstance(value, str) and value in ("True", "False", "auto")
    if not known and not isinstance(value, bool | np.bool_):
        raise InputError(f"unknown {name}={shown(value)}; use True, False or 'auto'")


ARGUMENTS: dict[str, Check] = {
    "method": check_method,
    "family": one_of(*FAMILIES),
    "frame": optional(lambda name, value: Frame.of(value, name)),
    "init": check_init,
    "masks": optional(lambda _, value: check_masks_kind(value)),
    "sparsity_weight": check_weight,
    "projector": optional(check_projector),
    "n_neighbors": optional(at_least(1)),
    "rank_surrogate": one_of("auto", *SURROGATES),
    "features": optional(check_features_kind),
    "rescue": check_switch,
    "shared": optional(check_share),
    "start": optional(one_of_kinds((str,), "give one of the words for where pictures begin")),
    "coarse": optional(check_coarse),
    "frame_of": optional(check_picture),
    "channels": one_of("luminance", "joint"),
    "gauge": check_gauge_kind,
    "max_outer": at_least(1),
    "outer_tol": check_length,
    "max_inner": at_least(1),
    "inner_tol": check_tolerance,
    "schedule": one_of_kinds((str,), "give the name of a schedule, or 'auto'"),
    "n_jobs": lambda _, value: number_of_threads(value),
    "executor": optional(check_executor_kind),
    "memory_limit": optional(lambda _, value: bytes_of(value)),
    "scratch": optional(path_of),
    "observe": optional(
        lambda name, value: callable_one(name, value, "pass a function of a record")
    ),
    "checkpoint": optional(check_checkpoint),
    "strict": switch,
    "dtype": precision,
    "settings": optional(one_of_kinds((AlignSettings,), "pass AlignSettings(), or leave it out")),
    "sample": optional(check_sample),
    # Of decompose alone.
    "tol": optional(check_tolerance),
    "max_iter": at_least(1),
}
"""What each keyword may be, by its name."""
