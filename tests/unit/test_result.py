import csv
import json

import numpy as np
import pytest

import rankfold as rf
from rankfold import result as result_module
from rankfold.families import map_points


def assert_equal(one, two):
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(two, name)
        if isinstance(mine, rf.Trace):
            for part in ("inner", "outer"):
                assert getattr(mine, part).keys() == getattr(theirs, part).keys()
                for column, values in getattr(mine, part).items():
                    np.testing.assert_array_equal(values, getattr(theirs, part)[column])
        elif isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
        else:
            assert mine == theirs
            assert type(mine) is type(theirs)


def test_an_alignment_comes_back_from_disk_as_it_was(aligned, tmp_path):
    aligned.save(tmp_path / "run")
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["arrays.npz", "result.json"]
    assert_equal(aligned, rf.load(tmp_path / "run"))


def test_a_decomposition_comes_back_from_disk_as_it_was(tmp_path):
    parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
    parts.save(tmp_path / "parts")
    assert_equal(parts, rf.load(tmp_path / "parts"))


def test_apply_to_the_same_pictures_gives_the_aligned_ones(heads, aligned, tmp_path):
    np.testing.assert_allclose(aligned.apply(heads.images), aligned.aligned, atol=1e-12)
    aligned.save(tmp_path / "run")
    np.testing.assert_array_equal(
        rf.load(tmp_path / "run").apply(heads.images), aligned.apply(heads.images)
    )


def test_apply_to_colour_and_other_types(heads, aligned):
    colour = [
        (np.stack([image, 1 - image], axis=2) * 255).astype(np.uint8) for image in heads.images
    ]
    out = aligned.apply(colour)
    assert out.shape == (8, 45, 42, 2)
    np.testing.assert_allclose(np.nansum(out, axis=3)[aligned.valid], 254.5, atol=1.5)


def test_apply_at_other_resolutions_lands_on_the_same_spot():
    """A linear ramp says where every pixel came from."""
    rng = np.random.default_rng(1)
    images = rng.random((3, 40, 40))
    result = rf.align(images, method="rpca", frame=(20, 24))
    result = result_module.Alignment(
        **{
            **{f: getattr(result, f) for f in result.__dataclass_fields__},
            "transforms": np.stack([np.array([[1.1, -0.2, 9.0], [0.2, 1.1, 6.0], [0, 0, 1]])] * 3),
        }
    )
    for source_scale in (1, 2, 3):
        size = 40 * source_scale
        # value = x coordinate in units of the original picture's pixels
        ramp = np.tile((np.arange(size) + 0.5) / source_scale - 0.5, (size, 1))
        for scale in (1, 2):
            out = result.apply([ramp] * 3, scale=scale)
            assert out.shape == (3, 20 * scale, 24 * scale)
            y, x = np.mgrid[: 20 * scale, : 24 * scale]
            fine = (np.stack([x.ravel(), y.ravel()], axis=1) + 0.5) / scale - 0.5
            expected = map_points(result.transforms[0], fine)[:, 0].reshape(20 * scale, 24 * scale)
            seen = ~np.isnan(out[0])
            assert seen.mean() > 0.9
            inner = (
                seen & (expected > 4) & (expected < 35)
            )  # the mirrored spline flattens a ramp at its ends
            np.testing.assert_allclose(out[0][inner], expected[inner], atol=0.01)


def test_apply_refuses_what_does_not_fit(heads, aligned):
    with pytest.raises(rf.InputError, match="7 images for 8 transforms"):
        aligned.apply(heads.images[:7])
    with pytest.raises(rf.InputError, match="scale=0 must be positive"):
        aligned.apply(heads.images, scale=0)


def test_points_there_and_back(aligned, heads):
    there = aligned.apply_points(heads.points)
    assert there.shape == (8, 2, 2)
    np.testing.assert_allclose(there[3], map_points(aligned.transforms[3], heads.points))
    np.testing.assert_allclose(
        aligned.apply_points(there, to_frame=True), np.stack([heads.points] * 8), atol=1e-9
    )
    with pytest.raises(rf.InputError, match=r"points have shape \(3, 2, 2\)"):
        aligned.apply_points(np.zeros((3, 2, 2)))


def test_transforms_are_exported_with_every_digit(aligned, tmp_path):
    aligned.export_transforms(tmp_path / "t.json")
    table = json.loads((tmp_path / "t.json").read_text())
    assert [row["name"] for row in table["transforms"]] == list(aligned.names)
    np.testing.assert_array_equal(
        [row["matrix"] for row in table["transforms"]], aligned.transforms
    )
    aligned.export_transforms(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["name", "t00", "t01"]
    np.testing.assert_array_equal(
        np.array([r[1:] for r in rows[1:]], float).reshape(-1, 3, 3), aligned.transforms
    )
    with pytest.raises(rf.InputError, match=r"end it in .json or .csv"):
        aligned.export_transforms(tmp_path / "t.xml")


def test_scikit_image_warps_to_the_same_place(aligned, heads):
    transform = pytest.importorskip("skimage.transform")
    objects = aligned.to_skimage()
    assert {type(t).__name__ for t in objects} == {"SimilarityTransform"}
    points = np.random.default_rng(0).uniform(0, 40, (5, 2))
    for k, obj in enumerate(objects):
        np.testing.assert_allclose(
            obj(points), map_points(aligned.transforms[k], points), atol=1e-9
        )
    warped = transform.warp(heads.images[0], objects[0], output_shape=aligned.frame.shape, order=3)
    seen = aligned.valid[0]
    # not the same interpolation and no pre-blur: the same picture to a few percent
    assert np.corrcoef(warped[seen], aligned.aligned[0][seen])[0, 1] > 0.99
