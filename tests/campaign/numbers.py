"""Attempts at the numerical functions: random calls that must end well or with a sentence.

One attempt makes one call that depends on its kind and its seed alone. An error of any other kind
than those that are meant for a caller leaves the attempt as it is: whoever drives the attempts
counts it as a crash.
"""

import copy
import inspect
import warnings
import zlib
from functools import cache

import numpy as np

import rankfold as rf
from campaign import odd
from campaign.odd import often, pick
from rankfold.crop import crop, crop_to_common

# Of what is left of a sum of two parts, relative to the largest value.
ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-3}

FAMILIES = list(rf.FAMILIES)


class OwnError(Exception):
    """What a function of the caller raises; nobody else knows it."""


class Raising:
    """An observer that raises at one of its first records, and knows whether it did."""

    def __init__(self, rng):
        self.left = int(pick(rng, [1, 2, 5, 20]))

    def __call__(self, record):
        self.left -= 1
        if self.left == 0:
            raise OwnError


def prepare(shared):
    """Compile what the calls need, in both precisions."""
    rng = np.random.default_rng(0)
    pictures = rng.random((8, 12, 14))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        for dtype in (np.float64, np.float32):
            for method in ("rasl", "meadmm"):
                rf.align(pictures, method=method, frame=(8, 9), max_outer=1, dtype=dtype)
                rf.decompose(pictures, method={"rasl": "rpca"}.get(method, method), dtype=dtype)


