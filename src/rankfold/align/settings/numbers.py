"""What a tuned number is: a field with a unit, a reason and limits; groups check them."""

from __future__ import annotations

from dataclasses import field, fields
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
