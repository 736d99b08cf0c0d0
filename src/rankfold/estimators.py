"""The scikit-learn face: RobustPCA on matrices, RASL and MeADMM on pictures.

``fit`` learns a basis (the row space of the low-rank part); ``transform`` gives the coefficients of new samples in it,
by a robust fit with the basis held; ``explain`` also gives what belongs, what does not and, for pictures, transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfold.align import align, decompose
from rankfold.align.features import contrast_sampler
from rankfold.align.methods import start_transforms
from rankfold.align.rescue import register
from rankfold.align.robust import Model, fit_model
from rankfold.executors import Serial
from rankfold.families import Floats, get_family
from rankfold.stack import Frame, Points, Stack
from rankfold.warp.linearisation import Motion, warp_normalised
from rankfold.warp.sampling import prepare

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Explanation:
    """New samples in terms of a fitted basis."""

    coefficients: Floats  # (n, r)
    low_rank: Array  # like the samples (pictures: in the frame)
    sparse: Array  # what the basis does not explain; zero where missing
    transforms: Floats | None = None  # (n, 3, 3), for pictures


class RobustPCA(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components of the low-rank part of a matrix with gross errors and missing values (NaN).

    Parameters
    ----------
    sparsity_weight : float, default=1.0
        λ_c of λ = λ_c/√max(n, m).
    tol : float, default=1e-7
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
        Typical residual of a clean value, the scale of the robust fit in ``transform``.

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
        tol: float = 1e-7,
        max_iter: int = 5000,
        n_jobs: int | None = None,
    ) -> None:
        self.sparsity_weight = sparsity_weight
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
        rows: Array = validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
        )
        parts = decompose(
            rows,
            sparsity_weight=self.sparsity_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            dtype=rows.dtype,
        )
        self.low_rank_, self.sparse_ = parts.low_rank, parts.sparse
        self.singular_values_ = parts.singular_values
        self.n_iter_ = len(parts.trace.inner["iteration"])
        self.components_ = _basis(np.nan_to_num(parts.low_rank), parts.rank)
        size = np.sqrt(np.mean(np.nan_to_num(parts.low_rank) ** 2, dtype=np.float64))
        self.noise_ = float(max(1e-3 * size, np.finfo(np.float64).tiny))
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """Coefficients (n, r) of X by a robust fit to the components."""
        return self.explain(X).coefficients

    def explain(self, X: npt.ArrayLike) -> Explanation:
        """Coefficients, what belongs and what does not, for samples X (n, m)."""
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=False
        )
        valid = ~np.isnan(X)
        coefficients, low_rank = _robust_fit(
            np.where(valid, X, 0), self.components_, valid, self.noise_
        )
        return Explanation(coefficients, low_rank, np.where(valid, X - low_rank, 0))

    def inverse_transform(self, coefficients: npt.ArrayLike) -> Array:
        """Samples (n, m) with the given coefficients (n, r)."""
        check_is_fitted(self)
        return np.asarray(coefficients) @ self.components_


class RASL(BaseEstimator):  # type: ignore[misc]
    """RASL on pictures: learn a basis of the aligned pictures, then place and explain new ones.

    Parameters
    ----------
    family, frame, init, sparsity_weight, n_jobs
        As in :func:`rankfold.align`.

    Attributes
    ----------
    alignment_ : Alignment
        Of the pictures that were fitted.
    components_ : (r, m) array
        Orthonormal basis of the unit-norm low-rank rows.
    """

    _method = "rasl"

    def __init__(
        self,
        family: str = "similarity",
        frame: tuple[int, int] | None = None,
        init: str | npt.ArrayLike | Points = "centred",
        sparsity_weight: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.frame = frame
        self.init = init
        self.sparsity_weight = sparsity_weight
        self.n_jobs = n_jobs

    def fit(self, X: Stack | Array | Sequence[npt.ArrayLike], y: object = None) -> RASL:  # noqa: ARG002
        """Align pictures (a list or an array, as for :func:`rankfold.align`) and keep a basis of them."""
        result = align(
            X,
            method=self._method,
            family=self.family,
            frame=self.frame,
            init=self.init,
            sparsity_weight=self.sparsity_weight,
            n_jobs=self.n_jobs,
        )
        self.alignment_ = result
        rows, valid = _unit_rows(result.low_rank, result.aligned)
        self.components_ = _basis(rows, result.rank)
        self.noise_ = _scale(rows, valid, result)
        self._places = _place_model(X, result)
        return self

    def transform(
        self, X: Stack | Array | Sequence[npt.ArrayLike], init: Any = "centred"
    ) -> Floats:
        """Coefficients (n, r) of new pictures, each placed in the frame first."""
        return self.explain(X, init).coefficients

    def explain(
        self, X: Stack | Array | Sequence[npt.ArrayLike], init: Any = "centred"
    ) -> Explanation:
        """Transforms, coefficients, what belongs and what does not, of new pictures from ``init``."""
        check_is_fitted(self)
        frame = self.alignment_.frame
        stack = Stack.of(X)
        start = start_transforms(init, stack, frame, self.family)
        transforms = _place(stack, frame, start, self.family, self._places)
        sampler = prepare(stack, frame, start, np.float64)
        data, norms, valid = warp_normalised(sampler, transforms)
        coefficients, low_rank = _robust_fit(data, self.components_, valid, self.noise_)
        units = (norms * stack.units)[:, None]

        def pictures(rows: Array) -> Array:
            planes = (rows * units).reshape(len(rows), -1, *frame.shape)
            return np.moveaxis(planes, 1, -1) if stack.is_colour else planes[:, 0]

        sparse = np.where(valid, data - low_rank, 0)
        return Explanation(coefficients, pictures(low_rank), pictures(sparse), transforms)


class MeADMM(RASL):
    """MeADMM on pictures; parameters, attributes and methods as :class:`RASL`."""

    _method = "meadmm"


def _basis(rows: Array, rank: int) -> Array:
    """Leading right singular vectors (r, m), signs fixed so that each has a positive sum."""
    Vt = np.linalg.svd(rows, full_matrices=False)[2][:rank]
    signs = np.where(Vt.sum(axis=1) < 0, -1, 1)
    return np.asarray(Vt * signs[:, None], dtype=rows.dtype)


def _robust_fit(
    rows: Array, basis: Array, valid: npt.NDArray[np.bool_], scale: float
) -> tuple[Array, Array]:
    """Coefficients (n, r) and fit (n, m), one sample at a time so that the others change nothing.

    Reweighted least squares, from plain down to the ordinary residual ``scale`` by factors of four.
    """
    coefficients = np.zeros((len(rows), len(basis)), dtype=rows.dtype)
    wide = basis.astype(np.float64, copy=False)
    for i, row in enumerate(rows.astype(np.float64, copy=False)):
        largest = float(np.abs(row).max())
        if largest == 0 or not len(basis):
            continue
        weight = valid[i].astype(np.float64)
        level = largest
        while True:
            weighted = wide * weight
            fitted = np.linalg.solve(weighted @ wide.T + 1e-12 * np.eye(len(wide)), weighted @ row)
            residual = row - fitted @ wide
            weight = valid[i] * (level**2 / (level**2 + residual**2)) ** 2
            if level <= scale:
                break
            level = max(level / 4, scale)
        coefficients[i] = fitted
    return coefficients, (coefficients @ wide).astype(rows.dtype, copy=False)


def _unit_rows(pictures: Array, aligned: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Rows (n, c h w) of pictures over the norms of the aligned ones, zero where unknown, and validity."""
    n = len(pictures)

    def rows(stack: Array) -> Array:
        return (np.moveaxis(stack, -1, 1) if stack.ndim == 4 else stack).reshape(n, -1)

    seen = rows(aligned)
    norms = np.sqrt(np.nansum(seen**2, axis=1, keepdims=True))
    return np.nan_to_num(rows(pictures) / norms), np.isfinite(seen)


