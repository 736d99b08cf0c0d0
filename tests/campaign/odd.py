"""Odd values and arrays, as a careless or unlucky caller passes them, from a seed alone."""

import datetime
from fractions import Fraction

import numpy as np

TYPES = [
    np.float64,
    np.float32,
    np.float16,
    np.longdouble,
    np.uint8,
    np.uint16,
    np.int8,
    np.int64,
    np.uint64,
    np.bool_,
    ">f8",
    "<i2",
]
NO_TYPES = [np.complex128, object, "U8", "datetime64[s]", "timedelta64[s]"]

# Powers of ten that values are multiplied by; most calls are of ordinary size.
POWERS = [0, 0, 0, 0, 1, -3, 5, -9, 20, -30, 35, -160, 160, -255, 265, -290, 300, 307]


def pick(rng, choices):
    """One of some choices, which may be of any kind."""
    return choices[int(rng.integers(len(choices)))]


def often(rng, share=0.5):
    """True for a share of the calls."""
    return bool(rng.random() < share)


def value(rng):
    """Something that may be no number, no word, and nothing at all."""
    values = [
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        2.5,
        0.5,
        float("nan"),
        float("inf"),
        -float("inf"),
        10**9,
        10**30,
        -(10**400),
        1e300,
        1e-300,
        np.int64(2),
        np.float32(0.5),
        np.float64("nan"),
        np.bool_(True),
        "",
        "x",
        "auto",
        "mean",
        b"x",
        1j,
        [],
        [1, 2],
        (0, 0),
        (4, 4),
        (2,),
        (1e9, 1e9),
        {},
        {"a": 1},
        set(),
        object(),
        np.array(3),
        np.arange(3.0),
        np.zeros((0, 3)),
        np.ma.masked,
        datetime.date(2020, 1, 1),
        Fraction(1, 3),
        int,
    ]
    return pick(rng, values)


def shape(rng, usual):
    """A shape near the usual one: as it is, with one side changed, or with an axis too many."""
    chosen = list(usual)
    kind = rng.random()
    if kind < 0.85 or not chosen:
        return tuple(chosen)
    if kind < 0.93:
        chosen[int(rng.integers(len(chosen)))] = int(pick(rng, [0, 1, 2, 3, 4, 7, 13]))
        return tuple(chosen)
    if kind < 0.97:
        return tuple(chosen[:-1])
    return (*chosen, int(pick(rng, [1, 2, 3, 4])))


def array(rng, usual):
    """An array of about the usual shape, of any type, size, layout and content."""
    values = rng.random(shape(rng, usual))
    values = _content(rng, values)
    values = _typed(rng, values)
    return _laid_out(rng, values)


def _content(rng, values):
    """Holes, infinities, flat rows and other sizes, now and then."""
    with np.errstate(all="ignore"):
        values = np.asarray(values * 10.0 ** int(pick(rng, POWERS)) * pick(rng, [1, 1, 1, -1]))
    kind = pick(rng, ["plain"] * 12 + ["holes", "infinite", "flat", "zero", "spike", "row", "ends"])
    if kind == "holes":
        values[rng.random(values.shape) < pick(rng, [0.1, 0.5, 0.95, 1.1])] = np.nan
    elif kind == "infinite":
        values[rng.random(values.shape) < 0.1] = pick(rng, [np.inf, -np.inf])
    elif kind == "flat":
        values[...] = pick(rng, [1.0, -3.0, 1e-300, 1e300])
    elif kind == "zero":
        values[...] = 0.0
    elif kind == "spike" and values.size:
        values.flat[int(rng.integers(values.size))] = pick(rng, [1e6, 1e20, -1e200, 1e308])
    elif kind == "row" and values.ndim and len(values):
        values[int(rng.integers(len(values)))] = pick(rng, [0.0, np.nan, 1e-200, 1e200])
    elif kind == "ends" and values.size:
        values.flat[0] = np.finfo(float).max
        values.flat[-1] = -np.finfo(float).max
    return values


def _typed(rng, values):
    """The same in another type, most often in double precision."""
    if often(rng, 0.5):
        return values
    dtype = pick(rng, TYPES if often(rng, 0.93) else NO_TYPES)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "iu":
            top = np.iinfo(dtype).max
            values = np.clip(np.nan_to_num(values), 0, 1) * (float(top) * 0.99)
        elif np.dtype(dtype).kind in "mM":
            values = np.nan_to_num(np.clip(values, 0, 1)).astype(np.int64)
        return values.astype(dtype)


def _laid_out(rng, values):
    """The same numbers in another layout, or as something that is like an array."""
    # A single number of NumPy is no array, and has no layout.
    values = np.asarray(values)
    kind = pick(
        rng,
        ["plain"] * 5
        + [
            "fortran",
            "backwards",
            "steps",
            "locked",
            "masked",
            "list",
            "parts",
            "ragged",
            "matrix",
        ],
    )
    if kind == "fortran":
        return np.asfortranarray(values)
    if kind == "backwards" and values.ndim:
        return values[::-1]
    if kind == "steps" and values.ndim:
        return np.repeat(values, 2, axis=-1)[..., ::2]
    if kind == "locked":
        values.flags.writeable = False
        return values
    if kind == "masked":
        return np.ma.masked_array(values, rng.random(values.shape) < pick(rng, [0.0, 0.2, 1.1]))
    if kind == "list":
        return values.tolist()
    if kind == "parts" and values.ndim:
        return [np.ma.masked_array(one, False) if often(rng, 0.2) else one for one in values]
    if kind == "ragged":
        return ragged(rng)
    if kind == "matrix" and values.ndim == 2:
        return values.view(np.matrix) if values.dtype.kind == "f" else values
    return values


def ragged(rng):
    """Lists of which no array can be made."""
    return pick(
        rng,
        [
            [[1, 2], [3]],
            [[[1.0, 2.0], [3.0]], [[1.0], [2.0]]],
            [[1, "a"], [2, 3]],
            [None, [1, 2]],
            [np.zeros((5, 5)), np.zeros((6, 6))],
            [np.zeros((5, 5)), None],
            [[], [1]],
            [object(), object()],
            [[10**400, 1], [1, 2]],
        ],
    )
