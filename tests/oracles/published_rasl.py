"""The discretisation of the published RASL code, for comparison only.

Written from its description: Gaussian pre-blur, Keys' cubic convolution (a = -1/2), zero outside
the source, gradients by a Sobel filter of the blurred source interpolated in the same way, and the
normalisation differentiated *before* the chain rule, which is wrong for all families but
translations and which the published figures contain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from rankfold.families import map_points, shift
from rankfold.stack import Frame
from rankfold.warp.linearisation import Linearised, Motion

SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8


@dataclass(frozen=True)
class PublishedSources:
    frame: Frame
    planes: list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # picture, x and y gradient

    value_range: float = 1.0

    @property
    def row_shape(self):
        return 1, *self.frame.shape

    def __len__(self):
        return len(self.planes)


def prepare(images, frame, transforms):
    return PublishedSources(frame, [_planes(i, T) for i, T in zip(images, transforms, strict=True)])


def motion(transforms, family):
    """Parameters of the whole transform in 1-based coordinates, as the published code has them."""
    one = np.ones(2)
    return Motion(
        family,
        np.tile(shift(-one), (len(transforms), 1, 1)),
        -one,
        family.parameters(shift(one) @ transforms @ shift(-one)),
    )


def linearise(sources, motion, executor):
    grid, jacobian = sources.frame.grid, motion.jacobian(sources.frame.grid)

    def one(i):
        points = map_points(motion.matrix(i, motion.parameters[i]), grid)
        y, gx, gy = keys(sources.planes[i], points)
        norm = np.linalg.norm(y)
        gx, gy = ((g - y * (y @ g) / norm**2) / norm for g in (gx, gy))
        Q, R = np.linalg.qr(np.einsum("dk,kdp->kp", np.stack([gx, gy]), jacobian[i]))
        return y / norm, Q.T, np.linalg.inv(R), norm

    parts = executor.run(one, range(len(sources)))
    data, basis, to_parameters, norms = (np.stack(column) for column in zip(*parts, strict=True))
    return Linearised(data, basis, to_parameters, norms, np.ones(data.shape, bool))


def keys(planes, points):
    """Cubic convolution of ``planes`` of one size at (x, y) points, zeros beyond their edge."""
    padded = np.stack([np.pad(plane, 3) for plane in planes])
    _, height, width = padded.shape
    x, y = points.T + 3
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    inside = (j >= 1) & (j < width - 2) & (i >= 1) & (i < height - 2)
    i, j = np.where(inside, i, 1), np.where(inside, j, 1)
    total, near = np.zeros((len(planes), len(points))), range(-1, 3)
    rows, columns = ([_kernel(t - a) for a in near] for t in (y - i, x - j))
    for a, down in zip(near, rows, strict=True):
        for b, across in zip(near, columns, strict=True):
            total += down * across * padded[:, i + a, j + b]
    return np.where(inside, total, 0.0)


def _kernel(t):
    t = np.abs(t)
    near = (1.5 * t - 2.5) * t * t + 1
    far = ((-0.5 * t + 2.5) * t - 4) * t + 2
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _planes(image, transform):
    sigma = 0.4 * np.sqrt(np.linalg.det(transform[:2, :2]))
    size = max(int(np.ceil(4 * sigma)), 7)
    t = np.arange(size) - (size - 1) / 2
    g = np.exp(-(t**2) / (2 * sigma**2))
    kernel = np.outer(g, g) / np.outer(g, g).sum()
    blurred = ndimage.correlate(np.asarray(image, float), kernel, mode="constant")
    return blurred, *(ndimage.correlate(blurred, s, mode="constant") for s in (SOBEL, SOBEL.T))
