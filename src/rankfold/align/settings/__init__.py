"""Every tuned number of the alignment, with its unit and where it came from.

Small frozen dataclasses, one for each part of the pipeline, held together by
:class:`AlignSettings`. ``align(settings=...)`` takes one, ``rankfold settings`` prints it,
``docs/settings.md`` is made from it, and the values that were used are stored with every result.

"Development faces" are subjects 1 to 10 of Extended Yale B under the protocols P1, P2 and P4 of
``docs/evaluation.md``; lengths are in pixels of the frame unless another unit is named.
"""

from rankfold.align.settings.everything import AlignSettings
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

__all__ = [
    "AlignSettings",
    "BasisSettings",
    "CoarseSettings",
    "DecompositionSettings",
    "FeatureSettings",
    "ManifoldSettings",
    "MatchSettings",
    "OccluderSettings",
    "PixelSettings",
    "PyramidSettings",
    "RegistrationSettings",
    "RescueSettings",
    "ResolutionSettings",
    "RouteSettings",
    "SampleSettings",
    "ScoreSettings",
    "StartSettings",
    "StepSettings",
    "SurrogateSettings",
    "VerdictSettings",
]
