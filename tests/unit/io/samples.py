"""Pictures and files that the tests of io are made of."""

from dataclasses import replace

import numpy as np

RNG = np.random.default_rng(0)


def noise(shape, dtype=np.uint8):
    if np.dtype(dtype).kind == "f":
        return RNG.random(shape).astype(dtype)
    return RNG.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def smooth(n=6, shape=(32, 40), channels=3):
    """A moving ramp that codecs keep."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    frames = [np.clip(4 * x + 2 * y + 5 * k, 0, 255).astype(np.uint8) for k in range(n)]
    return np.stack([np.dstack([f] * channels) if channels > 1 else f for f in frames])


def np_file(folder, values):
    np.save(folder / "in.npy", values)
    return folder / "in.npy"


def replace_path(source, path):
    """The source as if it had been a video at ``path``."""
    return replace(source, path=path, rate=20.0)
