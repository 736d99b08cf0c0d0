"""The stages one by one: each can be left out, each says what it did."""

import importlib
from dataclasses import fields, replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.features import contrast
from rankfold.align.rescue import Search, register, suspicious
from rankfold.align.robust import Basis, fit_model
from rankfold.align.stages import STAGES, Job
from rankfold.align.steps import displacements
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.metrics import alignment_error

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def batch():
    return rendered_heads(24, occluded=0.3, seed=5)


def run(batch, init=None, **options):
    start = batch.start if init is None else init
    result = rf.align(batch.images, frame=batch.frame, init=start, n_jobs=2, **options)
    return result, alignment_error(result.transforms, batch.truth, batch.points)


class TestFeatures:
    image = RNG.random((40, 50))

    def test_single_precision_finds_the_same_places(self, batch, monkeypatch):
        found = {}
        for large in (0, np.inf):
            monkeypatch.setattr(importlib.import_module("rankfold.align.stages"), "LARGE", large)
            found[large], _ = run(batch)
        assert found[0].low_rank.dtype == found[np.inf].low_rank.dtype == np.float64
        moved = displacements(found[0].transforms, found[np.inf].transforms, batch.frame.corners)
        assert 0 < moved.max() < 1e-3

    @pytest.mark.parametrize(("n", "dtype"), [(16, np.float64), (17, np.float32)])
    def test_single_precision_is_for_large_batches(self, n, dtype):
        job = Job(
            **dict.fromkeys(field.name for field in fields(Job))
        )  # 4 parameters, 64 x 64 pixels: 2^14 a picture
        stack, family = rf.Stack.of(RNG.random((n, 5, 5))), rf.FAMILIES["similarity"]
        job = replace(job, guide=stack, frame=rf.Frame(64, 64), family=family, dtype=np.float64)
        assert job.rough is dtype

    def test_brightness_and_contrast_do_not_matter(self):
        mask = np.ones(self.image.shape, bool)
        one = contrast(self.image, mask, 1.5, 0.0)
        np.testing.assert_allclose(contrast(0.2 * self.image + 0.5, mask, 1.5, 0.0), one, atol=1e-9)

    def test_a_flat_picture_has_flat_features(self):
        features = contrast(np.full((30, 30), 0.4), np.ones((30, 30), bool), 1.0, 0.002)
        np.testing.assert_allclose(features, 1.0, atol=1e-9)

    def test_what_is_masked_does_not_reach_the_rest(self):
        mask = RNG.random(self.image.shape) > 0.1
        wild = np.where(mask, self.image, 1e3)
        np.testing.assert_array_equal(
            contrast(self.image, mask, 1.0, 0.002), contrast(wild, mask, 1.0, 0.002)
        )

    def test_their_length_follows_the_zoom(self):
        fine = np.kron(self.image, np.ones((2, 2)))
        from scipy.ndimage import zoom

        smooth = zoom(self.image, 2, order=3)
        one = contrast(self.image, np.ones(self.image.shape, bool), 1.0, 0.002)
        two = contrast(smooth, np.ones(fine.shape, bool), 2.0, 0.002)
        inner = np.s_[12:-12, 12:-12]
        assert np.corrcoef(zoom(one, 2, order=1)[inner].ravel(), two[inner].ravel())[0, 1] > 0.9


def test_all_stages_of_meadmm_are_in_the_trace_and_beat_rasl(batch):
    full, error = run(batch)
    rasl, plain = run(batch, method="rasl")
    assert list(full.trace.stages) == ["features", "rescue", "pixels"]
    assert list(rasl.trace.stages) == ["pixels"]
    assert {*full.trace.outer["stage"]} >= {"features", "pixels"}
    assert all(moved.shape == (24,) for moved in full.trace.stages.values())
    assert error.mean < 0.8 * plain.mean
    assert full.trace.stages["pixels"].max() <= 0.51  # the guard


def test_every_stage_can_be_left_out_and_used_by_rasl(batch):
    bare, _ = run(batch, features=None, rescue=False, coarse=False)
    assert list(bare.trace.stages) == ["pixels"]
    dressed, error = run(batch, method="rasl", features="contrast", rescue=True)
    assert list(dressed.trace.stages) == ["features", "rescue", "pixels"]
    assert dressed.method == "rasl"
    assert error.mean < 0.3
    assert list(STAGES) == ["coarse", "features", "rescue", "pixels"]


def test_coarse_brings_back_what_is_far_off():
    rng = np.random.default_rng(1)
    batch = rendered_heads(24, lights=35, seed=5)
    far = batch.start @ np.stack([shift(o) for o in rng.uniform(-7, 7, (24, 2))])
    _, without = run(batch, far, coarse=False)
    result, with_it = run(batch, far, coarse=True)
    assert alignment_error(far, batch.truth, batch.points).mean > 4
    assert with_it.mean < 0.7
    assert without.mean > 2 * with_it.mean
    assert "coarse" in result.trace.stages


def test_coarse_by_itself_is_tried_when_no_start_is_given_and_kept_only_if_it_helps():
    batch = rendered_heads(12, seed=2)
    given = rf.align(batch.images, frame=batch.frame, init=batch.start)
    assert "coarse" not in given.trace.stages
    native = rf.align([image[::2, ::2] for image in batch.images], frame=(45, 42))
    assert "coarse" in native.trace.stages or "features" in native.trace.stages


