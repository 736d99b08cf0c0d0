"""Masks of what moves, in film and in the pictures of a run."""

import numpy as np
import pytest
from scipy import ndimage

import rankfold as rf
from placed import as_numpy_sees, true_run
from rankfold.datasets import panning
from rankfold.outputs.foreground import large_enough

COUNT = 20
LARGE = (90, 120)
# Of films on which something else than how good the masks are is looked at.
SMALL = (60, 80)


@pytest.fixture(scope="module")
def moving():
    return panning(COUNT, LARGE)


@pytest.fixture(scope="module")
def still():
    return panning(12, SMALL, moves=False, seed=3)


@pytest.fixture(scope="module")
def found(still):
    return rf.foreground(still.images, camera="still")


@pytest.fixture(scope="module")
def followed(moving):
    pytest.importorskip("cv2")
    return rf.foreground(moving.images, camera="moving", n_jobs=2)


def f_measure(masks, truth):
    masks, truth = np.stack(masks), np.stack(truth)
    return 2 * (masks & truth).sum() / (masks.sum() + truth.sum())


def test_people_before_a_camera_that_stands_still():
    still = panning(COUNT, LARGE, moves=False)
    found = rf.foreground(still.images, camera="still", n_jobs=2)
    assert f_measure(found.masks, still.hidden) >= 0.85
    np.testing.assert_array_equal(found.transforms, np.tile(np.eye(3), (COUNT, 1, 1)))
    assert found.canvas.shape == still.images[0].shape
    assert found.canvas.dtype == np.uint8
    assert np.abs(found.canvas - 255 * still.scene).mean() < 2


def test_people_before_a_camera_that_pans(followed, moving):
    masks = [one.mask for one in followed]
    assert f_measure(masks, moving.hidden) >= 0.85
    assert followed.canvas.shape[1] > 1.1 * LARGE[1]
    assert followed.sentence.startswith("Masks of 20 frames.")


def test_masks_have_the_coordinates_of_their_frames(followed, moving):
    scores = []
    for one, image, hidden in zip(followed, moving.images, moving.hidden, strict=True):
        assert one.mask.shape == one.judged.shape == image.shape[:2]
        assert one.background.shape == image.shape
        assert one.background.dtype == image.dtype
        if hidden.any():
            scores.append(f_measure(one.mask, hidden))
    # On the canvas, the last frames lie 18 px further to the right than the first.
    assert np.median(scores) > 0.85


def test_the_background_is_what_is_behind(found, still):
    background = np.stack([one.background for one in found])
    error = np.abs(background - 255 * still.scene).mean(axis=3)
    assert error[np.stack(still.hidden)].mean() < 6


def test_a_higher_sensitivity_finds_no_less(found, still):
    counts = [
        rf.foreground(still.images, camera="still", sensitivity=s).masks.sum() for s in (0.4, 2.5)
    ]
    assert counts[0] < found.masks.sum() < counts[1]


def test_small_pieces_are_left_out(found, still):
    few = rf.foreground(still.images, camera="still", min_area=60)
    for one, other in zip(found, few, strict=True):
        labels, count = ndimage.label(one.mask)
        sizes = ndimage.sum_labels(one.mask, labels, range(count + 1))
        np.testing.assert_array_equal(other.mask, one.mask & (sizes >= 60)[labels])
    assert few.masks.sum() < found.masks.sum()


def test_large_enough_counts_pixels():
    mask = np.zeros((6, 9), bool)
    mask[1, 1:4] = True
    mask[4:6, 5:8] = True
    np.testing.assert_array_equal(large_enough(mask, 3), mask)
    assert large_enough(mask, 4).sum() == 6
    assert not large_enough(mask, 7).any()


def shaded(still):
    """The still film with a shadow that wanders over the wall, and where it is."""
    images = []
    shadows = []
    for k, (image, hidden) in enumerate(zip(still.images, still.hidden, strict=True)):
        shadow = np.zeros(hidden.shape, bool)
        shadow[3:28, 5 * k : 5 * k + 22] = True
        shadow &= ~ndimage.binary_dilation(hidden, iterations=3)
        picture = image.astype(float)
        picture[shadow] *= 0.75
        images.append(np.rint(picture).astype(np.uint8))
        shadows.append(shadow)
    return images, shadows


def test_shadows_are_kept_or_dropped(still):
    images, shadows = shaded(still)
    kept = rf.foreground(images, camera="still").masks
    dropped = rf.foreground(images, camera="still", shadows="drop").masks
    inner = np.stack([ndimage.binary_erosion(shadow, iterations=5) for shadow in shadows])
    assert kept[inner].mean() > 0.6
    assert dropped[inner].mean() < 0.1
    # The people stay.
    assert dropped[np.stack(still.hidden)].mean() > 0.6


