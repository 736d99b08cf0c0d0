"""A place of one picture, and the picture on one of the frames on which it is placed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfold.align.basis import Basis
from rankfold.align.job import Job
from rankfold.align.registration import register
from rankfold.align.rescue import cost_at
from rankfold.align.settings import RegistrationSettings
from rankfold.align.steps import displacements
from rankfold.families import Floats
from rankfold.warp.linearisation import Motion


@dataclass(frozen=True)
class Place:
    """Where a picture is.

    Attributes
    ----------
    transform, base : (3, 3) arrays
        Into the original: where it is, and for where it was prepared.
    share, rough : float
        Confirmed share of its tiles against the sample's group, and against its mean.
    cost : float
        How badly its features fit the sample's, 0 to 1.
    rescued : bool
        Whether only a grid of starts has led there.
    sure : bool
        False if it is neither plainly confirmed nor fits as the sample does: of several places
        that were tried, one is confirmed a little by chance.
    """

    transform: Floats
    base: Floats
    share: float
    rough: float
    cost: float
    rescued: bool = False
    sure: bool = True


@dataclass(frozen=True)
class Rung:
    """One picture on the frame of one level."""

    job: Job
    basis: Basis

    @cached_property
    def motion(self) -> Motion:
        """The motion from where the picture was prepared."""
        request = self.job.request
        return Motion.starting_at(request.start, request.family, request.frame.centre)

    def follow(self, there: Floats, numbers: RegistrationSettings) -> Floats:
        """Where (3, 3) the picture goes from a place (3, 3) on this frame."""
        parameters = self.motion.reaching(there[None]).parameters[0]
        sampler = self.job.contrast
        found = register(sampler, self.motion, 0, parameters, self.basis, numbers)
        return self.motion.matrix(0, found)

    def costs(self, starts: list[Floats]) -> Floats:
        """What parameters (p,) cost, (k,)."""
        return cost_at(self.job.contrast, self.motion, 0, starts, self.basis)

    def distance(self, parameters: Floats, usual: list[Floats]) -> float:
        """How far parameters (p,) are from the nearest usual start, px of this frame."""
        there = self.motion.matrix(0, parameters)[None]
        places = np.stack([self.motion.matrix(0, start) for start in usual])
        corners = self.job.request.frame.corners
        return float(displacements(places, there, corners).min())

    def cost(self, there: Floats) -> float:
        """What a place (3, 3) costs."""
        return float(self.costs([self.motion.reaching(there[None]).parameters[0]])[0])