def test_a_lost_picture_is_rescued(batch):
    start = batch.truth.copy()
    start[7] = start[7] @ shift(np.array([4.2, -3.6]))
    without, off = run(batch, start, rescue=False)
    result, error = run(batch, start)
    assert off.each[7] > 2
    assert error.each[7] < 0.6
    assert result.rescued[7]
    assert not without.rescued.any()
    assert result.trace.stages["rescue"][7] > 2


@pytest.mark.parametrize(("coarse", "rounds"), [(False, 1), (True, 2)])
def test_rescue_does_not_ask_again_what_it_has_been_told(batch, monkeypatch, coarse, rounds):
    stages = importlib.import_module("rankfold.align.stages")
    asked = []

    def nobody(sampler, motion, *rest):
        asked.append(motion)
        return motion, np.zeros(len(motion.parameters), bool)

    monkeypatch.setattr(stages, "rescue", nobody)
    run(batch, batch.truth, coarse=coarse)
    assert len(asked) == rounds


class TestRobustFit:
    def test_the_basis_of_a_picture_is_made_without_it(self):
        rows = RNG.standard_normal((6, 1)) @ RNG.standard_normal((1, 50))
        rows[2] = RNG.standard_normal(50)
        model = fit_model(rows, rows, np.ones(rows.shape, bool))
        cost = [model.others(i).cost(rows[i : i + 1], np.ones((1, 50), bool))[0] for i in range(6)]
        assert np.argmax(cost) == 2
        assert suspicious(np.array(cost))[2]

    def test_gross_errors_hardly_move_the_fit(self):
        basis = np.linalg.qr(RNG.standard_normal((80, 3)))[0].T
        clean = RNG.standard_normal((1, 3)) @ basis
        dirty = clean.copy()
        dirty[0, :12] += 3
        residual = Basis.of(basis, 0.05).residual(dirty, np.ones((1, 80), bool), rounds=30)
        assert np.abs(residual[0, 12:]).max() < 0.02

    def test_the_weighted_fit_is_that_of_the_plain_normal_equations(self):
        rows, weight = RNG.standard_normal((4, 60)), RNG.random((3, 60))
        expected = [(rows * w) @ rows.T for w in weight]
        np.testing.assert_allclose(Basis.of(rows, 1.0).normal(weight), expected, atol=1e-8)

    def test_single_precision_gives_the_same_cost(self):
        rows = RNG.standard_normal((50, 8)) @ RNG.standard_normal((8, 900)) / 30
        rows[:, ::7] += 2 * (RNG.random((50, 129)) < 0.5)
        valid = RNG.random(rows.shape) < 0.9
        model = fit_model(rows, rows, valid)
        cost, single = (
            model.others(3, dtype).cost(rows[[3, 43]], valid[[3, 43]])
            for dtype in (float, np.float32)
        )
        np.testing.assert_allclose(single, cost, rtol=1e-4)

    def test_groups_share_a_basis_and_leave_nobody_out(self):
        rows = RNG.standard_normal((410, 20))
        model = fit_model(rows, rows, np.ones(rows.shape, bool))
        groups = model.shared()
        assert sorted(np.concatenate(groups)) == list(range(410))
        assert all(len(set(model.fold[group])) == 1 for group in groups)

    def test_the_bases_are_the_leading_singular_vectors_of_the_others(self):
        rows = RNG.standard_normal((9, 5)) @ RNG.standard_normal((5, 70))  # rank 5 of 9
        model = fit_model(rows, rows, np.ones(rows.shape, bool), rank=3)
        for i in range(9):
            expected = np.linalg.svd(np.delete(rows, i, axis=0))[2][:3]
            basis = model.others(i).rows
            np.testing.assert_allclose(basis.T @ basis, expected.T @ expected, atol=1e-10)

    def test_search_is_wider_after_a_coarse_stage(self):
        assert len(Search.wide(40).angles) > len(Search.near().angles)
        assert Search.wide(40).bound == 24


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_register_finds_a_picture_against_the_others(batch, dtype):
    from rankfold.align.features import contrast_sampler
    from rankfold.executors import Serial
    from rankfold.warp.linearisation import Motion, warp_normalised

    sampler = contrast_sampler(rf.Stack.of(batch.clean), batch.frame, batch.start, dtype, Serial())
    data, norms, valid = warp_normalised(sampler, batch.truth)
    rows = np.where(valid, data * norms[:, None] - 1, 0)
    model = fit_model(rows, rows, valid)
    motion = Motion.starting_at(batch.truth, rf.FAMILIES["similarity"], batch.frame.centre)
    moved = motion.parameters[4] + [0.02, 0.05, 1.2, -0.9]
    found = register(sampler, motion, 4, moved, model.others(4, dtype))
    assert np.abs((found - motion.parameters[4])[2:]).max() < 0.15


def test_a_coarse_start_that_leads_astray_is_not_kept(monkeypatch):
    """Blurred heads under different lamps agree better where they do not belong; a few steps on features tell."""
    from importlib import import_module

    batch = rendered_heads(24, occluded=0.3, seed=0)
    api = import_module("rankfold.align.api")
    monkeypatch.setattr(
        api, "start_transforms", lambda *_: batch.start
    )  # as if it were the default
    result = rf.align(batch.images, frame=batch.frame)
    assert "coarse" not in result.trace.stages
    assert alignment_error(result.transforms, batch.truth, batch.points).mean < 0.3