def test_a_thing_that_stands_still_for_long_is_reported(still):
    rng = np.random.default_rng(0)
    thing = rng.integers(120, 250, (16, 16, 3))
    images = [image.copy() for image in still.images]
    for image in images[:7]:
        image[2:18, 50:66] = thing
    ours = rf.foreground(images, camera="still")
    assert "two things are seen for long" in ours.sentence
    assert ours.two_faced[4:16, 52:64].mean() > 0.8
    assert repr(ours) == f"<Foreground of 12 frames: {ours.sentence}>"


def test_noise_is_that_of_the_frames(found):
    # Standard deviation .01 of 255 levels, and what is between the pixels.
    assert 1.5 < np.median(found.noise) < 8
    assert 0 <= found.often.min() <= found.often.max() <= 1


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"memory_limit": 351 * 10**6}])
def test_threads_and_disk_give_the_same_bits(found, still, tmp_path, options):
    again = rf.foreground(still.images, camera="still", scratch=tmp_path, **options)
    np.testing.assert_array_equal(found.masks, again.masks)
    np.testing.assert_array_equal(found.noise, again.noise)


def test_missing_pixels_are_not_judged(still):
    images = [np.array(image / 255, np.float32) for image in still.images]
    images[3][30:40, 20:30] = np.nan
    one = list(rf.foreground(images, camera="still"))[3]
    assert not one.judged[30:40, 20:30].any()
    assert not one.mask[30:40, 20:30].any()


def test_progress_ends_with_everything(still):
    steps = []
    rf.foreground(still.images, camera="still", progress=lambda *step: steps.append(step))
    assert steps[-1][0] == steps[-1][1] == len(steps)


class TestRefused:
    def test_frames_of_several_sizes(self, still):
        with pytest.raises(rf.InputError, match="image 3 differs in size from image 0; the frames"):
            rf.foreground([*still.images[:3], still.images[3][:50]], camera="still")

    def test_too_few_frames(self, still):
        with pytest.raises(
            rf.InputError, match="has 2 frames; masks of what moves need at least 3"
        ):
            rf.foreground(still.images[:2], camera="still")

    def test_an_unknown_camera(self, still):
        with pytest.raises(
            rf.InputError, match="unknown camera 'fixed'; choose one of auto, still"
        ):
            rf.foreground(still.images, camera="fixed")

    @pytest.mark.parametrize(
        ("option", "words"),
        [
            ({"sensitivity": 0}, "sensitivity=0 must be positive; 1 is the usual one"),
            ({"sensitivity": np.nan}, "sensitivity=nan must be positive"),
            ({"sensitivity": np.inf}, "sensitivity=inf must be"),
            ({"min_area": -1}, "min_area=-1 must be at least 0"),
            ({"shadows": "some"}, "unknown shadows 'some'; choose one of keep, drop"),
        ],
    )
    def test_numbers_without_meaning(self, still, option, words):
        with pytest.raises(rf.InputError, match=words):
            rf.foreground(still.images, camera="still", **option)


@pytest.fixture(scope="module")
def run(moving):
    return true_run(moving)


class TestMasksOfARun:
    def test_in_the_pixels_of_the_originals(self, run, moving):
        some = range(0, COUNT, 2)
        ours = run.of_some(some).mask([moving.images[k] for k in some])
        assert f_measure([one.mask for one in ours], [moving.hidden[k] for k in some]) >= 0.8
        assert ours.names == run.names[:10]

    def test_in_the_frame_without_them(self, run, moving):
        some = range(0, COUNT, 2)
        ours = run.of_some(some).mask()
        shape = run.frame.shape
        assert ours.masks.shape == (10, *shape)
        truth = [
            as_numpy_sees(hidden.astype(float), T, shape) > 0.5
            for hidden, T in [(moving.hidden[k], moving.transforms[k]) for k in some]
        ]
        assert f_measure(ours.masks, truth) >= 0.75

    def test_a_failed_picture_is_not_judged(self, run, moving):
        some = range(0, COUNT, 3)
        few = run.of_some(some).without(4)
        images = [moving.images[k] for k in some]
        ours = few.mask(images)
        one = list(ours)[4]
        assert not one.judged.any()
        assert not one.mask.any()
        np.testing.assert_array_equal(one.background, images[4])
        assert "1 of them could not be placed and are not judged." in ours.sentence

    def test_of_a_decomposition(self, still):
        result = rf.decompose(np.stack(still.images) / 255.0)
        ours = result.mask()
        assert f_measure(ours.masks, still.hidden) >= 0.8
        assert ours.names[0] == "picture 0"
