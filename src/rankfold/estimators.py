"""The scikit-learn face: RobustPCA on matrices, RASL and MeADMM on pictures.

``fit`` learns a basis (the row space of the low-rank part); ``transform`` gives the coefficients
of new samples in it, by a robust fit with the basis held; ``explain`` also gives what belongs, what
does not, a score and, for pictures, transforms. The numerics are in :mod:`rankfold.align`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfold.align import AlignSettings, decompose
from rankfold.align.api import complete
from rankfold.align.assemble import as_pictures
from rankfold.align.basis import (
    annealed_fit,
    leading_rows,
    misfit_of,
    ordinary_residual,
    unit_rows,
)
from rankfold.align.given import Images, Init, Masks, as_stack, start_transforms
from rankfold.align.job import Job
from rankfold.align.placement import Placement
from rankfold.align.request import resolve
from rankfold.align.steps import Gauge
from rankfold.arguments import array_of, numbers, with_nan
from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.manifold import Projector, WholeRows
from rankfold.result import Alignment
from rankfold.scale import executor_for
from rankfold.stack import power_of_two
from rankfold.stack.scaling import check_unit
from rankfold.warp.linearisation import warp_normalised
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]

# Of the size of the low-rank part: a residual of RobustPCA below it is ordinary.
CLEAN = 1e-3
# Of the root mean square: errors raise it, so that a third of it is ordinary.
ORDINARY = 1 / 3


@dataclass(frozen=True)
class Explanation:
    """New samples in terms of a fitted basis."""

    coefficients: Floats  # (n, r)
    low_rank: Array  # like the samples (pictures: in the frame)
    sparse: Array  # what the basis does not explain; zero where missing
    # (n,): how badly a sample fits, 0 to 1; for pictures, near 1 no place fits better than others.
    scores: Floats
    transforms: Floats | None = None  # (n, 3, 3), for pictures


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components of the low-rank part of a matrix with gross errors and missing values.

    NaN is a missing value, as is a masked one of a NumPy masked array.

    Parameters
    ----------
    sparsity_weight : float, default=1.0
        λ_c of λ = λ_c/√max(n, m).
    rank_surrogate, schedule : str
        As in :func:`rankfold.decompose`.
    tol : float, optional
        How far the objective may be above the optimum, see :func:`rankfold.decompose`.
    max_iter : int, default=5000
    n_jobs : int, optional

    Attributes
    ----------
    components_ : (r, m) array
        Orthonormal basis of the low-rank part's rows.
    singular_values_ : (r,) array
    low_rank_, sparse_ : (n, m) arrays
    n_iter_ : int
    noise_ : float
        The residual up to which a value counts as clean in ``transform``: a thousandth of the
        low-rank part.

    Examples
    --------
    >>> from rankfold import RobustPCA
    >>> from rankfold.datasets import low_rank_plus_sparse
    >>> truth = low_rank_plus_sparse(60, 80, rank=3, corrupted=0.05, seed=0)
    >>> RobustPCA().fit_transform(truth.data).shape
    (60, 3)
    """

    def __init__(
        self,
        sparsity_weight: float = 1.0,
        rank_surrogate: str = "auto",
        schedule: str = "auto",
        tol: float | None = None,
        max_iter: int = 5000,
        n_jobs: int | None = None,
    ) -> None:
        self.sparsity_weight = sparsity_weight
        self.rank_surrogate = rank_surrogate
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """NaN is a missing value."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: npt.ArrayLike, y: object = None) -> RobustPCA:  # noqa: ARG002
        """Decompose X (n, m) and keep the basis of its low-rank part."""
        rows = self._validated(X, ensure_min_samples=2)
        parts = decompose(rows, dtype=rows.dtype, **self.get_params())
        # A row or a column that nobody saw is unknown; as zeros it does not turn the basis.
        known = np.nan_to_num(parts.low_rank)
        # A power of two changes no digit, and keeps squares of tiny or huge values in range.
        unit = power_of_two(known)
        size = unit * float(np.sqrt(np.mean((known / unit) ** 2, dtype=np.float64)))
        self.low_rank_ = parts.low_rank
        self.sparse_ = parts.sparse
        self.singular_values_ = parts.singular_values
        self.n_iter_ = len(parts.trace.inner["iteration"])
        self.components_ = leading_rows(known, parts.rank)
        self.noise_ = max(CLEAN * size, float(np.finfo(np.float64).tiny))
        self._level = float(_levels(known, np.isfinite(parts.low_rank)).max())
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """Coefficients (n, r) of X by a robust fit to the components."""
        return self.explain(X).coefficients

    def explain(self, X: npt.ArrayLike) -> Explanation:
        """Coefficients, what belongs and what does not, for samples X (n, m)."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        valid = ~np.isnan(rows)
        known = np.where(valid, rows, 0)
        noise = self._noise_of(known, valid)
        coefficients, low_rank = annealed_fit(known, self.components_, valid, noise)
        scores = misfit_of(known, low_rank, valid, noise)
        sparse = np.where(valid, rows - low_rank, 0)
        return Explanation(coefficients, low_rank, sparse, scores)

    def inverse_transform(self, coefficients: npt.ArrayLike) -> Array:
        """Samples (n, m) with the given coefficients (n, r)."""
        check_is_fitted(self)
        return _rows_of(coefficients, self.components_)

    def _noise_of(self, rows: Array, valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """The residual (n,) up to which a value of each row counts as clean.

        The components are known as well as the rows from which they were learned. In a row that is
        larger than all of those, what they miss is larger by as much.
        """
        if self._level == 0:
            return np.full(len(rows), self.noise_)
        share = self.noise_ / self._level
        return np.maximum(self.noise_, share * _levels(rows, valid))

    @property
    def _n_features_out(self) -> int:
        """How many names ``get_feature_names_out`` gives."""
        return len(self.components_)

    def _validated(self, X: npt.ArrayLike, **options: Any) -> Array:
        """X as floats, NaN allowed; masked values are NaN."""
        kinds = [np.float64, np.float32]
        if np.ma.isMaskedArray(X) or isinstance(X, list | tuple):
            X = with_nan(array_of(X, "X"))
        try:
            # Infinity is refused below; to look for it takes sums that have no value.
            with np.errstate(over="ignore", invalid="ignore"):
                rows: Array = validate_data(
                    self, X, dtype=kinds, ensure_all_finite="allow-nan", **options
                )
        except OverflowError as error:
            raise InputError("X has values that no float can hold; divide them") from error
        check_unit(power_of_two(rows), rows.dtype, "the samples")
        return rows


def _levels(rows: Array, valid: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The usual size (n,) of the values of each row (n, m), whatever a minority of them is."""
    return np.array(
        [
            float(np.median(np.abs(row[seen]))) if seen.any() else 0.0
            for row, seen in zip(rows, valid, strict=True)
        ]
    )


def _rows_of(coefficients: npt.ArrayLike, basis: Array) -> Array:
    """Rows (n, m) in a basis (r, m), in its precision; refuse what are no coefficients (n, r)."""
    given = numbers("the coefficients", coefficients, f"n {len(basis)}")
    with np.errstate(over="ignore", invalid="ignore"):
        rows = given.astype(basis.dtype, copy=False) @ basis
    if not np.isfinite(rows).all():
        raise InputError("the coefficients are too large for samples of finite values")
    return np.asarray(rows)


class RASL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """RASL on pictures: learn a basis of the aligned pictures, then place and explain new ones.

    Parameters
    ----------
    family, frame, init, sparsity_weight
        As in :func:`rankfold.align`, like all that follow.
    projector, n_neighbors, rank_surrogate
    features, rescue, shared, start, coarse, frame_of, channels, gauge
    max_outer, outer_tol, max_inner, inner_tol, schedule
    dtype, settings, n_jobs

    Attributes
    ----------
    alignment_ : Alignment
        Of the pictures that were fitted.
    components_ : (r, m) array
        Orthonormal basis of the unit-norm low-rank rows.
    noise_ : float
        Typical residual of a clean pixel in unit-norm rows.
    """

    _method = "rasl"

    def __init__(
        self,
        family: str = "similarity",
        frame: tuple[int, int] | None = None,
        init: Init = "centred",
        sparsity_weight: float = 1.0,
        projector: str | Projector | WholeRows | None = "auto",
        n_neighbors: int | None = None,
        rank_surrogate: str = "auto",
        features: str | None = "auto",
        rescue: str | bool = "auto",
        shared: float | None = None,
        start: str | None = None,
        coarse: str | bool | None = None,
        frame_of: int | str | None = None,
        channels: str = "luminance",
        gauge: Gauge = "mean",
        max_outer: int = 50,
        outer_tol: float = 0.02,
        max_inner: int = 1000,
        inner_tol: float = 1e-6,
        schedule: str = "auto",
        dtype: npt.DTypeLike = np.float64,
        settings: AlignSettings | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.frame = frame
        self.init = init
        self.sparsity_weight = sparsity_weight
        self.projector = projector
        self.n_neighbors = n_neighbors
        self.rank_surrogate = rank_surrogate
        self.features = features
        self.rescue = rescue
        self.shared = shared
        self.start = start
        self.coarse = coarse
        self.frame_of = frame_of
        self.channels = channels
        self.gauge = gauge
        self.max_outer = max_outer
        self.outer_tol = outer_tol
        self.max_inner = max_inner
        self.inner_tol = inner_tol
        self.schedule = schedule
        self.dtype = dtype
        self.settings = settings
        self.n_jobs = n_jobs

    def fit(self, X: Images, y: object = None, masks: Masks = None) -> RASL:  # noqa: ARG002
        """Align pictures (as for :func:`rankfold.align`) and keep a basis of them."""
        options = self.get_params()
        with executor_for(None, options.pop("n_jobs")) as executor:
            request = resolve(X, self._method, masks=masks, **options)
            job = Job(request, executor)
            result = complete(job)
            stack = request.stack
            assert result.base is not None
            # Features are prepared for where the search began, which matching may have found.
            begun = job.starting_at(stack.from_original(result.base))
            self._places = Placement.learn(begun, stack.from_original(result.transforms))
        self._reduction = request.stack.reduction
        # The basis is that of unit-norm rows, in which the pictures were decomposed.
        rows, valid = unit_rows(result.low_rank, result.aligned)
        given, _ = unit_rows(result.aligned, result.aligned)
        rest = (given - rows)[valid]
        self.alignment_: Alignment = result
        self.components_ = leading_rows(rows, result.rank)
        self.noise_ = max(ordinary_residual(rest, ORDINARY), 1e-9)
        return self

    def fit_transform(
        self,
        X: Images,
        y: object = None,  # noqa: ARG002
        masks: Masks = None,
    ) -> Floats:
        """Fit, and return the coefficients (n, r) of the fitted pictures where they were placed."""
        self.fit(X, masks=masks)
        aligned = self.alignment_.aligned
        rows, valid = unit_rows(aligned, aligned)
        return annealed_fit(rows, self.components_, valid, self.noise_)[0]

    def transform(self, X: Images, init: Init | None = None) -> Floats:
        """Coefficients (n, r) of new pictures, each placed in the frame first; see explain."""
        return self.explain(X, init).coefficients

    def explain(self, X: Images, init: Init | None = None) -> Explanation:
        """Transforms, scores, coefficients, what belongs and what does not, of new pictures.

        Parameters
        ----------
        X : pictures
            As for :func:`rankfold.align`; one is enough.
        init : str, (n, 3, 3) array or Points, optional
            Where each begins; as the fitted pictures did, where they began at a place with a name.
        """
        check_is_fitted(self)
        frame = self.alignment_.frame
        # At the resolution of the fitted pictures, or the frame would show another part.
        stack = as_stack(X, None, np.float64, self._reduction)
        fitted = self.alignment_.aligned
        if stack.is_colour != (fitted.ndim == 4):
            raise InputError("the fitted pictures and these are not both grey or both in colour")
        if stack.is_colour and stack.channels != fitted.shape[3]:
            raise InputError(
                f"the fitted pictures have {fitted.shape[3]} channels, these have "
                f"{stack.channels}; give the same channels"
            )
        start = start_transforms(self._start_of(init), stack, frame, self.family)
        transforms, scores = self._places.place(stack, start)
        # A place that fits worse than those around it is no better than none.
        scores = np.minimum(scores, 1.0)
        sampler = prepare(stack, frame, start, np.float64)
        data, norms, valid = warp_normalised(sampler, transforms)
        coefficients, low_rank = annealed_fit(data, self.components_, valid, self.noise_)
        # Back from unit norm to the caller's units.
        units = (norms * stack.units)[:, None]
        sparse = np.where(valid, data - low_rank, 0)
        return Explanation(
            coefficients,
            as_pictures(low_rank * units, stack, frame),
            as_pictures(sparse * units, stack, frame),
            scores,
            stack.to_original(transforms),
        )

    def _start_of(self, init: Init | None) -> Init:
        """Where new pictures begin."""
        if init is not None:
            return init
        fitted = self.alignment_
        matched = fitted.base is not None and not np.array_equal(fitted.base, fitted.start)
        if isinstance(self.init, str) and not matched:
            return self.init
        raise InputError(
            "the fitted pictures started at transforms or points of their own, or where matching "
            "found them; say where the new ones start, as in transform(X, init=...)"
        )

    def inverse_transform(self, coefficients: npt.ArrayLike) -> Array:
        """Clean pictures (n, h, w[, c]) of unit norm with the given coefficients (n, r)."""
        check_is_fitted(self)
        aligned = self.alignment_.aligned
        rows = _rows_of(coefficients, self.components_)
        planes = rows.reshape(len(rows), -1, *self.alignment_.frame.shape)
        return np.moveaxis(planes, 1, -1) if aligned.ndim == 4 else planes[:, 0]

    @property
    def _n_features_out(self) -> int:
        """How many names ``get_feature_names_out`` gives."""
        return len(self.components_)


class MeADMM(RASL):
    """MeADMM on pictures; parameters, attributes and methods as :class:`RASL`."""

    _method = "meadmm"
