"""Pictures seen through transforms: their values, gradients and validity, and the linearisation.

Read ``sampling.py`` first (a picture on the frame), then ``sources.py`` (which part of a picture is
made ready), then ``linearisation.py`` (lines 3 and 4 of Algorithm 1). The other files are compiled
kernels that these three call: ``kernels.py`` and ``bspline.py`` evaluate the spline,
``filters.py`` makes its coefficients, ``derivatives.py`` and ``orthonormal.py`` make J and Q.
"""

from rankfold.warp.linearisation import Linearised, linearise
from rankfold.warp.sampling import Sampler, prepare

__all__ = ["Linearised", "Sampler", "linearise", "prepare"]
