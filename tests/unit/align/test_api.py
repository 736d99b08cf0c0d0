"""The public function ``align``: keywords, observers, gauges, masks, units, paths and methods."""

import inspect

import numpy as np
import pytest
from PIL import Image

import rankfold as rf
from rankfold.admm import Solution
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.families import inverse, mean, shift
from rankfold.metrics import alignment_error
from rankfold.status import InnerRecord, Status


def test_public_names_and_keywords_are_the_documented_ones():
    expected = (
        "images method family frame init masks sparsity_weight projector n_neighbors "
        "rank_surrogate features rescue shared start coarse frame_of channels gauge max_outer "
        "outer_tol max_inner inner_tol schedule n_jobs executor memory_limit scratch observe "
        "checkpoint strict dtype settings sample"
    )
    assert list(inspect.signature(rf.align).parameters) == expected.split()
    assert list(inspect.signature(rf.decompose).parameters)[:2] == ["X", "method"]
    # Left to the schedule, which says what it means.
    assert inspect.signature(rf.decompose).parameters["tol"].default is None
    for name in rf.__all__:
        assert getattr(rf, name).__doc__, name


class TestAnEmptyFrameOfAStack:
    """It is left out and named, unless the caller speaks of frames by their numbers."""

    @pytest.fixture
    def stack(self, heads, tmp_path):
        frames = np.stack(heads.images).astype(np.float32)
        frames[2] = 0
        np.save(tmp_path / "film.npy", frames)
        return tmp_path / "film.npy"

    def test_the_others_are_aligned(self, heads, stack):
        with pytest.warns(UserWarning, match=r"film.npy: film-0002 left out") as said:
            result = rf.align(stack, method="rasl", frame=heads.frame)
        assert len(result.names) == len(heads.images) - 1
        assert "film-0002" not in result.names
        assert said[0].filename == __file__

    @pytest.mark.parametrize("words", [{"init": "start"}, {"gauge": 3}, {"masks": "all"}])
    def test_not_where_numbers_would_mean_others(self, heads, stack, words):
        known = {"start": heads.start, "all": np.ones(np.shape(heads.images), bool)}
        options = {name: known.get(value, value) for name, value in words.items()}
        with pytest.raises(rf.InputError, match="film-0002 is constant"):
            rf.align(stack, method="rasl", frame=heads.frame, **options)


@pytest.mark.parametrize("function", [rf.align, rf.decompose])
def test_every_keyword_is_explained(function):
    explained = inspect.getdoc(function).split("Returns")[0]
    for name in inspect.signature(function).parameters:
        assert name in explained, name
    assert inspect.signature(function).parameters["schedule"].default == "auto"


def test_the_mean_gauge_keeps_the_mean_and_a_frame_can_be_held(heads):
    free = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge="none")
    held = rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge=2)
    np.testing.assert_allclose(held.transforms[2], heads.start[2], atol=1e-9)
    centred = rf.align(
        heads.images, method="rasl", frame=heads.frame, init=heads.start, gauge="mean"
    )
    family = rf.FAMILIES["similarity"]
    centre = heads.frame.centre
    corners = heads.frame.corners

    def drift(result):
        common = mean(inverse(heads.start) @ result.transforms, family, centre)
        return displacements(np.eye(3)[None], common[None], corners)[0]

    assert drift(centred) < 0.02
    assert drift(free) > 5 * drift(centred)
    # Holding one image or the mean differs by a common motion only, up to the stop rule.
    relative = inverse(centred.transforms) @ held.transforms
    common = np.stack([mean(relative, family, centre)] * 8)
    assert displacements(common, relative, corners).max() < 0.5


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
    # Stopped in the last decomposition itself, the parts still add up.
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
    np.testing.assert_allclose(other.confirmed, one.confirmed, atol=1e-2)
    np.testing.assert_allclose(other.lost, one.lost, atol=1e-2)
    np.testing.assert_array_equal(other.verdicts, one.verdicts)


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


