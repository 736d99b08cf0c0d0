"""One clean picture, against the scene from which the pictures were made."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from placed import as_numpy_sees, in_grey, psnr, true_run
from rankfold.datasets import handheld
from rankfold.io import read_picture

SIZE = (120, 160)


@pytest.fixture(scope="module")
def walls():
    return handheld(10, SIZE)


@pytest.fixture(scope="module")
def run(walls):
    return true_run(walls)


@pytest.fixture(scope="module")
def plate(walls, run):
    return run.plate(walls.images, scale=1.0)


def medians(walls):
    """The median (h, w, 3) of the pictures in the frame, pixel by pixel."""
    seen = [as_numpy_sees(p, T, SIZE) for p, T in zip(walls.images, walls.transforms, strict=True)]
    return np.nanmedian(np.stack(seen)[:, 8:-8, 8:-8], axis=0)


def test_it_is_closer_to_the_scene_than_the_median(walls, plate):
    inner = np.zeros(SIZE, bool)
    inner[8:-8, 8:-8] = True
    ours = psnr(plate.picture, walls.scene, inner)
    plain = psnr(medians(walls), walls.scene[8:-8, 8:-8], np.ones((104, 144), bool))
    assert ours > plain + 3


def test_what_it_says_of_itself(walls, run, plate):
    assert plate.picture.dtype == np.uint8
    assert plate.picture.shape == (*SIZE, 3)
    assert plate.names == run.names
    assert plate.light == ""
    assert plate.valid.all()
    assert "A plate of 120 x 160 from 10 pictures." in plate.sentence
    assert repr(plate) == f"<Plate: {plate.sentence}>"
    assert plate.confidence.max() <= 1
    assert np.median(plate.confidence) > 0.6
    np.testing.assert_allclose(plate.transforms, walls.transforms, atol=1e-9)


def test_the_full_size_is_that_of_the_originals(walls, run):
    """The frame of a run is usually smaller than the pictures."""
    small = replace(
        run,
        aligned=run.aligned[:, ::2, ::2],
        low_rank=run.low_rank[:, ::2, ::2],
        transforms=run.transforms @ np.diag([2.0, 2.0, 1.0]),
        frame=rf.Frame(60, 80),
    )
    plate = small.plate(walls.images)
    assert plate.picture.shape[0] == pytest.approx(120, abs=2)
    # The grid ends where the frame of the run ends.
    height, width = plate.valid.shape
    corner = plate.transforms[3] @ [width - 0.5, height - 0.5, 1]
    expected = small.transforms[3] @ [79.5, 59.5, 1]
    np.testing.assert_allclose(corner[:2] / corner[2], expected[:2] / expected[2], atol=1e-9)


def test_sixteen_bits_stay_sixteen_bits(run, plate):
    deep = handheld(10, SIZE, np.uint16)
    ours = true_run(deep).plate(deep.images, scale=1.0).picture
    assert ours.dtype == np.uint16
    # The same but for rounding to eight bits.
    assert np.median(np.abs(ours / 257 - plate.picture)) <= 0.5
    assert len(np.unique(ours)) > 1000


def test_grey_stays_grey(walls):
    grey = in_grey(walls.images)
    ours = true_run(walls, grey).plate(grey, scale=1.0)
    assert ours.picture.shape == SIZE
    inner = np.zeros(SIZE, bool)
    inner[8:-8, 8:-8] = True
    assert psnr(ours.picture, walls.scene.mean(axis=2), inner) > 28


def test_floats_stay_floats_and_are_missing_where_nobody_looks(walls):
    floats = [np.array(image / 255, np.float32) for image in walls.images]
    for image in floats:
        image[:30] = np.nan
    ours = true_run(walls, floats).plate(floats, scale=1.0)
    assert ours.picture.dtype == np.float32
    assert not ours.valid[:15].any()
    assert ours.valid[50:].all()
    np.testing.assert_array_equal(np.isnan(ours.picture).any(axis=2), ~ours.valid)
    assert "is empty, because no picture shows it" in ours.sentence


@pytest.mark.parametrize("wanted", [2, "image 7"])
def test_it_has_the_exposure_of_a_picture(walls, run, wanted):
    ours = run.plate(walls.images, scale=1.0, light=wanted)
    k = 2 if wanted == 2 else 7
    assert ours.light == f"image {k}"
    expected = 255 * (walls.gains[k] * walls.scene + walls.offsets[k])
    assert ours.picture.mean() == pytest.approx(expected.mean(), rel=0.02)


@pytest.mark.parametrize("options", [{"n_jobs": 3}, {"memory_limit": 352 * 10**6}, {"n_jobs": 2}])
def test_threads_and_disk_give_the_same_bits(walls, run, plate, tmp_path, options):
    ours = run.plate(walls.images, scale=1.0, scratch=tmp_path, **options)
    for name in ("picture", "valid", "agreeing", "asked", "two_faced"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(plate, name))
    assert not list(tmp_path.iterdir())


def test_the_limit_of_the_test_above_goes_to_disk(walls, run, tmp_path, monkeypatch):
    from rankfold.outputs import means as module

    stores = []
    plain = module.store_for
    monkeypatch.setattr(module, "store_for", lambda *a: stores.append(plain(*a)) or stores[-1])
    run.plate(walls.images, scale=1.0, scratch=tmp_path, memory_limit=352 * 10**6)
    assert type(stores[0]).__name__ == "Disk"
    with pytest.raises(rf.InputError, match=r"needs at least 0.3. GiB"):
        run.plate(walls.images, memory_limit="100M")


def test_a_thing_that_stood_still_is_spoken_of(walls):
    images = [image.copy() for image in walls.images]
    # Of one colour, because it is drawn on whole pixels.
    thing = np.array([200, 190, 60])
    for image, T in list(zip(images, walls.transforms, strict=True))[:6]:
        x, y = (T @ [70, 40, 1])[:2] / (T @ [70, 40, 1])[2]
        image[round(y) : round(y) + 20, round(x) : round(x) + 20] = thing
    run = true_run(walls, images)
    # A thing that most pictures show is in their low-rank part too.
    run = replace(run, low_rank=np.where(run.valid[..., None], run.aligned, run.low_rank))
    ours = run.plate(images, scale=1.0)
    assert "it may be a thing that stood still" in ours.sentence
    assert ours.two_faced[42:58, 72:88].mean() > 0.5
    assert ours.two_faced[70:, :60].mean() < 0.1


def test_masked_pixels_have_no_say(walls, run):
    """The same where a picture is noise and where that noise is masked."""
    masks = [~hidden for hidden in walls.hidden]
    rng = np.random.default_rng(0)
    noisy = [image.copy() for image in walls.images]
    for image, hidden in zip(noisy, walls.hidden, strict=True):
        image[hidden] = rng.integers(0, 256, (hidden.sum(), 3))
    once = run.plate(walls.images, scale=1.0, masks=masks)
    again = run.plate(noisy, scale=1.0, masks=masks)
    np.testing.assert_array_equal(once.picture, again.picture)
    inner = np.zeros(SIZE, bool)
    inner[8:-8, 8:-8] = True
    assert psnr(once.picture, walls.scene, inner & once.valid) > 30


@pytest.mark.parametrize("area", ["common", "union"])
def test_other_areas(walls, run, area):
    ours = run.plate(walls.images, area=area)
    height, width = ours.valid.shape
    if area == "common":
        assert ours.valid[1:-1, 1:-1].all()
        assert height < 120
    else:
        assert width > 160


@pytest.mark.parametrize("size", [(65, 80), (60, 129)])
def test_any_size_will_do(size):
    """Parts in which the noise is looked at have 64 px; the last one may have a single row."""
    batch = handheld(4, size)
    ours = true_run(batch).plate(batch.images, scale=1.0)
    assert ours.valid.shape == size


def test_a_long_thin_picture_will_do():
    batch = handheld(4, (12, 400))
    ours = true_run(batch).plate(batch.images, scale=1.0)
    assert ours.valid.shape == (12, 400)


def test_progress_ends_with_everything(walls, run):
    steps = []
    run.plate(walls.images, scale=1.0, progress=lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert {total for _, total in steps} == {len(steps)}


class TestRefused:
    def test_another_count(self, walls, run):
        with pytest.raises(rf.InputError, match="has 9 pictures, the run 10 transforms; they must"):
            run.plate(walls.images[:9])

    def test_another_shape(self, walls, run):
        others = [image[:, :130] for image in walls.images]
        with pytest.raises(
            rf.InputError, match=r"image 0 is 120x130, but .* was .* is 120x160; give"
        ):
            run.plate(others)

    @pytest.mark.parametrize("light", [10, -1, "nobody"])
    def test_an_unknown_light(self, walls, run, light):
        with pytest.raises(rf.InputError, match=r"light=.* none of the pictures; .* from 0 to 9"):
            run.plate(walls.images, light=light)

    def test_the_light_of_a_failed_picture(self, walls, run):
        with pytest.raises(
            rf.InputError, match="image 3 did not find its place; take the light of"
        ):
            run.without(3).plate(walls.images, light=3)

    def test_a_run_of_failures(self, walls, run):
        failed = replace(run, failed=np.ones(10, bool))
        with pytest.raises(rf.InputError, match="no picture of the run found its place"):
            failed.plate(walls.images)

    def test_pictures_of_something_else_under_other_names(self, run):
        other = rf.io.in_memory(
            [np.random.default_rng(k).integers(0, 255, (*SIZE, 3), np.uint8) for k in range(10)],
            names=[f"other {k}" for k in range(10)],
        )
        with pytest.raises(
            rf.InputError, match="does not look like the pictures that were aligned"
        ):
            run.plate(other)

    def test_a_mixture_of_names(self, walls, run):
        names = ["somebody", *run.names[1:]]
        with pytest.raises(rf.InputError, match="somebody is not among the pictures of the run"):
            run.plate(rf.io.in_memory(walls.images, names=names))

    def test_masks_of_pictures_on_disk(self, walls, run):
        with pytest.raises(rf.InputError, match="masks go with pictures in memory"):
            run.plate(rf.io.in_memory(walls.images), masks=[~one for one in walls.hidden])

    def test_fewer_masks(self, walls, run):
        with pytest.raises(rf.InputError, match="2 masks for 10 images"):
            run.plate(walls.images, masks=[~one for one in walls.hidden[:2]])


class TestSaving:
    def test_the_file_is_the_picture(self, plate, tmp_path):
        plate.save(tmp_path / "plate.tif", tmp_path / "sure.png")
        np.testing.assert_array_equal(read_picture(tmp_path / "plate.tif"), plate.picture)
        sure = read_picture(tmp_path / "sure.png")
        np.testing.assert_allclose(sure, 255 * plate.confidence, atol=0.51)

    def test_nothing_is_replaced_unasked(self, plate, tmp_path):
        plate.save(tmp_path / "plate.png")
        with pytest.raises(rf.InputError, match="exists already"):
            plate.save(tmp_path / "plate.png")
        plate.save(tmp_path / "plate.png", overwrite=True)

    def test_a_confidence_that_is_there_stops_both(self, plate, tmp_path):
        (tmp_path / "sure.png").touch()
        with pytest.raises(rf.InputError, match=r"sure\.png exists already"):
            plate.save(tmp_path / "plate.png", tmp_path / "sure.png")
        assert not (tmp_path / "plate.png").exists()

    def test_plate_and_confidence_are_two_files(self, plate, tmp_path):
        with pytest.raises(rf.InputError):
            plate.save(tmp_path / "one.png", tmp_path / "one.png", overwrite=True)
