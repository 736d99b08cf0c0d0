"""A picture's derivative by the parameters of its transform: J_i of Algorithm 1, line 3, compiled.

How to read this file. ``differentiate`` samples a picture with its gradient and applies the chain
rule; ``chain`` is that rule, in ``chain_affine`` without perspective and in ``chain_projective``
with it. ``normalise_and_orthonormalise`` then divides by the picture's norm, which the derivative
has to follow, and hands J to ``orthonormal.py``.

J_i is kept as p rows of c m values (the paper has p columns). The functions write into arrays of
their caller. A loop does one kind of work, because the compiler vectorises such loops; the order of
the operations is part of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.compiled import compiled
from rankfold.sums import dot
from rankfold.warp.kernels import sample
from rankfold.warp.orthonormal import orthonormalise
from rankfold.warp.places import map_row

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@compiled()
def differentiate(
    planes: Floats,
    cells: Bools,
    window: Any,
    matrix: Floats,
    derivative: Floats,
    height: int,
    width: int,
    values: Array,
    jacobian: Array,
    valid: Bools,
) -> None:
    """Sample a picture and its derivative by the parameters of its transform.

    Parameters
    ----------
    planes, cells, window, matrix, height, width
        As in :func:`rankfold.warp.kernels.sample`.
    derivative : (p, 3, 3) array
        Derivative of the matrix by the parameters.
    values, jacobian, valid : (c m,), (p, c m) and (c m,) arrays
        Written: the row, its derivative and its validity.
    """
    channels = len(planes)
    m = height * width
    gradient = np.empty((channels, 2, m), values.dtype)
    rows = values.reshape(channels, m)
    sample(planes, cells, window, matrix, height, width, rows, gradient, valid[:m])
    # All channels have the validity of the first.
    for j in range(m, channels * m):
        valid[j] = valid[j - m]
    chain(gradient, matrix, derivative, height, width, jacobian.reshape(len(jacobian), channels, m))


@compiled()
def chain(
    gradient: Array, matrix: Floats, derivative: Floats, height: int, width: int, out: Array
) -> None:
    """Write the derivative ``out`` (p, c, m) by the parameters, given the ``gradient`` (c, 2, m).

    The chain rule: the picture's own gradient times the motion of the point. ``derivative``
    (p, 3, 3) is that of the matrix by the parameters.
    """
    m = height * width
    # The frame's coordinates (u, v) of every pixel.
    us = np.empty(m, gradient.dtype)
    vs = np.empty(m, gradient.dtype)
    for row in range(height):
        for column in range(width):
            us[row * width + column] = column
            vs[row * width + column] = row
    if has_perspective(matrix, derivative):
        chain_projective(gradient, matrix, derivative, us, vs, width, out)
    else:
        chain_affine(gradient, matrix, derivative, us, vs, out)


@compiled()
def has_perspective(matrix: Floats, derivative: Floats) -> Any:
    """Whether the divisor of a point depends on the point or on a parameter."""
    tilts = matrix[2, 0] != 0 or matrix[2, 1] != 0
    for k in range(len(derivative)):
        tilts |= derivative[k, 2, 0] != 0 or derivative[k, 2, 1] != 0 or derivative[k, 2, 2] != 0
    return tilts


@compiled()
def chain_affine(
    gradient: Array, matrix: Floats, derivative: Floats, us: Array, vs: Array, out: Array
) -> None:
    """Apply the chain rule where all points have the same constant divisor; arguments as above."""
    channels = gradient.shape[0]
    kind = gradient.dtype.type
    over = kind(1 / matrix[2, 2])
    for k in range(len(derivative)):
        # A unit of parameter k moves the point (u, v) by (dx, dy) over the common divisor.
        d = derivative[k]
        xu = kind(d[0, 0])
        xv = kind(d[0, 1])
        x1 = kind(d[0, 2])
        yu = kind(d[1, 0])
        yv = kind(d[1, 1])
        y1 = kind(d[1, 2])
        for channel in range(channels):
            gx = gradient[channel, 0]
            gy = gradient[channel, 1]
            to = out[k, channel]
            for j in range(len(us)):
                dx = xu * us[j] + (xv * vs[j] + x1)
                dy = yu * us[j] + (yv * vs[j] + y1)
                to[j] = gx[j] * (dx * over) + gy[j] * (dy * over)


@compiled()
def chain_projective(
    gradient: Array,
    matrix: Floats,
    derivative: Floats,
    us: Array,
    vs: Array,
    width: int,
    out: Array,
) -> None:
    """Apply the chain rule with the quotient rule for a point (h_1 u, h_2 u) / h_3 u."""
    channels = gradient.shape[0]
    m = len(us)
    xs = np.empty(m)
    ys = np.empty(m)
    zs = np.empty(m)
    columns = np.arange(width).astype(np.float64)
    for row in range(m // width):
        here = slice(row * width, (row + 1) * width)
        map_row(matrix, row, columns, xs[here], ys[here], zs[here])
    # From here on zs is what to multiply with; behind the horizon it is zero.
    for j in range(m):
        zs[j] = 1 / zs[j] if zs[j] > 0 else 0.0
    # How a unit of parameter k moves each point along x and y of the picture.
    dx = np.empty(m, gradient.dtype)
    dy = np.empty(m, gradient.dtype)
    for k in range(len(derivative)):
        d = derivative[k]
        for j in range(m):
            tilt = d[2, 0] * us[j] + (d[2, 1] * vs[j] + d[2, 2])
            dx[j] = (d[0, 0] * us[j] + (d[0, 1] * vs[j] + d[0, 2]) - xs[j] * tilt) * zs[j]
            dy[j] = (d[1, 0] * us[j] + (d[1, 1] * vs[j] + d[1, 2]) - ys[j] * tilt) * zs[j]
        for channel in range(channels):
            gx = gradient[channel, 0]
            gy = gradient[channel, 1]
            to = out[k, channel]
            for j in range(m):
                to[j] = gx[j] * dx[j] + gy[j] * dy[j]


@compiled()
def normalise_and_orthonormalise(
    row: Array, jacobian: Array, reach: Floats, noise: float, to_parameters: Floats
) -> Any:
    """Give a row (m,) norm one, and its derivative (p, m) orthonormal rows; return the norm.

    Lines 4 and 3 of Algorithm 1. ``reach``, ``noise`` and ``to_parameters`` are those of
    ``orthonormalise``. A row of norm zero, whose picture the frame does not see, is left alone.
    """
    norm = np.sqrt(dot(row, row))
    if norm > 0:
        normalise(row, jacobian, norm)
        orthonormalise(jacobian, reach, noise, to_parameters)
    return norm


@compiled()
def normalise(row: Array, jacobian: Array, norm: float) -> None:
    """Divide a row y (m,) by its norm n, and turn its derivative (p, m) into that of y/n.

    With d = y/n the derivative is (dy - d (d . dy)) / n, because n depends on every parameter.
    """
    # Line 4 of Algorithm 1.
    over = row.dtype.type(1 / norm)
    for j in range(len(row)):
        row[j] *= over
    # Line 3: what is left of each derivative has no part along the row itself.
    for k in range(len(jacobian)):
        slope = jacobian[k]
        along = row.dtype.type(dot(row, slope))
        for j in range(len(row)):
            slope[j] = (slope[j] - along * row[j]) * over
