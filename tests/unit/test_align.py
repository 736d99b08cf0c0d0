"""The public functions: keywords, observers, gauges, stop rules, and every input that must be refused."""

import importlib
import inspect

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.loop import QUICK_FALL, QUICK_START, QUICK_STEP, OuterSettings
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.families import inverse, mean, shift


def test_public_names_and_keywords_are_the_documented_ones():
    expected = (
        "images method family frame init masks sparsity_weight projector n_neighbors rank_surrogate features rescue "
        "coarse variant channels gauge max_outer outer_tol max_inner inner_tol schedule n_jobs executor observe strict "
        "dtype"
    )
    assert list(inspect.signature(rf.align).parameters) == expected.split()
    assert list(inspect.signature(rf.decompose).parameters)[:2] == ["X", "method"]
    assert inspect.signature(rf.decompose).parameters["tol"].default == 1e-7
    for name in rf.__all__:
        assert getattr(rf, name).__doc__, name


PICTURES = np.random.default_rng(0).random((4, 20, 20))


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        ([], {}, "no images were given"),
        (PICTURES[:1], {}, "only one image was given"),
        ([PICTURES[0], np.full((20, 20), 3)], {}, "image 1 is constant"),
        ([PICTURES[0], np.full((20, 20), np.nan)], {}, "image 1 is NaN everywhere"),
        (
            PICTURES,
            {"frame": (60, 60)},
            "only 11% of the 60x60 frame lies inside any of the pictures",
        ),
        (
            PICTURES,
            {"init": np.full((4, 3, 3), np.nan)},
            "the start transform of image 0 is not finite",
        ),
        (PICTURES, {"init": np.zeros((4, 3, 3))}, "not invertible"),
        (PICTURES, {"init": np.eye(3)}, r"init has shape \(3, 3\); 4 images need \(4, 3, 3\)"),
        (PICTURES, {"init": "middle"}, "unknown init 'middle'"),
        (PICTURES, {"masks": np.ones((4, 10, 20))}, "the mask of image 0 has shape"),
        (PICTURES, {"method": "rals"}, "unknown method 'rals'; choose one of rpca, rasl, meadmm"),
        (PICTURES, {"family": "rigid"}, "unknown family 'rigid'"),
        (PICTURES, {"gauge": "median"}, "unknown gauge 'median'"),
        (PICTURES, {"gauge": 9}, "gauge=9 is not the index of one of 4 images"),
        (PICTURES, {"channels": "red"}, "unknown channels='red'"),
        (PICTURES, {"dtype": np.int32}, "dtype .*int32.* is not supported"),
        (PICTURES, {"dtype": "foo"}, "dtype 'foo' is not supported"),
        (PICTURES, {"frame": 45}, "frame=45 is not a size"),
        (PICTURES, {"frame": (45,)}, r"frame=\(45,\) is not a size"),
        (PICTURES, {"frame": (45.5, 40)}, "in whole pixels"),
        (PICTURES, {"gauge": None}, "unknown gauge None"),
        (PICTURES, {"gauge": 1.5}, "unknown gauge 1.5"),
        (None, {}, "images is a NoneType; pass a list of arrays"),
        (
            PICTURES,
            {"projector": "isomap"},
            "unknown projector 'isomap'; choose one of regression, average",
        ),
        (PICTURES, {"rank_surrogate": "log"}, "unknown rank_surrogate 'log'"),
        (PICTURES, {"features": "edges"}, "unknown features 'edges'"),
        (PICTURES, {"coarse": "maybe"}, "unknown coarse='maybe'"),
        (PICTURES, {"variant": "printed"}, "unknown variant 'printed'"),
        (PICTURES, {"variant": "literal"}, "needs a projector"),
        (
            PICTURES,
            {"projector": "regression", "n_neighbors": -1},
            "n_neighbors=-1 must be at least 1",
        ),
        (PICTURES, {"sparsity_weight": -1.0}, "must be a positive number"),
        (PICTURES, {"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
        (PICTURES, {"max_outer": 0}, "max_outer=0 must be at least 1"),
        (PICTURES, {"outer_tol": np.nan}, "outer_tol=nan"),
        (PICTURES, {"inner_tol": 2.0}, "tol=2.0 must lie between"),
    ],
)
def test_bad_input_is_refused_with_the_thing_and_the_remedy(images, options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.align(images, **{"method": "rasl", **options})


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros(5), {}, "give"),
        (np.zeros((0, 5)), {}, r"the data have shape \(0, 5\)"),
        (np.full((3, 4), np.nan), {}, "NaN everywhere"),
        (np.full((3, 4), np.inf), {}, "contain infinity"),
        (np.ones((3, 4)) * 1j, {}, "type complex128"),
        (PICTURES, {"method": "rasl"}, "is its transforms; use align"),
    ],
)
def test_bad_matrices_are_refused(X, options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.decompose(X, **options)


def test_the_mean_gauge_keeps_the_mean_and_a_frame_can_be_held(heads):
    free = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge="none")
    held = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge=2)
    np.testing.assert_allclose(held.transforms[2], heads.start[2], atol=1e-9)
    centred = rf.align(
        heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge="mean"
    )
    family, centre, corners = rf.FAMILIES["similarity"], heads.frame.centre, heads.frame.corners

    def drift(result):
        common = mean(inverse(heads.start) @ result.transforms, family, centre)
        return displacements(np.eye(3)[None], common[None], corners)[0]

    assert drift(centred) < 0.02
    assert drift(free) > 5 * drift(centred)
    # holding one image or the mean differs by a common motion only, up to the stop rule
    relative = inverse(centred.transforms) @ held.transforms
    assert (
        displacements(np.stack([mean(relative, family, centre)] * 8), relative, corners).max() < 0.5
    )


