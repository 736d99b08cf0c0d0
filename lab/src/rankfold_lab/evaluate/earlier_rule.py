"""The rule of version 0.1 for who found their place, beside which the verdicts are measured.

The score of a picture was its robust cost against a basis of the others over the mean of its cost
at eight places 3 px away; above 0.9 it failed. A lost picture has been optimised into a local
minimum, so that its cost is higher all around it, and its score is low.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankfold.align.agreement import feature_rows
from rankfold.align.job import Job
from rankfold.align.model import fit_model
from rankfold.align.scores import scores_against
from rankfold.families import Floats

# A picture with a higher score failed.
FAILED = 0.9


def scores_of_0_1(job: Job, transforms: Floats) -> Floats:
    """Return the score (n,) of every picture of a job at its transforms (n, 3, 3), on features."""
    rows, low_rank, valid = feature_rows(job, transforms)
    settings = job.request.settings
    model = fit_model(rows, low_rank, valid, settings.basis, executor=job.executor)

    def score(group: npt.NDArray[np.int_]) -> Floats:
        """Return the scores of pictures that share a basis."""
        return scores_against(
            model.others(group[0], np.float32),
            job.contrast,
            group,
            transforms[group],
            rows[group],
            valid[group],
            settings.scores,
            offset=1.0,
        )

    return model.for_groups(score, job.executor)
