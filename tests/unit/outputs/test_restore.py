"""Pictures without what was in front of them; the rest of each is not touched."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from placed import as_numpy_sees, in_grey, true_run
from rankfold.datasets import handheld, rendered_heads

SIZE = (72, 96)


@pytest.fixture(scope="module")
def walls():
    return handheld(8, SIZE, seed=1)


@pytest.fixture(scope="module")
def run(walls):
    return true_run(walls)


@pytest.fixture(scope="module")
def restored(walls, run):
    """With what hides the wall painted by hand."""
    return list(run.restore(walls.images, hidden=walls.hidden))


def in_type(images, kind):
    """The same pictures in another type."""
    if kind == "uint16":
        return [image.astype(np.uint16) * 257 for image in images]
    if kind == "float32":
        return [np.array(image / 255, np.float32) for image in images]
    return list(images)


def behind(walls, k):
    """What picture ``k`` would show without anybody in it, in levels of 255."""
    return 255 * (
        walls.gains[k] * as_numpy_sees(walls.scene, np.linalg.inv(walls.transforms[k]), SIZE)
        + walls.offsets[k]
    )


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("colour", [True, False])
def test_what_is_not_replaced_has_its_bits(walls, kind, colour):
    images = in_type(walls.images if colour else in_grey(walls.images), kind)
    found = list(true_run(walls, images).restore(images))
    assert any(one.replaced.any() for one in found)
    for one, image in zip(found, images, strict=True):
        assert one.picture.dtype == image.dtype
        assert one.picture.shape == image.shape
        np.testing.assert_array_equal(one.picture[~one.replaced], image[~one.replaced])
        assert not (one.replaced & one.left).any()


def test_hidden_pixels_are_restored(walls, restored):
    errors = []
    for k, one in enumerate(restored):
        assert one.name == f"image {k}"
        np.testing.assert_array_equal(one.replaced | one.left, walls.hidden[k])
        truth = behind(walls, k)
        where = one.replaced & np.isfinite(truth).all(axis=2)
        errors.append(np.abs(one.picture[where] - truth[where]).mean())
    # The noise of the pictures alone is 2.0 levels in the mean.
    assert np.median(errors) < 4
    assert max(errors) < 10


def test_what_is_in_front_is_found_without_masks(walls, run):
    found = list(run.restore(walls.images))
    replaced = np.stack([one.replaced for one in found])
    hidden = np.stack(walls.hidden)
    assert replaced[hidden].mean() > 0.7
    # With a rim of two pixels around what was found.
    assert replaced[~hidden].mean() < 0.15


def test_what_was_hidden_has_no_say(walls, run, restored):
    """Whatever is painted over may have any colour."""
    rng = np.random.default_rng(0)
    images = [image.copy() for image in walls.images]
    for image, hidden in zip(images, walls.hidden, strict=True):
        image[hidden] = rng.integers(0, 256, (hidden.sum(), 3))
    again = list(run.restore(images, hidden=walls.hidden))
    for one, other in zip(restored, again, strict=True):
        np.testing.assert_array_equal(one.replaced, other.replaced)
        np.testing.assert_array_equal(one.picture[one.replaced], other.picture[other.replaced])


def test_missing_pixels_are_filled_in_or_kept(walls):
    images = in_type(walls.images, "float32")
    for image in images:
        # Nobody sees what is at the very top.
        image[:14] = np.nan
    images[2][30:40, 40:50] = np.nan
    found = list(true_run(walls, images).restore(images, hidden=[None] * 8))
    one = found[2]
    assert one.replaced[32:38, 42:48].all()
    assert np.isfinite(one.picture[one.replaced]).all()
    assert one.left[:5].all()
    np.testing.assert_array_equal(one.left, one.missing)
    np.testing.assert_array_equal(np.isnan(one.picture).any(axis=2), one.left)


def test_what_is_painted_everywhere_is_what_the_run_knows(walls, run):
    """A place that is painted in every picture: the run has its low-rank part there."""
    hidden = []
    for T in walls.transforms:
        x, y = (T @ [50, 36, 1])[:2] / (T @ [50, 36, 1])[2]
        mask = np.zeros(SIZE, bool)
        mask[round(y) - 8 : round(y) + 9, round(x) - 8 : round(x) + 9] = True
        hidden.append(mask)
    restored = run.restore(walls.images, hidden=hidden)
    for k, (one, mask) in enumerate(zip(restored, hidden, strict=True)):
        np.testing.assert_array_equal(one.replaced, mask)
        truth = behind(walls, k)[mask]
        assert np.abs(one.picture[mask] - truth).mean() < 15


def test_what_no_picture_sees_is_left(walls):
    """A strip that is masked in every picture: nobody knows what is there."""
    masks = [np.ones(SIZE, bool) for _ in walls.images]
    for mask in masks:
        mask[:14] = False
    floats = in_type(walls.images, "float32")
    for image in floats:
        image[:14] = np.nan
    run = true_run(walls, floats)
    scaled = replace(run, low_rank=255 * run.low_rank, aligned=255 * run.aligned)
    found = scaled.restore(walls.images, masks=masks, hidden=[None] * 8)
    for one, image in zip(found, walls.images, strict=True):
        assert one.left[:4].all()
        assert not one.left[30:].any()
        np.testing.assert_array_equal(one.missing, one.left)
        np.testing.assert_array_equal(one.picture[one.left], image[one.left])


def test_a_failed_picture_stays_as_it_is(walls, run):
    found = list(run.without(3).restore(walls.images, hidden=walls.hidden))
    np.testing.assert_array_equal(found[3].picture, walls.images[3])
    assert not found[3].replaced.any()
    np.testing.assert_array_equal(found[3].left, walls.hidden[3])
    assert not found[3].missing.any()
    assert found[4].replaced.any()


def test_where_nothing_is_hidden_nothing_is_replaced(walls, run):
    for one, image in zip(run.restore(walls.images, hidden=[None] * 8), walls.images, strict=True):
        assert not one.replaced.any()
        np.testing.assert_array_equal(one.picture, image)


def test_a_picture_whose_light_nobody_knows_stays_as_it_is():
    # Noise hides the lit half of a face in hard light: what is left of it is nearly black.
    heads = rendered_heads(30, occluded=0.3, seed=0)
    found = rf.align(heads.images, frame=heads.frame, init=heads.start)
    restored = list(found.restore(heads.images))
    doubted = [k for k, one in enumerate(restored) if one.doubted]
    assert 11 in doubted
    assert all(heads.hidden[k].any() for k in doubted)
    assert len(doubted) < 3
    for k in doubted:
        np.testing.assert_array_equal(restored[k].picture, heads.images[k])
        assert not restored[k].replaced.any()


def test_painted_and_found(walls, run):
    """Masks do not keep anybody from looking for more."""
    masks = [None] * 8
    masks[0] = np.zeros(SIZE, bool)
    masks[0][5:15, 5:15] = True
    found = list(run.restore(walls.images, hidden=masks, automatic=True))
    assert found[0].replaced[5:15, 5:15].all()
    assert found[1].replaced.any()


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"memory_limit": 351 * 10**6}])
def test_threads_and_disk_give_the_same_bits(walls, run, restored, tmp_path, options):
    again = run.restore(walls.images, hidden=walls.hidden, scratch=tmp_path, **options)
    for one, other in zip(restored, again, strict=True):
        np.testing.assert_array_equal(one.picture, other.picture)


def test_iterating_again_gives_the_same(walls, run):
    restoration = run.restore(walls.images, hidden=walls.hidden)
    assert len(restoration) == 8
    assert repr(restoration) == "<Restoration of 8 pictures>"
    first = [one.picture for one in restoration]
    np.testing.assert_array_equal(first, [one.picture for one in restoration])


@pytest.mark.parametrize("automatic", [True, False])
def test_progress_ends_with_everything(walls, run, automatic):
    steps = []
    run.restore(walls.images, automatic=automatic, progress=lambda *step: steps.append(step))
    assert steps[-1][0] == steps[-1][1] == len(steps)


def test_colours_of_pictures_whose_grey_was_aligned(walls):
    """A run on grey copies places the pictures as well."""
    grey_run = true_run(walls, in_grey(walls.images))
    found = list(grey_run.restore(walls.images, hidden=walls.hidden))
    for k, one in enumerate(found):
        assert one.picture.shape == (*SIZE, 3)
        np.testing.assert_array_equal(one.picture[~one.replaced], walls.images[k][~one.replaced])


@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_what_a_masked_array_hides_is_missing(walls, run, kind):
    images = in_type(walls.images, kind)
    masks = [np.ones(SIZE, bool) for _ in images]
    masks[2][20:30, 40:60] = False
    masked = [
        np.ma.masked_array(image, np.repeat(~mask[..., None], 3, axis=2))
        for image, mask in zip(images, masks, strict=True)
    ]
    found = list(run.restore(masked))
    same = list(run.restore(images, masks=masks))
    for one, other in zip(found, same, strict=True):
        assert one.picture.dtype == images[0].dtype
        np.testing.assert_array_equal(one.replaced, other.replaced)
        np.testing.assert_allclose(one.picture[masks[2]], other.picture[masks[2]])


class TestRefused:
    def test_a_mask_of_another_shape(self, walls, run):
        masks = list(walls.hidden)
        masks[2] = masks[2][:50]
        with pytest.raises(
            rf.InputError,
            match="the mask of image 2 is 50 x 96, but the picture is 72 x 96; paint it in the",
        ):
            list(run.restore(walls.images, hidden=masks))

    def test_a_mask_that_hides_everything(self, walls, run):
        masks = list(walls.hidden)
        masks[2] = np.ones(SIZE, bool)
        with pytest.raises(rf.InputError, match="the mask of image 2 hides all of it; leave the"):
            list(run.restore(walls.images, hidden=masks))

    def test_another_number_of_masks(self, walls, run):
        with pytest.raises(rf.InputError, match="3 masks for 8 pictures; give one a picture, None"):
            run.restore(walls.images, hidden=walls.hidden[:3])