def test_observers_see_both_loops_and_can_stop(heads):
    seen = []
    result = rf.align(
        heads.images, method="rasl", frame=heads.frame, init=heads.start, observe=seen.append
    )
    outer = [r for r in seen if isinstance(r, rf.OuterRecord)]
    inner = [r for r in seen if isinstance(r, rf.InnerRecord)]
    assert len(outer) == len(result.trace.outer["objective"])
    assert len(inner) > 20 * len(outer)
    assert {r.outer for r in inner} == {-1, *range(len(outer))}

    stopped = rf.align(
        heads.images,
        method="rasl",
        frame=heads.frame,
        init=heads.start,
        observe=lambda r: isinstance(r, rf.OuterRecord) and r.outer == 1,
    )
    assert stopped.status is rf.Status.STOPPED
    assert stopped.stop_rule == "observer"
    np.testing.assert_array_equal(stopped.transforms, result.trace.outer["transforms"][1])
    assert np.isfinite(stopped.low_rank).all()


def test_what_an_observer_does_to_a_record_stays_there(heads):
    words = {"method": "rasl", "frame": heads.frame, "init": heads.start}

    def scribble(record):
        if isinstance(record, rf.OuterRecord):
            record.transforms[...] = 0

    np.testing.assert_array_equal(
        rf.align(heads.images, observe=scribble, **words).transforms,
        rf.align(heads.images, **words).transforms,
    )


def test_an_observer_with_a_budget_still_gets_a_whole_result(heads):
    """It stops the alignment; the pictures are decomposed all the same."""
    seen = []
    result = rf.align(
        heads.images,
        method="rasl",
        frame=heads.frame,
        init=heads.start,
        observe=lambda r: seen.append(r) or len(seen) >= 80,
    )
    assert result.status is rf.Status.STOPPED
    np.testing.assert_allclose(result.low_rank + result.sparse, result.aligned, atol=1e-4)
    assert result.rank > 1
    # stopped in the last decomposition itself, the parts still add up
    parts = rf.align(
        heads.images,
        method="rpca",
        frame=heads.frame,
        init=heads.start,
        observe=lambda r: r.iteration == 9,
    )
    assert parts.status is rf.Status.STOPPED
    assert parts.stop_rule == "observer"
    np.testing.assert_allclose(parts.low_rank + parts.sparse, parts.aligned, atol=1e-12)


def test_too_few_inner_iterations_are_reported(heads):
    with pytest.warns(rf.ConvergenceWarning, match="iteration limit"):
        result = rf.align(
            heads.images, method="rasl", frame=heads.frame, init=heads.start, max_inner=3
        )
    assert result.status is rf.Status.MAX_ITER


