"""All tuned numbers held together, changed by name, and listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from rankfold.align.settings.matching import MatchSettings
from rankfold.align.settings.method import (
    DecompositionSettings,
    ManifoldSettings,
    SurrogateSettings,
)
from rankfold.align.settings.occluders import OccluderSettings
from rankfold.align.settings.sample import SampleSettings
from rankfold.align.settings.search import (
    BasisSettings,
    FeatureSettings,
    PixelSettings,
    RegistrationSettings,
    RescueSettings,
    ResolutionSettings,
    StepSettings,
)
from rankfold.align.settings.starts import (
    CoarseSettings,
    PyramidSettings,
    RouteSettings,
    StartSettings,
)
from rankfold.align.settings.verdicts import ScoreSettings, VerdictSettings
from rankfold.errors import InputError


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
    resolution: ResolutionSettings = field(default_factory=ResolutionSettings)
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
    occluders: OccluderSettings = field(default_factory=OccluderSettings)
    scores: ScoreSettings = field(default_factory=ScoreSettings)
    verdicts: VerdictSettings = field(default_factory=VerdictSettings)
    sample: SampleSettings = field(default_factory=SampleSettings)

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