def test_masked_pixels_do_not_matter(heads):
    masks = [np.ones(image.shape, bool) for image in heads.images]
    wild = [image.copy() for image in heads.images]
    for k, (mask, image) in enumerate(zip(masks, wild, strict=True)):
        mask[30 + 3 * k : 45 + 3 * k, 40:55] = False
        image[~mask] = 7.0 * (k % 3)
    options = {"frame": heads.frame, "init": heads.start, "masks": masks}
    one = rf.align(heads.images, method="rasl", **options)
    two = rf.align(wild, method="rasl", **options)
    # The anti-aliasing blur and the spline see the mask, so not even the last digits depend on
    # what is under it.
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
    # In its own units.
    assert result.low_rank[3].max() > 10_000
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


class TestPaths:
    def test_a_folder_gives_what_its_pictures_give(self, heads, tmp_path):
        levels = [np.round(255 * image).astype(np.uint8) for image in heads.images]
        for k, picture in enumerate(levels):
            Image.fromarray(picture).save(tmp_path / f"{k}.png")
        options = {"method": "rpca", "frame": heads.frame, "init": heads.start}
        plain = rf.align(levels, **options)
        for path in (tmp_path, str(tmp_path)):
            result = rf.align(path, **options)
            np.testing.assert_allclose(result.aligned, plain.aligned, atol=1e-9)
            np.testing.assert_allclose(result.low_rank, plain.low_rank, atol=1e-6)
            assert result.names == tuple(f"{k}.png" for k in range(8))

    def test_a_path_that_is_not_there_is_refused(self, tmp_path):
        with pytest.raises(rf.RankfoldError, match="nowhere"):
            rf.align(tmp_path / "nowhere")


def towards_the_mean(problem, settings, executor, observe=None, outer=-1, near=None):
    """Gauss-Newton: A is the mean row, and δ brings every row as near to it as it can."""
    mean_row = problem.data.mean(axis=0)
    A = np.tile(mean_row, (len(problem.data), 1))
    delta = np.zeros((len(A), problem.size))
    if problem.basis is not None:
        delta = np.einsum("npm,nm->np", problem.basis, A - problem.data)
    E = problem.data - A
    size = float(np.linalg.norm(A))
    distance = float(np.abs(E).sum())
    record = InnerRecord(outer, 0, distance, size, distance, 1, 0.0, 0.0, 0.0)
    if observe is not None:
        observe(record)
    return Solution(A, E, 0 * E, delta, np.array([size]), Status.CONVERGED, (record,))


class TestMethods:
    mine = rf.Method("mean", "Gauss-Newton towards the mean", solve=towards_the_mean)

    def test_a_method_that_is_not_admm_aligns_shifted_pictures(self):
        batch = rendered_heads(8, rotation=0, translation=0, lights=0, seed=0)
        rng = np.random.default_rng(0)
        away = np.stack([shift(offset) for offset in rng.uniform(-1.5, 1.5, (8, 2))])
        seen = []
        result = rf.align(
            batch.images,
            method=self.mine,
            family="translation",
            frame=batch.frame,
            init=batch.truth @ away,
            observe=seen.append,
        )
        before = alignment_error(result.start, batch.truth, batch.points)
        after = alignment_error(result.transforms, batch.truth, batch.points)
        assert before.mean > 0.8
        assert after.mean < 0.1 * before.mean
        assert result.method == "mean"
        assert result.status is rf.Status.CONVERGED
        assert result.rank == 1
        assert {type(record) for record in seen} == {rf.InnerRecord, rf.OuterRecord}

    def test_a_row_of_the_table_may_be_given_itself(self, heads, aligned):
        words = {"frame": heads.frame, "init": heads.start}
        same = rf.align(heads.images, method=rf.METHODS["rasl"], **words)
        np.testing.assert_array_equal(same.low_rank, aligned.low_rank)

    def test_decompose_takes_one_too(self):
        still = rf.Method("mean", "the mean row", solve=towards_the_mean, moves=False)
        X = np.random.default_rng(0).random((6, 30))
        parts = rf.decompose(X, method=still)
        np.testing.assert_allclose(parts.low_rank, np.tile(X.mean(axis=0), (6, 1)))
        assert parts.method == "mean"