@pytest.mark.parametrize(
    ("factor", "dtype"),
    [(1e200, np.float64), (1e-200, np.float64), (1e30, np.float32), (1e-30, np.float32)],
)
def test_the_unit_of_the_pictures_does_not_matter(heads, factor, dtype):
    options = {
        "method": "rasl",
        "frame": heads.frame,
        "init": heads.start,
        "dtype": dtype,
        "outer_tol": 0.2,
    }
    one = rf.align(heads.images, **options)
    other = rf.align([factor * np.asarray(image) for image in heads.images], **options)
    np.testing.assert_allclose(other.transforms, one.transforms, atol=2e-3)
    np.testing.assert_allclose(other.low_rank / dtype(factor), one.low_rank, atol=2e-3)
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-2)


def test_pictures_without_luminance_contrast_ask_for_all_channels():
    ramp = np.random.default_rng(0).random((3, 20, 20))
    flat = np.stack([0.5 + 0.587 * ramp, 0.5 - 0.299 * ramp, np.full_like(ramp, 0.5)], axis=-1)
    with pytest.raises(rf.InputError, match="constant"):
        rf.align(np.round(flat, 12) * [1, 1, 1], method="rasl")


def test_a_run_that_does_not_converge_warns_once_or_raises_when_strict(heads):
    options = {"frame": heads.frame, "init": heads.start, "max_outer": 1, "outer_tol": 0}
    with pytest.warns(
        rf.ConvergenceWarning, match="align: stopped at the iteration limit"
    ) as caught:
        result = rf.align(heads.images, method="rasl", **options)
    assert len(caught) == 1
    assert result.status is rf.Status.MAX_ITER
    with pytest.raises(rf.ConvergenceError, match="iteration limit"):
        rf.align(heads.images, method="rasl", **options, strict=True)
    with pytest.warns(rf.ConvergenceWarning, match="decompose: stopped at the iteration limit"):
        rf.decompose(PICTURES, max_iter=2)


def test_stop_rules_are_named(heads):
    options = {"frame": heads.frame, "init": heads.start}
    assert (
        rf.align(heads.images, method="rasl", **options, outer_tol=10).stop_rule == "displacement"
    )
    assert rf.align(heads.images, method="rasl", **options, outer_tol=0).stop_rule == "objective"


def test_no_step_leaves_the_trust_region_or_raises_its_own_residual(heads):
    offsets = np.random.default_rng(0).uniform(-7, 7, (8, 2))
    far = heads.start @ np.stack([shift(offset) for offset in offsets])
    result = rf.align(heads.images, method="rasl", frame=heads.frame, init=far)
    trace = result.trace.outer
    assert trace["displacement"].max() < 3.1  # the limit is exact to first order
    assert set(np.unique(trace["step"])) <= {0, 0.125, 0.25, 0.5, 1}
    kept = trace["step"] == 0
    assert (trace["displacement"][kept] < 1e-9).all()


def test_masked_pixels_do_not_matter(heads):
    masks = [np.ones(image.shape, bool) for image in heads.images]
    wild = [image.copy() for image in heads.images]
    for k, (mask, image) in enumerate(zip(masks, wild, strict=True)):
        mask[30 + 3 * k : 45 + 3 * k, 40:55] = False
        image[~mask] = 7.0 * (k % 3)
    options = {"frame": heads.frame, "init": heads.start, "masks": masks}
    one, two = (
        rf.align(heads.images, method="rasl", **options),
        rf.align(wild, method="rasl", **options),
    )
    # the anti-aliasing blur and the spline see the mask, so not even the last digits depend on what is under it
    np.testing.assert_array_equal(one.transforms, two.transforms)
    np.testing.assert_array_equal(one.low_rank, two.low_rank)
    assert np.isnan(one.aligned[~one.valid]).all()
    assert np.isfinite(one.low_rank[one.valid]).all()
    assert (one.sparse[~one.valid] == 0).all()


def test_images_of_different_sizes_and_types_are_one_batch(heads):
    images = [
        np.pad(image, ((k, 0), (0, 2 * k)), mode="edge") for k, image in enumerate(heads.images)
    ]
    start = np.stack([shift(np.array([0.0, k])) @ T for k, T in enumerate(heads.start)])
    images[3] = (images[3] * 65535).astype(np.uint16)
    result = rf.align(images, method="rasl", frame=heads.frame, init=start)
    same = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start)
    assert result.low_rank[3].max() > 10_000  # in its own units
    np.testing.assert_allclose(
        result.transforms,
        np.stack([shift(np.array([0.0, k])) @ T for k, T in enumerate(same.transforms)]),
        atol=0.02,
    )


