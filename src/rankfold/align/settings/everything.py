"""All tuned numbers of an alignment, held together."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from rankfold.tuned import Tuned


@dataclass(frozen=True)
class AlignSettings(Tuned):
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
