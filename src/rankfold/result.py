"""What comes out: Decomposition and Alignment, with save, load, apply and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankfold import storage
from rankfold.arguments import array_of, is_real, number, whole, with_nan
from rankfold.errors import FormatError, InputError
from rankfold.exporting import as_skimage, write_transforms
from rankfold.families import FAMILIES, Floats, inverse, map_points
from rankfold.lazy import restored
from rankfold.occluders import Occluder
from rankfold.outputs.methods import AsTheyLie, AtFullSize
from rankfold.saved import Saved
from rankfold.schema import (
    COUNTS,
    FLAGS,
    FLOATS,
    NUMBER,
    NUMBER_OR_NONE,
    TABLE,
    TEXT,
    WORDS,
    Column,
    Schema,
    one_of,
)
from rankfold.stack import MOST_PIXELS, Frame, Stack, rescaling
from rankfold.status import Status, Trace
from rankfold.verdicts import BatchVerdict, Verdict, outcome
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]


def gap_phrase(gap: float | None) -> str:
    """How far an objective is from the optimum, as a few words after it; nothing if unknown."""
    return "" if gap is None else f" (at most {gap:.1g} of it above the optimum)"


@dataclass(frozen=True, repr=False)
class Decomposition(Saved, AsTheyLie):
    """X = low_rank + sparse, and how far from the best such pair.

    ``sparse`` is X - low_rank to the last digit, so it is nowhere quite zero: what the tolerance
    leaves open is in it.
    """

    low_rank: Array  # shape of X; missing values filled in
    sparse: Array  # shape of X; zero where X was missing
    singular_values: Floats  # of low_rank, descending, without zeros
    objective: float  # ‖A‖_* + λ ‖E‖_1, without `occluders`
    sparsity: float  # λ
    method: str  # a row of METHODS
    status: Status  # how the solver ended
    trace: Trace  # every iteration
    # Fields that were added later have a default, so that older folders can be read.
    version: str = "0.1.0"  # of the rankfold that made it
    # How far the objective is above the optimum at most, relative to itself; None: not known.
    gap: float | None = None
    # What several pictures had in front of them in the same place, surest first; it was taken out.
    occluders: tuple[Occluder, ...] = ()

    schema: ClassVar[Schema] = {
        "low_rank": Column(FLOATS, "n ..."),
        "sparse": Column(FLOATS, "n ..."),
        "singular_values": Column(FLOATS, "rank"),
        "objective": NUMBER,
        "sparsity": NUMBER,
        "method": TEXT,
        "status": one_of(Status.__members__),
        "version": TEXT,
        "gap": NUMBER_OR_NONE,
    }

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return len(self.singular_values)

    def __repr__(self) -> str:
        """A few lines for a person."""
        shape = " x ".join(str(size) for size in self.low_rank.shape)
        return (
            f"<Decomposition of {shape} by {self.method}>\n"
            f"  rank {self.rank}, objective {self.objective:.6g}{gap_phrase(self.gap)}\n"
            f"  {self.status.value}"
        )


@dataclass(frozen=True, repr=False)
class Alignment(Saved, AtFullSize):
    """Each picture's transform, its aligned, clean and erroneous part, and how the run went.

    Pictures are (n, h, w) or (n, h, w, c) in the caller's units. Where ``valid``,
    aligned = low_rank + sparse.
    """

    transforms: Floats  # (n, 3, 3): frame coordinates (x, y) to source coordinates
    start: Floats  # (n, 3, 3): where they started
    aligned: Array  # the sources through the transforms; NaN where missing
    low_rank: Array  # filled in where a picture is missing; NaN where all of them are
    sparse: Array  # zero where missing
    valid: npt.NDArray[np.bool_]  # (n, h, w): inside the source and not masked
    verdicts: npt.NDArray[np.str_]  # (n,): "placed", "doubtful" or "failed"
    lost: Floats  # (n,): the probability that a picture is off by more than 5 % of the frame
    # (n,): the figure behind the verdict, the share of a picture's tiles that confirm its place.
    confirmed: Floats
    verdict: str  # on the batch: "good", "partial", "only roughly" or "failed"
    rescued: npt.NDArray[np.bool_]  # (n,): given a new place by the rescue stage
    singular_values: Floats  # of the unit-norm low-rank rows
    objective: float  # of the decomposition at the final transforms, without `occluders`
    status: Status  # how the run ended
    stop_rule: str  # what ended the search for transforms
    trace: Trace  # every iteration
    names: tuple[str, ...]  # of the pictures
    source_shapes: npt.NDArray[np.int_]  # (n, 2): height, width
    method: str  # a row of METHODS
    family: str  # a row of FAMILIES
    # Fields that were added later have a default, so that older folders can be read.
    version: str = "0.1.0"  # of the rankfold that made it
    options: Mapping[str, Any] = field(default_factory=dict)  # what was asked for, resolved
    settings: Mapping[str, Any] = field(default_factory=dict)  # every tuned number that was used
    advice: str = ""  # what may help where pictures did not find their place
    # (n, 3, 3): the transforms for which the pictures were prepared. They are the start, or where
    # matching found the pictures; None stands for the start.
    base: Floats | None = None
    # How far the objective is above the optimum at most, relative to itself; None: not known.
    gap: float | None = None
    # What several pictures had in front of them in the same place, surest first; it was taken out.
    occluders: tuple[Occluder, ...] = ()

    schema: ClassVar[Schema] = {
        "transforms": Column(FLOATS, "n 3 3"),
        "start": Column(FLOATS, "n 3 3"),
        "base": Column(FLOATS, "n 3 3"),
        "aligned": Column(FLOATS, "n h w ..."),
        "low_rank": Column(FLOATS, "n h w ..."),
        "sparse": Column(FLOATS, "n h w ..."),
        "valid": Column(FLAGS, "n h w"),
        "verdicts": Column(WORDS, "n"),
        "lost": Column(FLOATS, "n"),
        "confirmed": Column(FLOATS, "n"),
        "verdict": one_of(one.value for one in BatchVerdict),
        "rescued": Column(FLAGS, "n"),
        "singular_values": Column(FLOATS, "rank"),
        "objective": NUMBER,
        "status": one_of(Status.__members__),
        "stop_rule": TEXT,
        "names": Column(WORDS, "n"),
        "source_shapes": Column(COUNTS, "n 2"),
        "method": TEXT,
        "family": one_of(FAMILIES),
        "version": TEXT,
        "options": TABLE,
        "settings": TABLE,
        "advice": TEXT,
        "gap": NUMBER_OR_NONE,
    }

    @classmethod
    def _restore(
        cls, facts: dict[str, Any], arrays: dict[str, Array], path: str | Path
    ) -> Alignment:
        """Build the object; a folder of version 0.1 has a flag for who failed, and no verdicts."""
        if "verdicts" not in arrays and "failed" in arrays:
            failed = arrays["failed"]
            arrays = {
                **arrays,
                "verdicts": np.where(failed, Verdict.FAILED.value, Verdict.PLACED.value),
                "lost": failed.astype(float),
                "confirmed": np.full(failed.shape, np.nan),
            }
            some = BatchVerdict.FAILED if failed.all() else BatchVerdict.PARTIAL
            batch = some if failed.any() else BatchVerdict.GOOD
            facts = {**facts, "verdict": batch.value}
        if "lazy" in facts:
            arrays = {**arrays, **restored(facts, arrays, path)}
        return super()._restore(facts, arrays, path)

    def __repr__(self) -> str:
        """Five lines for a person."""
        n = len(self.names)
        h, w = self.frame.shape
        return (
            f"<Alignment of {n} pictures by {self.method}, {self.family}>\n"
            f"  frame {h}x{w}, rank {self.rank}, objective {self.objective:.6g}"
            f"{gap_phrase(self.gap)}\n"
            f"  {self.outcome}\n"
            f"  {len(self.trace.outer.get('objective', ()))} outer iterations, ended by: "
            f"{self.stop_rule}\n"
            f"  {self.status.value}"
        )

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return len(self.singular_values)

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Which pictures (n,) failed to find their place."""
        return np.asarray(self.verdicts == Verdict.FAILED.value)

    @property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Which pictures (n,) should be looked at."""
        return np.asarray(self.verdicts == Verdict.DOUBTFUL.value)

    @property
    def outcome(self) -> str:
        """How the pictures were placed, in a sentence that names those to look at."""
        words = [Verdict(word) for word in self.verdicts]
        return outcome(BatchVerdict(self.verdict), words, self.names)

    @property
    def frame(self) -> Frame:
        """The canonical grid."""
        return Frame(*self.valid.shape[1:])

    def apply(
        self,
        images: Stack | Array | Sequence[npt.ArrayLike],
        *,
        scale: float = 1.0,
        masks: Sequence[npt.ArrayLike] | None = None,
    ) -> Array:
        """Bring other pictures of the same views into the frame, by the same transforms.

        Parameters
        ----------
        images : n pictures
            Other channels, or the originals at another resolution: a picture of another size than
            the one that was aligned is taken to show the same field of view.
        scale : float
            Pixels of the output for one pixel of the frame; 2 gives twice the resolution.
        masks : sequence of (h, w) arrays, optional
            True where a pixel may be used.

        Returns
        -------
        (n, h, w[, c]) array in the units of ``images``, NaN where there is no picture.
        """
        stack = Stack.of(images, masks)
        if len(stack) != len(self.transforms):
            raise InputError(
                f"{len(stack)} images for {len(self.transforms)} transforms; give one an image"
            )
        return np.stack([self.apply_one(i, stack, scale=scale, which=i) for i in range(len(stack))])

    def apply_one(
        self,
        index: int,
        image: Stack | npt.ArrayLike,
        *,
        scale: float = 1.0,
        shape: tuple[int, int] | None = None,
        mask: npt.ArrayLike | None = None,
        which: int = 0,
    ) -> Array:
        """Bring one picture into the frame by the transform of image ``index``.

        For stacks that do not fit into memory.

        Parameters
        ----------
        index : int
            Whose transform.
        image : (h, w[, c]) array or Stack
        scale : float
            Pixels of the output for one pixel of the frame.
        shape : (height, width), optional
            Of the output, instead of a scale.
        mask : (h, w) array, optional
            True where a pixel may be used.
        which : int
            The picture's place where a Stack is given.

        Returns
        -------
        (h, w[, c]) array, NaN where there is no picture.
        """
        stack = (
            image
            if isinstance(image, Stack)
            else Stack.of([image], None if mask is None else [mask])
        )
        _check_index("index", index, len(self.transforms))
        _check_index("which", which, len(stack))
        one = stack.only(which)
        frame = _enlarged(self.frame, scale) if shape is None else Frame.of(shape, "shape")
        to_source = rescaling(
            (np.array(one.sources[0].shape[:2]) / self.source_shapes[index])[::-1]
        )
        to_frame = rescaling(np.array(self.frame.shape[::-1]) / frame.shape[::-1])
        # The blur against aliasing is the one that there was while aligning.
        base = self.start if self.base is None else self.base
        sampler = prepare(one, frame, (to_source @ base[index] @ to_frame)[None], np.float64)
        values, _, valid = sampler.sample(0, to_source @ self.transforms[index] @ to_frame)
        planes = np.where(valid, values * one.units[0], np.nan).reshape(-1, *frame.shape)
        return np.moveaxis(planes, 0, -1) if one.is_colour else planes[0]

    def apply_points(self, points: npt.ArrayLike, *, to_frame: bool = False) -> Floats:
        """Map points from the frame into each picture, or back.

        Parameters
        ----------
        points : (k, 2) or (n, k, 2) array
            As (x, y), pixel centres at integers from 0. NaN stays NaN.
        to_frame : bool
            From the pictures into the frame instead.

        Returns
        -------
        (n, k, 2) array
        """
        given = with_nan(array_of(points, "points"))
        if (
            given.ndim not in (2, 3)
            or given.shape[-1] != 2
            or (given.ndim == 3 and len(given) != len(self.names))
            or not is_real(given.dtype)
        ):
            raise InputError(
                f"points have shape {given.shape} and type {given.dtype}; give numbers, as (k, 2), "
                "or (n, k, 2) with one set an image"
            )
        matrices = inverse(self.transforms) if to_frame else self.transforms
        with np.errstate(all="ignore"):
            sets = given.astype(np.float64, copy=False)
            sets = np.broadcast_to(sets, (len(matrices), *given.shape[-2:]))
            mapped = map_points(matrices, sets)
        # A point that is not known is known nowhere.
        if not np.isfinite(mapped[~np.isnan(sets).any(axis=2)]).all():
            raise InputError(
                "a point lands at infinity, or lies there; leave it out, or write NaN for it"
            )
        return mapped

    def export_transforms(self, path: str | Path, overwrite: bool = False) -> None:
        """Write names and matrices as ``.json`` or ``.csv``, by the ending of ``path``.

        Parameters
        ----------
        path : str or Path
            The file, which appears whole or not at all.
        overwrite : bool
            Replace a file that is there; one that a result needs is never replaced.
        """
        write_transforms(path, self.names, self.transforms, self.frame, self.family, overwrite)

    def to_skimage(self) -> list[Any]:
        """The transforms as scikit-image objects, ready for ``skimage.transform.warp``."""
        return as_skimage(self.transforms)


def _check_index(name: str, index: int, count: int) -> None:
    """Refuse what is no number of one of so many pictures; from -1 on it counts from the last."""
    if not -count <= whole(name, index) < count:
        raise InputError(f"{name}={index} is no picture; give a number from 0 to {count - 1}")


def _enlarged(frame: Frame, scale: float) -> Frame:
    """A frame with so many pixels for one of another."""
    factor = number("scale", scale, "give a positive number, as 2.0")
    if not 0 < factor < np.inf:
        raise InputError(f"scale={scale} must be positive, and no infinity")
    height, width = (round(size * factor) for size in frame.shape)
    if height * width > MOST_PIXELS:
        raise InputError(
            f"scale={scale} makes more pixels than any memory holds; give a smaller one"
        )
    return Frame(height, width)


def load(path: str | Path, verify: bool = True) -> Decomposition | Alignment:
    """Read what ``save`` wrote.

    Parameters
    ----------
    path : str or Path
    verify : bool
        Compare everything with its checksum, so that a damaged result is refused. All of it is read
        once for that; without, large arrays are only mapped.
    """
    kind, facts, arrays = storage.read(path, verify)
    kinds: dict[str, type[Decomposition] | type[Alignment]] = {
        c.__name__: c for c in (Decomposition, Alignment)
    }
    if kind not in kinds:
        raise FormatError(f"{path} holds a {kind!r}, which this rankfold does not know; upgrade it")
    with storage.damage_named(Path(path)):
        return kinds[kind]._restore(facts, arrays, path)