def attempt(kind, seed, place):
    """Make one random call; "fine" or "refused", or an error that should not be."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A run that is cut short on purpose says so.
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        try:
            ATTEMPTS[kind](rng, place)
        except OwnError:
            # It came out as it was raised.
            return "fine"
        except rf.RankfoldError as error:
            refused = error
        else:
            return "fine"
    sentence = str(refused)
    assert len(sentence.split()) > 3, f"{type(refused).__name__} says only {sentence!r}"
    return "refused"


def called(function, *values, **options):
    """Call a function, and see that it wrote to nothing it was given."""
    before = copy.deepcopy((values, options))
    result = function(*values, **options)
    assert same((values, options), before), "an argument was written to"
    watch = options.get("observe")
    swallowed = isinstance(watch, Raising) and watch.left <= 0
    assert not swallowed, "an error of the caller's own was swallowed"
    return result


def same(one, other):
    """Whether two nested values are equal, NaN for NaN and mask for mask."""
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return True
        masks = np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
        return masks and np.ma.getdata(one).tobytes() == np.ma.getdata(other).tobytes()
    if isinstance(one, list | tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in one)
    return True


def some_of(rng, options, share=0.2):
    """A few keywords with good values, one of them with an odd one now and then."""
    chosen = {name: pick(rng, good) for name, good in options.items() if often(rng, share)}
    if chosen and often(rng, 0.15):
        chosen[pick(rng, list(chosen))] = odd.value(rng)
    return chosen


def check_parts(given, low_rank, sparse, status):
    """Two parts that add up to what was given, finite where anything is known."""
    if status is rf.Status.NON_FINITE:
        return
    masked = isinstance(given, list) and any(np.ma.isMaskedArray(one) for one in given)
    whole = np.ma.stack(given) if masked else np.ma.asarray(np.ma.array(given, subok=False))
    values = np.asarray(np.ma.filled(whole.astype(np.float64), np.nan))
    seen = np.isfinite(values)
    assert np.isfinite(sparse).all(), "the sparse part is not finite"
    known = np.isfinite(low_rank)
    assert known[seen].all(), "the low-rank part is not finite where the data are known"
    # A low-rank part that is larger than the data has a larger rounding.
    scale = max(np.abs(part[seen]).max(initial=0) for part in (values, low_rank))
    off = np.abs((low_rank[seen] / 2 + sparse[seen] / 2) - values[seen] / 2).max(initial=0)
    assert off <= ROUNDING[low_rank.dtype] * scale, f"the parts do not add up, by {off / scale}"


def decompose(rng, place):
    """One decomposition of an odd matrix or of odd pictures."""
    usual = pick(rng, [(8, 12), (6, 20), (1, 9), (12, 5), (5, 7, 6), (4, 6, 5, 3), (3, 3)])
    data = odd.array(rng, usual)
    options = some_of(
        rng,
        {
            "method": ["rpca", "rpca", "meadmm"],
            "sparsity_weight": [0.5, 1.0, 3.0, 1e-12, 1e12],
            "projector": [None, "auto", *rf.PROJECTORS, np.copy, lambda context: context.low_rank],
            "n_neighbors": [1, 3, 100],
            "rank_surrogate": ["auto", "nuclear", "reweighted"],
            "shared": [None, 0, 0.3],
            "schedule": ["auto", "certified", "rough", "published"],
            "tol": [None, 1e-2, 1e-5],
            "n_jobs": [None, 1, 2],
            "memory_limit": [None, "2G", 10**12],
            "scratch": [None, str(place)],
            "observe": [None, lambda record: record.iteration > 5],
            "dtype": [np.float64, np.float32, "f4"],
        },
    )
    options.setdefault("max_iter", int(pick(rng, [1, 5, 60, 300])))
    if often(rng, 0.05):
        options["observe"] = Raising(rng)
    if often(rng, 0.05):
        # A projector of the caller's own, whose answer is as odd as anything.
        answer = odd.array(rng, (usual[0], int(np.prod(usual[1:]))))
        options |= {"method": "meadmm", "projector": lambda _: answer}
    result = called(rf.decompose, data, **options)
    check_parts(data, result.low_rank, result.sparse, result.status)
    assert (result.singular_values > 0).all()
    if result.status is not rf.Status.NON_FINITE:
        assert np.isfinite(result.singular_values).all(), "a singular value is not finite"
        assert np.isfinite(result.objective), "the objective is not finite"


def pictures(rng, count=None):
    """A few tiny pictures, smooth enough to be aligned now and then, or odd ones."""
    count = int(pick(rng, [2, 3, 4, 5])) if count is None else count
    if often(rng, 0.25):
        return odd.array(rng, (count, *pick(rng, [(9, 9), (8, 12), (10, 8, 3), (4, 4)])))
    height, width = pick(rng, [(12, 12), (10, 14), (16, 11)])
    y, x = np.mgrid[:height, :width]
    size = 10.0 ** int(pick(rng, [0] * 9 + [-160, 160, 265, -265, 30, 300]))
    found = []
    for _ in range(count):
        dx, dy = rng.uniform(-1, 1, 2)
        waves = np.sin((x + dx) / 2) + np.cos((y + dy) / 1.5) + 0.05 * rng.random((height, width))
        found.append(waves * size)
    if often(rng, 0.2):
        found = [np.stack([one, one, 2 * one], axis=-1) for one in found]
    if often(rng, 0.2):
        found = [np.ma.masked_array(one, rng.random(one.shape) < 0.1) for one in found]
    if often(rng, 0.15):
        found[0] = odd.array(rng, found[0].shape)
    return found


def align_options(rng, count):
    """Keywords of ``align`` that let it end soon."""
    start = np.tile(np.eye(3), (count, 1, 1))
    options = some_of(
        rng,
        {
            "family": FAMILIES,
            "frame": [None, (8, 8), (6, 9), (4, 4), rf.Frame(9, 7), (30, 30)],
            "init": ["centred", "identity", start, start * 2, np.diag([1.1, 0.9, 1]) @ start],
            "sparsity_weight": [0.5, 1.0, 1e-9, 1e9],
            "projector": [None, "auto", *rf.PROJECTORS],
            "n_neighbors": [1, 2, 50],
            "rank_surrogate": ["auto", "nuclear", "reweighted"],
            "features": ["auto", None, "contrast"],
            "rescue": [True, False, "auto"],
            "shared": [None, 0, 0.5],
            "start": [None, "auto", "given", "coarse", "pyramid"],
            "channels": ["luminance", "joint"],
            "gauge": ["mean", "none", 0, 1],
            "outer_tol": [0, 0.02, 10],
            "inner_tol": [1e-3, 1e-6],
            "schedule": ["auto", "certified", "rough", "published"],
            "dtype": [np.float64, np.float32],
        },
        share=0.15,
    )
    options.setdefault("method", pick(rng, ["meadmm", "rasl", "rasl", "rpca"]))
    options.setdefault("max_outer", int(pick(rng, [1, 2])))
    options.setdefault("max_inner", int(pick(rng, [1, 10, 40])))
    return options


def check_alignment(result):
    """An alignment whose numbers can be used, whatever became of the pictures."""
    assert np.isfinite(result.transforms).all(), "a transform is not finite"
    assert ((result.lost >= 0) & (result.lost <= 1)).all(), "a probability outside 0 to 1"
    if result.status is rf.Status.NON_FINITE:
        return
    assert np.isfinite(result.objective), "the objective is not finite"
    assert np.isfinite(result.sparse).all(), "the sparse part is not finite"
    seen = np.isfinite(result.aligned)
    assert np.isfinite(result.low_rank[seen]).all(), "the low-rank part is not finite"
    scale = np.abs(result.aligned[seen]).max(initial=0)
    halves = result.low_rank[seen] / 2 + result.sparse[seen] / 2
    off = np.abs(halves - result.aligned[seen] / 2).max(initial=0)
    assert off <= 1e-3 * scale, f"the parts do not add up, by {off / scale}"


def align(rng, place):
    """One short alignment of tiny pictures."""
    given = pictures(rng)
    try:
        count = len(given)
    except TypeError:
        count = 3
    options = align_options(rng, count)
    if often(rng, 0.05):
        options["init"] = odd.array(rng, (count, 3, 3))
    if often(rng, 0.1):
        options["masks"] = odd.array(rng, (count, 12, 12)) if often(rng) else odd.value(rng)
    if often(rng, 0.05):
        options["observe"] = Raising(rng)
    if often(rng, 0.1):
        options |= some_of(
            rng,
            {
                "n_jobs": [1, 2],
                "memory_limit": ["2G"],
                "scratch": [place],
                "observe": [lambda record: record is not None],
                "checkpoint": [place / "checkpoint"],
                "sample": [None, "auto", 10],
                "settings": [None, rf.AlignSettings()],
            },
            share=0.5,
        )
    check_alignment(called(rf.align, given, **options))


def estimators(rng, place):
    """Fit an estimator to odd data and explain other odd data with it."""
    if often(rng, 0.5):
        _robust_pca(rng)
    else:
        _on_pictures(rng)


def _robust_pca(rng):
    """RobustPCA, whose arguments are checked by scikit-learn first."""
    good = {"sparsity_weight": [0.5, 1.0, 2.0], "tol": [None, 1e-3], "max_iter": [5, 100]}
    model = rf.RobustPCA(**some_of(rng, good))
    plain = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 10))
    plain *= 10.0 ** int(pick(rng, [0, 0, -160, 160, 265, -265, 299]))
    try:
        called(model.fit, odd.array(rng, (8, 10)) if often(rng) else plain[:8])
        coefficients = called(model.transform, odd.array(rng, (4, 10)) if often(rng) else plain[8:])
        assert np.isfinite(coefficients).all(), "a coefficient is not finite"
        given = odd.array(rng, coefficients.shape) if often(rng, 0.3) else coefficients
        # Samples of another length are odd as well, and may have been fitted.
        assert called(model.inverse_transform, given).shape[1:] == (model.n_features_in_,)
    except (ValueError, TypeError) as error:
        if isinstance(error, rf.RankfoldError) or _from_scikit_learn(error):
            raise rf.InputError(str(error)) from error
        raise


def _from_scikit_learn(error):
    """Whether scikit-learn refused the data itself."""
    frames = inspect.getinnerframes(error.__traceback__)
    return any("sklearn" in frame.filename for frame in frames)


def _on_pictures(rng):
    """RASL or MeADMM on tiny pictures."""
    given = pictures(rng, 4)
    options = align_options(rng, 4)
    options.pop("method", None)
    model = pick(rng, [rf.RASL, rf.MeADMM])(**options)
    called(model.fit, given)
    check_alignment(model.alignment_)
    other = given if often(rng, 0.7) else pictures(rng, 2)
    init = odd.value(rng) if often(rng, 0.1) else pick(rng, [None, "centred"])
    found = called(model.explain, other, init=init)
    assert np.isfinite(found.coefficients).all(), "a coefficient is not finite"
    assert np.isfinite(found.transforms).all(), "a transform is not finite"
    assert ((found.scores >= 0) & (found.scores <= 1)).all(), "a score outside 0 to 1"


def matrices(rng, count):
    """Transforms near the identity, or an odd array in their place."""
    if often(rng, 0.15):
        return odd.array(rng, (count, 3, 3))
    return np.eye(3) + 0.05 * rng.standard_normal((count, 3, 3))


def metrics(rng, place):
    """Compare odd estimates with odd truths."""
    count = int(pick(rng, [1, 3]))
    which = pick(rng, ["alignment", "scale", "recovery", "support", "dimension", "points", "frame"])
    if which == "alignment":
        points = odd.array(rng, (4, 2)) if often(rng, 0.3) else rng.random((4, 2))
        found = called(
            rf.metrics.alignment_error, matrices(rng, count), matrices(rng, count), points
        )
        assert np.isfinite([found.mean, found.std, found.max, found.share_above_one]).all()
    elif which == "scale":
        point = odd.array(rng, (2,))
        assert np.isfinite(
            called(rf.metrics.mean_scale, matrices(rng, count), matrices(rng, count), point)
        )
    elif which == "recovery":
        where = pick(rng, [None, rng.random((3, 4)) < 0.5, odd.array(rng, (3, 4))])
        found = called(
            rf.metrics.recovery_error, odd.array(rng, (3, 4)), odd.array(rng, (3, 4)), where
        )
        assert found >= 0
    elif which == "support":
        found = called(rf.metrics.support_f1, odd.array(rng, (3, 4)), odd.array(rng, (3, 4)))
        assert 0 <= found <= 1
    elif which == "dimension":
        share = pick(rng, [0.95, 1.0, odd.value(rng)])
        assert called(rf.estimate_dimension, odd.array(rng, (6, 8)), share) >= 0
    elif which == "points":
        points = called(rf.Points, odd.array(rng, (4, 2)), odd.array(rng, (3, 4, 2)))
        assert np.isfinite(points.transforms(rf.FAMILIES[pick(rng, FAMILIES)])).all()
    else:
        assert called(rf.Frame, odd.value(rng), pick(rng, [8, odd.value(rng)])).height >= 4


@cache
def small_result():
    """One alignment that all attempts at its methods share."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:12, :14]
    shown = [np.sin((x + k / 3) / 2) + np.cos((y - k / 4) / 1.5) for k in range(4)]
    shown = [one + 0.05 * rng.random(one.shape) for one in shown]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        return rf.align(shown, "rasl", frame=(9, 10), max_outer=2)


