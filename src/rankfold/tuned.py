"""What a tuned number is: a field with a unit, a reason and limits.

Groups check their numbers; several groups are held together, changed by name, and listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from rankfold.errors import InputError

PX = "px of the frame"
VIEW_PX = "px of the view"
SHARE = "share"
COUNT = "count"

# Above these a number that has no other limit is a slip of the pen, and would only take time.
MOST = 1e6
MOST_PX = 1e5


def tuned(
    value: Any,
    unit: str,
    why: str,
    *,
    least: float | None = None,
    most: float | None = None,
    positive: bool = False,
    optional: bool = False,
) -> Any:
    """A field with its unit and where its value came from.

    A value is at least ``least`` (by default one for a count and zero for anything else) and at
    most ``most`` (by default a million, and less for a length). It is larger than zero where it
    must be ``positive``, and may be None where it is ``optional``.
    """
    if least is None:
        least = 1 if unit == COUNT else 0
    if most is None:
        most = MOST_PX if unit.startswith("px") else MOST
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


class Tuned:
    """Groups of tuned numbers that are held together: a dataclass with a group in every field."""

    def values(self) -> dict[str, dict[str, Any]]:
        """Return the numbers as plain values, {"features": {"smooth": 0.7, ...}, ...}."""
        plain: dict[str, dict[str, Any]] = {}
        for row in setting_rows(self):
            value = np.asarray(row.value).tolist() if row.value is not None else None
            plain.setdefault(row.group, {})[row.name] = value
        return plain

    def changed(self, values: Mapping[str, Any]) -> Self:
        """Return the same settings with some values replaced, by names like "features.smooth"."""
        # The defaults have the types that the values must have.
        known = {f"{row.group}.{row.name}": row for row in setting_rows(type(self)())}
        new = self
        for name, value in values.items():
            if name not in known:
                raise InputError(
                    f"unknown setting {name!r}; `rankfold settings` lists them, as "
                    f"'{next(iter(known))}'"
                )
            row = known[name]
            kept = row.optional and value is None
            number = None if kept else _like(row.value, value, name)
            group = replace(getattr(new, row.group), **{row.name: number})
            new = replace(new, **{row.group: group})  # type: ignore[type-var]
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


def setting_rows(settings: Tuned) -> Iterator[SettingRow]:
    """Every number of the settings with its unit and its sentence, in the order of the pipeline."""
    for part in fields(settings):  # type: ignore[arg-type]
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
