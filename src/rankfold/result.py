"""What comes out: Decomposition and Alignment, with save, load, apply and export."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankfold import storage
from rankfold.errors import FormatError, InputError
from rankfold.families import FAMILIES, Floats, inverse, map_points
from rankfold.lazy import LazyPictures, restored
from rankfold.occluders import Occluder, as_columns, from_columns
from rankfold.outputs.methods import AsTheyLie, AtFullSize
from rankfold.stack import Frame, Stack, rescaling
from rankfold.status import Status, Trace
from rankfold.verdicts import BatchVerdict, Verdict, outcome
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]
S = TypeVar("S", bound="_Saved")

TRACE_PARTS = ("inner", "outer", "stages", "routes", "matching")


class _Saved:
    """Results whose fields are arrays, numbers, strings, a Status and a Trace can be stored."""

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a folder with ``result.json`` and ``arrays.npz``; :func:`rankfold.load` reads it.

        Parameters
        ----------
        path : str or Path
            The folder, which appears whole or not at all.
        overwrite : bool
            Replace a folder of that name that rankfold wrote.
        """
        with storage.whole_or_nothing(path, overwrite) as draft:
            self.save_into(draft)

    def save_into(self, folder: Path) -> None:
        """Write the two files into a folder that is there already."""
        facts: dict[str, Any] = {}
        arrays: dict[str, Array] = {}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, Trace):
                for part in TRACE_PARTS:
                    columns = getattr(value, part)
                    arrays |= {f"trace.{part}.{name}": column for name, column in columns.items()}
            elif f.name == "occluders":
                columns = as_columns(value, len(self.low_rank))  # type: ignore[attr-defined]
                arrays |= {f"occluders.{name}": column for name, column in columns.items()}
            elif isinstance(value, np.ndarray):
                arrays[f.name] = value
            elif isinstance(value, LazyPictures):
                # They are computed again: what they are made of is the same for all of them.
                arrays |= value.columns()
                facts["lazy"] = value.facts()
            else:
                facts[f.name] = value.name if isinstance(value, Status) else value
        storage.fill(folder, type(self).__name__, facts, arrays)

    @classmethod
    def _restore(
        cls: type[S], facts: dict[str, Any], arrays: dict[str, Array], path: str | Path
    ) -> S:
        """Build the object from what :func:`rankfold.storage.read` found.

        A field that a later version added is missing in a folder of an earlier one and gets its
        default; a field that this version does not know is left out.
        """
        columns: dict[str, dict[str, Array]] = {part: {} for part in TRACE_PARTS}
        occluders: dict[str, Array] = {}
        found: dict[str, Any] = dict(facts)
        for name, array in arrays.items():
            if name.startswith("trace."):
                _, part, column = name.split(".", 2)
                if part in columns:
                    columns[part][column] = array
            elif name.startswith("occluders."):
                occluders[name.removeprefix("occluders.")] = array
            else:
                found[name] = array
        known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        values = {name: value for name, value in found.items() if name in known}
        try:
            values |= {"trace": Trace(**columns), "status": Status[values["status"]]}
            values["occluders"] = from_columns(occluders)
            if "names" in values:
                values["names"] = tuple(values["names"])
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise FormatError(
                f"{path} lacks a part of its result ({error}); compute it again"
            ) from error


def gap_phrase(gap: float | None) -> str:
    """How far an objective is from the optimum, as a few words after it; nothing if unknown."""
    return "" if gap is None else f" (at most {gap:.1g} of it above the optimum)"


@dataclass(frozen=True, repr=False)
class Decomposition(_Saved, AsTheyLie):
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
class Alignment(_Saved, AtFullSize):
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
        if not scale > 0:
            raise InputError(f"scale={scale} must be positive")
        return np.stack([self.apply_one(i, stack, scale=scale, which=i) for i in range(len(stack))])

    def apply_one(
        self,
        index: int,
        image: Stack | npt.ArrayLike,
        *,
        scale: float = 1.0,
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
        one = stack.only(which)
        frame = Frame(*(round(size * scale) for size in self.frame.shape))
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
            As (x, y), pixel centres at integers from 0.
        to_frame : bool
            From the pictures into the frame instead.

        Returns
        -------
        (n, k, 2) array
        """
        given = np.asarray(points, dtype=np.float64)
        if (
            given.ndim not in (2, 3)
            or given.shape[-1] != 2
            or (given.ndim == 3 and len(given) != len(self.names))
        ):
            raise InputError(
                f"points have shape {given.shape}; give (k, 2), or (n, k, 2) with one set an image"
            )
        matrices = inverse(self.transforms) if to_frame else self.transforms
        return map_points(matrices, np.broadcast_to(given, (len(matrices), *given.shape[-2:])))

    def export_transforms(self, path: str | Path) -> None:
        """Write names and matrices as ``.json`` or ``.csv``, by the ending of ``path``."""
        path = Path(path)
        if path.suffix == ".json":
            table = {
                "maps": "frame (x, y) to source (x, y), pixel centres at integers from 0",
                "frame": {"height": self.frame.height, "width": self.frame.width},
                "family": self.family,
                "transforms": [
                    {"name": n, "matrix": T.tolist()}
                    for n, T in zip(self.names, self.transforms, strict=True)
                ],
            }
            path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        elif path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["name", *(f"t{r}{c}" for r in range(3) for c in range(3))])
                for name, T in zip(self.names, self.transforms, strict=True):
                    writer.writerow([name, *(repr(float(v)) for v in T.ravel())])
        else:
            raise InputError(f"cannot tell a format from {path.name!r}; end it in .json or .csv")

    def to_skimage(self) -> list[Any]:
        """The transforms as scikit-image objects, ready for ``skimage.transform.warp``."""
        try:
            from skimage import transform
        except ImportError as error:
            raise InputError(
                "scikit-image is not installed; run `pip install rankfold[skimage]`"
            ) from error
        classes = {
            "euclidean": transform.EuclideanTransform,
            "similarity": transform.SimilarityTransform,
            "affine": transform.AffineTransform,
            "homography": transform.ProjectiveTransform,
        }
        smallest = [
            next(f for f in classes if FAMILIES[f].contains(T, tol=1e-6)) for T in self.transforms
        ]
        return [classes[name](matrix=T) for name, T in zip(smallest, self.transforms, strict=True)]


def load(path: str | Path) -> Decomposition | Alignment:
    """Read what ``save`` wrote."""
    kind, facts, arrays = storage.read(path)
    kinds: dict[str, type[Decomposition] | type[Alignment]] = {
        c.__name__: c for c in (Decomposition, Alignment)
    }
    if kind not in kinds:
        raise FormatError(f"{path} holds a {kind!r}, which this rankfold does not know; upgrade it")
    return kinds[kind]._restore(facts, arrays, path)
