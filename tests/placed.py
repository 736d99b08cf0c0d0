"""A run whose transforms are the true ones: what is made from it can be compared with the truth."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from rankfold.outputs.methods import AtFullSize
from rankfold.stack import Frame


@dataclass(frozen=True)
class Placed(AtFullSize):
    """As much of an alignment as the outputs ask for; pictures are in levels of their type."""

    names: tuple[str, ...]
    transforms: np.ndarray  # (n, 3, 3)
    source_shapes: np.ndarray  # (n, 2)
    frame: Frame
    aligned: np.ndarray  # (n, h, w[, c])
    low_rank: np.ndarray
    failed: np.ndarray  # (n,)

    @property
    def valid(self):
        return np.isfinite(self.aligned).reshape(*self.aligned.shape[:3], -1).all(axis=3)

    @property
    def sparse(self):
        return np.nan_to_num(self.aligned - self.low_rank)

    def without(self, k):
        """The same run, in which picture ``k`` did not find its place."""
        failed = self.failed.copy()
        failed[k] = True
        return replace(self, failed=failed)

    def of_some(self, indices):
        """The same run of some of the pictures."""
        some = list(indices)
        return replace(
            self,
            names=tuple(f"image {k}" for k in range(len(some))),
            transforms=self.transforms[some],
            source_shapes=self.source_shapes[some],
            aligned=self.aligned[some],
            low_rank=self.low_rank[some],
            failed=self.failed[some],
        )


def as_numpy_sees(picture, T, shape):
    """A picture (h, w[, c]) on a grid, by SciPy's spline; NaN beyond its edge and near its NaN."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    ends = T @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    at = (ends[:2] / ends[2])[::-1]
    planes = np.atleast_3d(picture).astype(float)
    missing = np.isnan(planes).any(axis=2)
    seen = [
        ndimage.map_coordinates(plane, at, order=3, mode="mirror").reshape(shape)
        for plane in np.moveaxis(np.nan_to_num(planes), 2, 0)
    ]
    touched = ndimage.binary_dilation(missing, iterations=2).astype(float)
    size = np.array(picture.shape[:2])[:, None]
    inside = ((at >= 0) & (at <= size - 1)).all(axis=0)
    inside &= ndimage.map_coordinates(touched, at, order=1) == 0
    inside = inside.reshape(shape)
    values = np.where(inside[..., None], np.stack(seen, axis=-1), np.nan)
    return values if picture.ndim == 3 else values[..., 0]


def true_run(batch, images=None, names=None):
    """A run of generated pictures on the frame of their scene: its low-rank part is the truth.

    ``images`` may be the same pictures in grey or in another type.
    """
    images = batch.images if images is None else images
    shape = batch.scene.shape[:2]
    dtype = images[0].dtype
    top = np.iinfo(dtype).max if dtype.kind == "u" else 1.0
    scene = batch.scene if images[0].ndim == 3 else batch.scene.mean(axis=2)
    light = zip(batch.gains, batch.offsets, strict=True)
    count = len(images)
    aligned = np.stack(
        [as_numpy_sees(image, T, shape) for image, T in zip(images, batch.transforms, strict=True)]
    )
    low_rank = np.stack([top * (gain * scene + offset) for gain, offset in light])
    # As in a run: a picture is filled in from the others, but not where all of them are missing.
    low_rank[:, np.isnan(aligned).all(axis=0)] = np.nan
    return Placed(
        names=tuple(names or (f"image {k}" for k in range(count))),
        transforms=batch.transforms,
        source_shapes=np.array([image.shape[:2] for image in images]),
        frame=Frame(*shape),
        aligned=aligned,
        low_rank=low_rank,
        failed=np.zeros(count, bool),
    )


def in_grey(images):
    """The same pictures (h, w) in their type."""
    return [np.rint(image.mean(axis=2)).astype(image.dtype) for image in images]


def psnr(picture, truth, where):
    """How close a picture is to the truth in [0, 1], dB, after a gain and an offset a channel."""
    picture, truth = (np.atleast_3d(one).astype(float) for one in (picture, truth))
    errors = []
    for c in range(truth.shape[2]):
        design = np.column_stack([picture[..., c][where], np.ones(where.sum())])
        wanted = truth[..., c][where]
        errors.append(wanted - design @ np.linalg.lstsq(design, wanted, rcond=None)[0])
    return float(-10 * np.log10(np.mean(np.square(errors))))