def results(rng, place):
    """A method of a result, with odd arguments."""
    result = small_result()
    which = pick(rng, ["apply", "apply_one", "points", "export", "crop", "common", "saved"])
    if which == "apply":
        scale = pick(rng, [1.0, 2, 0.5, odd.value(rng)])
        masks = pick(rng, [None, None, odd.array(rng, (4, 12, 14))])
        found = called(result.apply, odd.array(rng, (4, 12, 14)), scale=scale, masks=masks)
        assert not np.isinf(found).any(), "an infinite pixel"
    elif which == "apply_one":
        index = pick(rng, [0, 3, -1, odd.value(rng)])
        found = called(result.apply_one, index, odd.array(rng, (12, 14)))
        assert not np.isinf(found).any(), "an infinite pixel"
    elif which == "points":
        to_frame = pick(rng, [True, False])
        found = called(result.apply_points, odd.array(rng, (4, 3, 2)), to_frame=to_frame)
        assert not np.isinf(found).any(), "a point is infinite"
    elif which == "export":
        name = pick(rng, ["a.json", "b.csv", "c.txt", "d", "e.JSON"])
        path = pick(rng, [place / name, str(place / name), odd.value(rng)])
        if isinstance(path, str) and path not in ("",):
            path = str(place / path)
        called(result.export_transforms, path)
    elif which == "crop":
        box = [int(pick(rng, [0, 1, 4, 9])) if often(rng, 0.8) else odd.value(rng) for _ in "abcd"]
        if often(rng, 0.5):
            box = [0, 1, 8, pick(rng, [9, odd.value(rng)])]
        assert min(called(crop, result, *box).frame.shape) >= 4
    elif which == "common":
        assert called(crop_to_common, result).valid.all()
    else:
        result.save(place / "result")
        assert rf.load(place / "result").names == result.names


ATTEMPTS = {
    "decompose": decompose,
    "align": align,
    "estimators": estimators,
    "metrics": metrics,
    "results": results,
}
KINDS = tuple(ATTEMPTS)
