"""A sample is aligned, and the other pictures find the places that they have."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.crowd import sample_of, sample_size
from rankfold.datasets import rendered_heads
from rankfold.errors import InputError
from rankfold.families import inverse, map_points
from rankfold.io import write_picture

NUMBERS = rf.AlignSettings().sample


class TestSize:
    def test_auto(self):
        assert sample_size("auto", 500, NUMBERS) is None
        assert sample_size("auto", 501, NUMBERS) == 200

    def test_none_and_numbers(self):
        assert sample_size(None, 10**6, NUMBERS) is None
        assert sample_size(40, 80, NUMBERS) == 40
        assert sample_size(80, 80, NUMBERS) is None

    @pytest.mark.parametrize("sample", ["many", 9, 0, -3, 20.5, True])
    def test_what_is_no_size(self, sample):
        with pytest.raises(InputError, match="sample="):
            sample_size(sample, 80, NUMBERS)

    def test_spread_over_the_batch_with_those_that_are_needed(self):
        assert sample_of(100, 11).tolist() == [0, 10, 20, 30, 40, 50, 59, 69, 79, 89, 99]
        assert 7 in sample_of(100, 11, 7, None)
        assert len(sample_of(12, 12)) == 12


@pytest.fixture(scope="module")
def heads():
    return rendered_heads(n=80, seed=0)


@pytest.fixture(scope="module")
def mixed(heads):
    """The heads, with noise as picture 31 and a blank one as picture 33."""
    images = list(heads.images)
    rng = np.random.default_rng(5)
    images[31] = rng.random(images[31].shape)
    images[33] = np.full_like(images[33], 0.5)
    return images


def aligned(heads, images=None, **options):
    chosen = {"frame": heads.frame, "init": heads.start, "sample": 40, **options}
    return rf.align(heads.images if images is None else images, **chosen)


@pytest.fixture(scope="module")
def result(heads, mixed):
    return aligned(heads, mixed)


def errors_of(heads, result, sample):
    """Distance (n,) in px of marked points from where the median picture of the sample has them."""
    points = np.asarray(heads.points).reshape(-1, *np.shape(heads.points)[-2:])[0]
    landed = map_points(inverse(heads.truth) @ result.transforms, points)
    middle = np.median(landed[sample], axis=0)
    return np.linalg.norm(landed - middle, axis=2).mean(axis=1)


class TestHeads:
    def test_the_others_are_as_near_as_the_sample(self, heads, result):
        sample = sample_of(80, 40)
        others = np.setdiff1d(np.arange(80), [*sample, 31, 33])
        error = errors_of(heads, result, sample)
        assert np.median(error[sample]) < 0.2
        assert np.median(error[others]) < 0.2
        assert error[others].max() < 0.6

    def test_what_does_not_belong_failed(self, result):
        assert result.verdicts[31] == result.verdicts[33] == "failed"
        assert (np.delete(result.verdicts, [31, 33]) == "placed").all()
        assert result.verdict == "partial"
        assert "31" in result.outcome

    def test_arrays_are_plain_and_add_up(self, result):
        assert isinstance(result.aligned, np.ndarray)
        assert result.aligned.shape == result.valid.shape == (80, 45, 42)
        total = result.low_rank + result.sparse
        seen = result.valid
        np.testing.assert_allclose(total[seen], result.aligned[seen], atol=1e-12)
        assert np.isnan(result.aligned[~seen]).all()

    def test_options_tell_of_the_sample(self, result):
        assert result.options["sample"] == 40

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_threads_change_no_bit(self, heads, mixed, result, n_jobs):
        again = aligned(heads, mixed, n_jobs=n_jobs)
        for part in ("transforms", "low_rank", "aligned", "verdicts", "lost", "rescued"):
            np.testing.assert_array_equal(getattr(again, part), getattr(result, part))

    def test_a_picture_is_placed_by_itself(self, heads, mixed, result):
        # Other pictures beside the sample change nothing for those that stay.
        images = list(mixed)
        images[31] = heads.images[31]
        again = aligned(heads, images)
        kept = np.delete(np.arange(80), 31)
        np.testing.assert_array_equal(again.transforms[kept], result.transforms[kept])
        assert again.verdicts[31] == "placed"


@pytest.mark.parametrize("off", [25, 12, -20])
def test_a_lost_picture_is_not_called_placed(heads, off):
    # A start so far away that nothing leads back.
    start = heads.start.copy()
    start[31, :2, 2] += off
    found = aligned(heads, init=start)
    assert errors_of(heads, found, sample_of(80, 40))[31] > 3
    assert found.verdicts[31] != "placed"
    assert (np.delete(found.verdicts, 31) == "placed").all()


def test_held_and_given_pictures_are_in_the_sample(heads):
    held = aligned(heads, method="rasl", gauge=33)
    np.testing.assert_allclose(held.transforms[33], heads.start[33], atol=1e-9)
    assert held.options["gauge"] == 33
    assert held.options["sample"] == 41


def test_a_method_that_moves_nothing(heads):
    fixed = aligned(heads, method="rpca")
    np.testing.assert_array_equal(fixed.transforms, heads.start)
    assert np.isfinite(fixed.low_rank[fixed.valid]).all()


def test_a_large_frame_in_colour(tmp_path):
    """The search is on a smaller frame, and grey: the places are as known all the same."""
    from scipy import ndimage

    rng = np.random.default_rng(0)
    scene = ndimage.gaussian_filter(rng.random((240, 300, 3)), (2, 2, 0))
    scene = (scene - scene.min()) / np.ptp(scene)
    shifts = rng.uniform(-6, 6, (24, 2))
    for k, (x, y) in enumerate(shifts):
        moved = ndimage.shift(scene, (y, x, 0), order=3, mode="nearest")
        moved = moved[25:215, 30:270]
        write_picture(tmp_path / f"{k:02d}.png", 255 * np.clip(moved, 0, 1))
    found = rf.align(
        tmp_path, method="rasl", family="translation", frame=(160, 200), sample=12, n_jobs=2
    )
    assert found.low_rank.shape == (24, 160, 200, 3)
    assert (found.verdicts == "placed").all()
    rest = found.transforms[:, :2, 2] - shifts
    assert np.linalg.norm(rest - np.median(rest, axis=0), axis=1).max() < 0.1
    in_memory = rf.align(
        [np.asarray(rf.io.read_picture(tmp_path / f"{k:02d}.png")) for k in range(24)],
        method="rasl",
        family="translation",
        frame=(160, 200),
        sample=12,
    )
    np.testing.assert_array_equal(in_memory.transforms, found.transforms)
    np.testing.assert_array_equal(in_memory.low_rank, np.asarray(found.low_rank))


def test_points_and_masks_are_those_of_the_pictures(heads):
    masks = [np.ones(image.shape, bool) for image in heads.images]
    masks[31][:50] = False
    found = aligned(heads, masks=masks, method="rasl")
    assert found.valid[31].sum() < found.valid[30].sum()
    with pytest.raises(InputError, match="80 images need"):
        aligned(heads, init=heads.start[:40])