def _scale(rows: Array, valid: npt.NDArray[np.bool_], result: Any) -> float:
    """Ordinary residual of a valid pixel in unit-norm rows."""
    aligned, _ = _unit_rows(result.aligned, result.aligned)
    rest = np.abs(aligned - rows)[valid]
    return float(max(2 * 1.4826 * np.median(rest), np.sqrt((rest**2).mean()) / 3, 1e-9))


def _place_model(X: Any, result: Any) -> Model:
    """A robust model of the contrast features of the fitted pictures, to place new ones against."""
    stack = Stack.of(X).luminance()
    sampler = contrast_sampler(stack, result.frame, result.start, np.float64, Serial())
    data, norms, valid = warp_normalised(sampler, result.transforms)
    rows = np.where(valid, data * norms[:, None] - 1, 0)
    low_rank = decompose(
        np.where(valid, rows, np.nan), tol=1e-4, rank_surrogate="reweighted"
    ).low_rank
    model = fit_model(rows, np.nan_to_num(low_rank), valid)
    # for new pictures nothing is left out: one basis from all
    rank = max(len(basis) for basis in model.bases)
    return Model((_basis(np.nan_to_num(low_rank), rank),), np.zeros(1, dtype=int), model.scale)


def _place(stack: Stack, frame: Frame, start: Floats, family: str, model: Model) -> Floats:
    """Transforms (n, 3, 3) of new pictures: robust Lucas-Kanade on features, basis held."""
    sampler = contrast_sampler(stack.luminance(), frame, start, np.float64, Serial())
    motion = Motion.starting_at(start, get_family(family), frame.centre)
    others = model.others(0)
    found = [register(sampler, motion, i, motion.parameters[i], others) for i in range(len(stack))]
    return motion.with_parameters(np.stack(found)).transforms
