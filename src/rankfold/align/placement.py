"""Place new pictures against pictures that were aligned before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.agreement import feature_rows
from rankfold.align.basis import Basis, leading_rows
from rankfold.align.features import contrast_sampler
from rankfold.align.job import Job
from rankfold.align.model import fit_model
from rankfold.align.registration import register
from rankfold.align.scores import scores_against
from rankfold.align.settings import AlignSettings
from rankfold.families import Family, Floats
from rankfold.scale import Serial
from rankfold.stack import Frame, Stack
from rankfold.warp.linearisation import Motion

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Placement:
    """A basis of the contrast features of aligned pictures, to place new ones against."""

    rows: Array  # (r, m), orthonormal
    scale: float  # of an ordinary residual
    frame: Frame
    family: Family
    settings: AlignSettings

    @classmethod
    def learn(cls, job: Job, transforms: Floats) -> Placement:
        """From pictures at their transforms (n, 3, 3). Nothing is left out: one basis of all."""
        request = job.request
        rows, low_rank, valid = feature_rows(job, transforms)
        model = fit_model(rows, low_rank, valid, request.settings.basis, executor=job.executor)
        rank = max(len(basis) for basis in model.bases)
        basis = leading_rows(low_rank.astype(np.float64), rank)
        return cls(basis, model.scale, request.frame, request.family, request.settings)

    def place(self, stack: Stack, start: Floats) -> tuple[Floats, Floats]:
        """Transforms (n, 3, 3) of new pictures, and their scores (n,): near 1, no place fits.

        Robust Lucas-Kanade on features from ``start`` (n, 3, 3), each picture by itself.
        """
        settings = self.settings
        sampler = contrast_sampler(
            stack.luminance(), self.frame, start, np.float64, Serial(), settings.features
        )
        motion = Motion.starting_at(start, self.family, self.frame.centre)
        basis = Basis.of(self.rows, self.scale, settings.basis.rounds)
        found = [
            register(sampler, motion, i, motion.parameters[i], basis, settings.registration)
            for i in range(len(stack))
        ]
        transforms = motion.with_parameters(np.stack(found)).transforms
        # Scores need the rows where the pictures were placed.
        sampled = [sampler.sample(i, transforms[i]) for i in range(len(stack))]
        # Features without their +1.
        rows = np.stack([np.where(valid, values[0] - 1, 0) for values, _, valid in sampled])
        seen = np.stack([valid for _, _, valid in sampled])
        single = Basis.of(self.rows.astype(np.float32), self.scale, settings.basis.rounds)
        everyone = np.arange(len(stack))
        scores = scores_against(
            single, sampler, everyone, transforms, rows, seen, settings.scores, offset=1.0
        )
        return transforms, scores
