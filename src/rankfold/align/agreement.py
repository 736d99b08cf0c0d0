"""How well pictures agree on their contrast features: all together, and each with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.admm import Problem, solve, weights_of
from rankfold.align.basis import robust_spread
from rankfold.align.confirmation import Confirmation, FeatureRows, confirm
from rankfold.align.job import Job
from rankfold.align.model import Model, fit_model
from rankfold.families import Floats
from rankfold.warp.linearisation import warp_normalised

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


def agreement(job: Job, transforms: Floats) -> float:
    """Nuclear norm of the aligned, normalised feature rows: the lower, the better they agree."""
    data, _, _ = warp_normalised(job.contrast, transforms, job.executor)
    # The root of a rounded square has half as many digits, so squares are made in double.
    data = data.astype(np.float64, copy=False)
    squares = np.linalg.eigvalsh(data @ data.T)
    return float(np.sqrt(np.maximum(squares, 0.0)).sum())


def feature_rows(job: Job, transforms: Floats) -> tuple[Array, Array, Bools]:
    """Aligned features and their low-rank part, both without the +1, and validity; each (n, m).

    By ADMM, whatever the method: how well pictures agree does not depend on it.
    """
    data, norms, valid = warp_normalised(job.contrast, transforms, job.executor)
    problem = Problem(data, job.sparsity(job.contrast), weights_of(valid))
    settings = job.plain(job.request.settings.features.tol, "reweighted")
    low_rank = solve(problem, settings, job.executor).low_rank
    scale = norms[:, None].astype(data.dtype)
    return np.where(valid, data * scale - 1, 0), low_rank * scale - 1, valid


def feature_model(
    job: Job, transforms: Floats, rank: int | None = None, good: Bools | None = None
) -> tuple[Model, Floats]:
    """Leave-one-out model of the aligned features, and the costs (n,).

    It is made from ``good`` (n,) pictures, by default from those that fit a first model well.
    """
    rows, low_rank, valid = feature_rows(job, transforms)
    numbers = job.request.settings.basis

    def costs(model: Model) -> Floats:
        def of_group(group: npt.NDArray[np.int_]) -> Floats:
            return model.others(group[0]).cost(rows[group], valid[group])

        return model.for_groups(of_group, job.executor)

    model = fit_model(rows, low_rank, valid, numbers, good, rank, executor=job.executor)
    cost = costs(model)
    if good is not None:
        return model, cost
    good = cost <= np.median(cost) + numbers.good_spread * robust_spread(cost)
    # A basis needs a few pictures, and the same ones would give the same basis again.
    if 3 < good.sum() < len(rows):
        model = fit_model(rows, low_rank, valid, numbers, good, rank, job.executor)
        cost = costs(model)
    return model, cost


def confirmation(job: Job, transforms: Floats) -> Confirmation:
    """How far pictures confirm each other's places at ``transforms`` (n, 3, 3) of the job."""
    rows = rows_at(job, list(enumerate(transforms)))
    return confirm(rows, job.request.settings.verdicts, job.executor)


def rows_at(job: Job, places: Sequence[tuple[int, Floats]]) -> FeatureRows:
    """Features in the small frame of the verdicts, of pictures at places (3, 3) of the job."""
    small = job.overview
    sampled = [small.contrast.sample(i, job.to_smaller(small, place)) for i, place in places]
    features = np.stack([values[0] for values, _, _ in sampled])
    valid = np.stack([seen for _, _, seen in sampled])
    return FeatureRows.of(features, valid, small.request.frame, job.request.settings.verdicts)
