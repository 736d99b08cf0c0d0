"""Sampling pictures through transforms: values, analytic gradients and validity, and their linearisation."""

from rankfold.warp.linearisation import Linearised, linearise
from rankfold.warp.sampling import Sampler, prepare

__all__ = ["Linearised", "Sampler", "linearise", "prepare"]