def test_the_default_frame_and_start_cover_the_pictures(heads):
    result = rf.align(heads.images[:4], method="rasl", max_outer=2, outer_tol=10)
    assert result.frame.shape == heads.images[0].shape
    np.testing.assert_allclose(result.start, np.tile(np.eye(3), (4, 1, 1)), atol=1e-12)
    assert (
        rf.align(heads.images[:4], method="rasl", init="identity", outer_tol=10).frame.shape
        == heads.images[0].shape
    )


def test_quick_steps_end_where_exact_ones_do():
    heads = rendered_heads(30, seed=0)
    exact, quick = (
        rf.align(
            heads.images, method="rasl", frame=heads.frame, init=heads.start, schedule=schedule
        )
        for schedule in ("balanced", "quick")
    )
    assert quick.objective < 1.001 * exact.objective
    assert len(quick.trace.inner["objective"]) < 0.2 * len(exact.trace.inner["objective"])
    assert np.median(displacements(exact.transforms, quick.transforms, heads.frame.corners)) < 0.2


def test_quick_steps_are_loose_at_first_and_judged_by_those_that_are_not():
    heads = rendered_heads(n=30, seed=0)
    words = {
        "method": "rasl",
        "frame": heads.frame,
        "init": heads.start,
        "outer_tol": 0.0,
        "schedule": "quick",
    }
    trace = rf.align(heads.images, **words).trace
    objectives = trace.outer["objective"]
    last = dict(zip(trace.inner["outer"], trace.inner["primal_residual"], strict=True))
    ends = np.array([last[k] for k in range(len(objectives))])
    slow = (
        np.flatnonzero(objectives[:-1] - objectives[1:] < QUICK_FALL * objectives[1:])[0] + 2
    )  # from here on exact
    assert 1 < slow <= len(objectives) - 3
    assert (ends[:slow] <= QUICK_START).all()
    assert (ends[:slow] > QUICK_STEP).any()
    assert (ends[slow:] <= QUICK_STEP).all()
    # the rule of the objective has a patience of two, and compares those of one precision alone
    assert objectives[slow:-2].min() - objectives[-2:].min() < OuterSettings().objective_tol


@pytest.mark.parametrize(("limit", "loose"), [(1, 0), (2, 1), (9, 1)])
def test_quick_steps_from_the_right_place_end_with_one_of_all_digits(limit, loose):
    heads = rendered_heads(n=20, rotation=0.0, translation=0.0, seed=0)
    words = {"frame": heads.frame, "init": heads.truth, "outer_tol": 1.0, "max_outer": limit}
    result = rf.align(heads.images, "rasl", schedule="quick", strict=True, **words)
    last = dict(
        zip(result.trace.inner["outer"], result.trace.inner["primal_residual"], strict=True)
    )
    assert len(result.trace.outer["objective"]) == loose + 1
    assert (last[0] > QUICK_STEP) == bool(loose)
    assert last[loose] <= QUICK_STEP


@pytest.mark.filterwarnings("ignore:align. stopped at the iteration limit")
def test_quick_steps_are_for_rasl_alone_and_single_precision_stays_single(heads, monkeypatch):
    loop = importlib.import_module("rankfold.align.loop")
    seen = []

    def solve(problem, settings, executor, observe, outer, near):
        seen.append((problem.data.dtype, near is not None))
        return original(problem, settings, executor, observe, outer, near)

    original = loop.solve
    monkeypatch.setattr(loop, "solve", solve)
    words = {"frame": heads.frame, "init": heads.start, "max_outer": 2}
    rf.align(heads.images, "rasl", schedule="quick", **words)
    assert seen == [(np.float32, False), (np.float32, True)]
    for method, schedule, dtype in (
        ("meadmm", "quick", np.float64),
        ("rasl", "balanced", np.float32),
    ):
        seen.clear()
        rf.align(heads.images, method, schedule=schedule, dtype=dtype, **words)
        assert set(seen) == {(np.dtype(dtype), False)}


def test_an_unknown_schedule_is_refused(heads):
    with pytest.raises(
        rf.InputError, match="unknown schedule 'fast'; choose one of balanced, quick"
    ):
        rf.align(heads.images, schedule="fast")
