"""Of a large picture only a part is prepared; samples must be what the whole would give."""

import numpy as np
import pytest

import rankfold as rf
from rankfold import Frame, Stack
from rankfold.align.features import contrast_sampler
from rankfold.align.settings import FeatureSettings
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.scale import Serial
from rankfold.warp import prepare, sources
from rankfold.warp.sources import extent

RNG = np.random.default_rng(0)
PICTURE = RNG.random((600, 700))
FRAME = Frame(20, 24)
TILTED = np.array([[1.3, -0.2, 240.3], [0.25, 1.2, 180.6], [1e-3, -2e-3, 1.0]])
TURN = np.array([[0.98, -0.2, 0.3], [0.2, 0.98, 0.1], [0.0, 0.0, 1.0]])

SAMPLERS = {
    "pixels": lambda stack, at: prepare(stack, FRAME, at, np.float64),
    "blurred": lambda stack, at: prepare(stack, FRAME, at, np.float64, blur=8.0),
    "contrast": lambda stack, at: contrast_sampler(
        stack, FRAME, at, np.float64, Serial(), FeatureSettings()
    ),
}


def at_place(x, y, zoom=1.0):
    return shift(np.array([x, y])) @ np.diag([zoom, zoom, 1.0])


def all_of_it(monkeypatch):
    monkeypatch.setattr(sources, "WHOLE_ABOVE", 0.0)


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize(
    "matrix",
    [
        at_place(200, 150),
        TILTED,
        at_place(-9.5, 170),
        at_place(680.5, -6),
        at_place(690, 590),
        at_place(100.2, 585, 1.5),
    ],
    ids=["inside", "tilted", "left edge", "corner", "opposite corner", "bottom, zoomed"],
)
def test_a_part_gives_what_the_whole_gives(monkeypatch, kind, matrix):
    stack = Stack.of([PICTURE])
    part = SAMPLERS[kind](stack, matrix[None])
    all_of_it(monkeypatch)
    whole = SAMPLERS[kind](stack, matrix[None])
    held = part.sources[0].around(FRAME, matrix)
    assert not held.whole
    assert held.planes.size < PICTURE.size / 2
    assert whole.sources[0].around(FRAME, matrix).whole
    for one, other in zip(part.sample(0, matrix, True), whole.sample(0, matrix, True), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kind", "zoom"), [("pixels", 1.0), ("blurred", 1.0), ("contrast", 4.0)])
@pytest.mark.parametrize("side", ["low", "high", "left", "bottom"])
@pytest.mark.parametrize("beyond", [0.0, 0.5])
def test_a_part_is_good_up_to_its_limits_and_no_further(monkeypatch, kind, zoom, side, beyond):
    stack, start = Stack.of([PICTURE]), at_place(250, 230, zoom)
    part = SAMPLERS[kind](stack, start[None])
    held = part.sources[0].around(FRAME, start)
    assert not held.whole
    last = held.high - zoom * np.array([23, 19])
    (x, y), (right, down) = {
        "low": (held.low, (-1, -1)),
        "high": (last, (1, 1)),
        "left": ((held.low[0], 230), (-1, 0)),
        "bottom": ((250, last[1]), (0, 1)),
    }[side]
    matrix = at_place(x + beyond * right, y + beyond * down, zoom)
    found = part.sample(0, matrix, True)
    assert (part.sources[0].around(FRAME, matrix) is held) == (beyond == 0)
    all_of_it(monkeypatch)
    for one, other in zip(
        found, SAMPLERS[kind](stack, start[None]).sample(0, matrix, True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert found[2].all()


@pytest.mark.parametrize("x", [-900.0, 1600.0])
def test_a_frame_outside_the_picture_sees_nothing(x):
    away = at_place(x, 170.0)
    sampler = prepare(Stack.of([PICTURE]), FRAME, away[None], np.float64)
    held = sampler.sources[0].around(FRAME, away)
    assert not held.whole
    assert min(held.planes.shape[1:]) > sources.TAIL  # not an empty part
    assert not sampler.sample(0, away)[2].any()


def test_a_matrix_that_is_not_finite_harms_nobody():
    good, bad = at_place(500, 350), at_place(np.nan, 350)
    sampler = prepare(Stack.of([PICTURE]), FRAME, at_place(60, 60)[None], np.float64)
    rows, valid = sampler.sample_many(0, np.stack([good, bad]))
    np.testing.assert_allclose(rows[0].reshape(FRAME.shape), PICTURE[350:370, 500:524], atol=1e-12)
    assert valid[0].all()
    assert not valid[1].any()


def test_derivatives_are_taken_there_too(monkeypatch):
    stack, derivative = Stack.of([PICTURE]), RNG.standard_normal((8, 3, 3)) * [[[1], [1], [1e-4]]]
    found = []
    for share in (0.5, 0.0):
        monkeypatch.setattr(sources, "WHOLE_ABOVE", share)
        sampler = prepare(stack, FRAME, TILTED[None], np.float64)
        values, slopes, valid = np.empty(480), np.empty((8, 480)), np.empty(480, bool)
        sampler.differentiate(0, TILTED, derivative, values, slopes, valid)
        found.append(slopes)
    np.testing.assert_array_equal(found[0], found[1])


def test_a_frame_that_leaves_the_part_gets_another(monkeypatch):
    stack, start, far = Stack.of([PICTURE]), at_place(60, 60), at_place(630.3, 533.3)
    sampler = prepare(stack, FRAME, start[None], np.float64)
    first = sampler.sources[0].around(FRAME, start)
    near = sampler.sources[0].around(FRAME, at_place(63, 58))
    assert near is first  # it may move a little
    values, _, valid = sampler.sample(0, far)
    second = sampler.sources[0].around(FRAME, far)
    assert second is not first
    assert not second.whole
    assert valid.all()
    all_of_it(monkeypatch)
    np.testing.assert_array_equal(
        values, prepare(stack, FRAME, far[None], np.float64).sample(0, far)[0]
    )


def test_several_places_at_once_are_all_in_it(monkeypatch):
    stack, places = Stack.of([PICTURE]), np.stack([at_place(60, 60), at_place(200, 90)])
    rows, valid = prepare(stack, FRAME, places[:1], np.float64).sample_many(0, places)
    all_of_it(monkeypatch)
    expected, known = prepare(stack, FRAME, places[:1], np.float64).sample_many(0, places)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(valid, known)
    assert valid.all()


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "pixels missing elsewhere"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_sampled_does_not_depend_on_where_the_frame_was_before(kind, missing, seed):
    """To the last bit: a run that goes on after an interruption has not been everywhere."""
    rng = np.random.default_rng(seed)
    mask = np.ones(PICTURE.shape, bool)
    mask[-3:, -3:] = not missing
    stack = Stack.of([PICTURE], [mask])
    places = [at_place(*rng.uniform(60, 330, 2)) @ TURN for _ in range(4)]
    travelled = SAMPLERS[kind](stack, places[0][None])
    # Other parts are held on the way, and where pixels are missing it is the whole picture at last.
    for place in [*places, at_place(650, 550)] if missing else places:
        travelled.sample(0, place)
    assert travelled.sources[0].around(FRAME, places[1]).whole == missing
    for place in places:
        fresh = SAMPLERS[kind](stack, places[0][None])
        one = fresh.sample(0, place, with_gradient=True)
        for first, second in zip(one, travelled.sample(0, place, True), strict=True):
            np.testing.assert_array_equal(first, second)


def test_missing_pixels_and_the_horizon_take_the_whole_picture():
    mask = np.ones(PICTURE.shape, bool)
    mask[170, 230] = False
    near, away = at_place(220, 160), at_place(20, 20)
    stack = Stack.of([PICTURE], [mask])
    assert prepare(stack, FRAME, near[None], np.float64).sources[0].around(FRAME, near).whole
    assert not prepare(stack, FRAME, away[None], np.float64).sources[0].around(FRAME, away).whole
    behind = np.array([[1.0, 0, 15], [0, 1, 15], [-0.2, 0, 1]])
    assert np.isinf(extent(FRAME.corners, behind)).all()
    assert prepare(stack, FRAME, behind[None], np.float64).sources[0].around(FRAME, behind).whole


def test_small_pictures_are_prepared_whole():
    picture = PICTURE[:500, :500]
    sampler = prepare(Stack.of([picture]), FRAME, at_place(30, 30)[None], np.float64)
    assert sampler.sources[0].around(FRAME, at_place(30, 30)).whole


@pytest.mark.parametrize("method", ["rasl", "meadmm"])
def test_photographs_align_as_their_middle_does(monkeypatch, method):
    heads = rendered_heads(8, seed=1)
    ground = np.indices((500, 600)).sum(axis=0) / 1100
    photographs = np.tile(ground, (8, 1, 1))
    photographs[:, 200:303, 250:348] = heads.images
    start = shift(np.array([250.0, 200.0])) @ heads.start
    words = {"frame": heads.frame, "init": start}
    sampler = prepare(Stack.of(photographs), heads.frame, start, np.float64)
    assert not any(
        s.around(heads.frame, T).whole for s, T in zip(sampler.sources, start, strict=True)
    )
    small = rf.align(photographs, method, **words)
    both = rf.align(photographs, method, n_jobs=2, **words)
    np.testing.assert_array_equal(small.transforms, both.transforms)
    np.testing.assert_array_equal(small.low_rank, both.low_rank)
    all_of_it(monkeypatch)
    large = rf.align(photographs, method, **words)
    np.testing.assert_allclose(small.transforms, large.transforms, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(small.valid, large.valid)
