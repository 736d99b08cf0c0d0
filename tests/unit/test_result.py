"""Results: save, load, apply, export; and folders that an earlier version wrote."""

import csv
import json
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold import result as result_module
from rankfold.families import map_points

# Written by version 0.1.
DATA = Path(__file__).parents[1] / "data"


def assert_equal(one, two):
    for name in (field.name for field in fields(one)):
        mine, theirs = getattr(one, name), getattr(two, name)
        if isinstance(mine, rf.Trace):
            for part in ("inner", "outer", "stages", "routes", "matching"):
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
    written = sorted(p.name for p in (tmp_path / "run").iterdir())
    assert written == [".rankfold", "arrays.npz", "result.json"]
    assert_equal(aligned, rf.load(tmp_path / "run"))


def test_a_decomposition_comes_back_from_disk_as_it_was(tmp_path):
    parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
    parts.save(tmp_path / "parts")
    assert_equal(parts, rf.load(tmp_path / "parts"))


def test_the_sparse_part_of_an_alignment_is_what_the_low_rank_one_leaves(aligned):
    seen = aligned.valid
    rest = aligned.aligned - aligned.low_rank
    np.testing.assert_array_equal(aligned.sparse[seen], rest[seen])
    assert not aligned.sparse[~seen].any()


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
            **{field.name: getattr(result, field.name) for field in fields(result)},
            "transforms": np.stack([np.array([[1.1, -0.2, 9.0], [0.2, 1.1, 6.0], [0, 0, 1]])] * 3),
        }
    )
    for source_scale in (1, 2, 3):
        size = 40 * source_scale
        # The value is the x coordinate in units of the original picture's pixels.
        ramp = np.tile((np.arange(size) + 0.5) / source_scale - 0.5, (size, 1))
        for scale in (1, 2):
            out = result.apply([ramp] * 3, scale=scale)
            assert out.shape == (3, 20 * scale, 24 * scale)
            y, x = np.mgrid[: 20 * scale, : 24 * scale]
            fine = (np.stack([x.ravel(), y.ravel()], axis=1) + 0.5) / scale - 0.5
            expected = map_points(result.transforms[0], fine)[:, 0].reshape(20 * scale, 24 * scale)
            seen = ~np.isnan(out[0])
            assert seen.mean() > 0.9
            # The mirrored spline flattens a ramp at its ends.
            inner = seen & (expected > 4) & (expected < 35)
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


@pytest.mark.parametrize("scale", [-1, 0, np.nan, np.inf, "2", None, True, 1e30])
def test_a_scale_is_a_positive_number(heads, aligned, scale):
    with pytest.raises(rf.InputError, match="scale="):
        aligned.apply_one(0, heads.images[0], scale=scale)


@pytest.mark.parametrize("shape", [3, (40,), (40.5, 30), "ab", (2, 30), (10**9, 10**9)])
def test_a_shape_is_height_and_width(heads, aligned, shape):
    with pytest.raises(rf.InputError, match=r"shape=.* is not a size|frame \d+x\d+ "):
        aligned.apply_one(0, heads.images[0], shape=shape)


def test_one_picture_is_chosen_by_a_whole_number(heads, aligned):
    last = aligned.apply_one(7, heads.images[7])
    np.testing.assert_array_equal(aligned.apply_one(-1, heads.images[7]), last)
    np.testing.assert_array_equal(aligned.apply_one(np.int64(7), heads.images[7]), last)
    for index in (8, -9):
        with pytest.raises(rf.InputError, match="is no picture; give a number from 0 to 7"):
            aligned.apply_one(index, heads.images[7])
    for index in (1.0, "image 0", True, None):
        with pytest.raises(rf.InputError, match="is not a whole number"):
            aligned.apply_one(index, heads.images[7])
    with pytest.raises(rf.InputError, match="which=1 is no picture"):
        aligned.apply_one(0, heads.images[7], which=1)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1, 2], [3]], "points is no array of numbers"),
        ([["a", "b"]], "points have shape .* and type <U1"),
        (np.ones((2, 2)) * 1j, "type complex128"),
        (3, r"points have shape \(\)"),
        ([[np.inf, 0.0]], "a point lands at infinity, or lies there"),
        ([[1e308, 1e308]], "a point lands at infinity, or lies there"),
    ],
)
def test_what_are_no_points_gets_a_sentence(aligned, points, message):
    with pytest.raises(rf.InputError, match=message):
        aligned.apply_points(points)


def test_a_point_that_is_not_known_stays_so(aligned):
    points = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    found = aligned.apply_points(points)
    assert np.isnan(found[:, 1]).all()
    np.testing.assert_array_equal(found[:, [0, 2]], aligned.apply_points(points[[0, 2]]))
    masked = np.ma.masked_array([[1, 2], [7, 3], [4, 5]], [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(aligned.apply_points(masked), found)


@pytest.mark.parametrize("path", [3, None, b"a.json", "", "a\0.json"])
def test_transforms_are_exported_to_a_path(aligned, path):
    with pytest.raises(rf.InputError, match="is no path; give one as text, or a Path"):
        aligned.export_transforms(path)


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
    # Not the same interpolation and no pre-blur: the same picture to a few percent.
    assert np.corrcoef(warped[seen], aligned.aligned[0][seen])[0, 1] > 0.99


class TestOverwriting:
    def test_a_folder_is_not_replaced_by_accident(self, aligned, tmp_path):
        aligned.save(tmp_path / "run")
        with pytest.raises(rf.InputError, match=r"run exists already; choose another name, or"):
            aligned.save(tmp_path / "run")
        assert_equal(aligned, rf.load(tmp_path / "run"))

    def test_it_is_replaced_where_that_is_asked_for(self, aligned, tmp_path):
        parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
        aligned.save(tmp_path / "run")
        parts.save(tmp_path / "run", overwrite=True)
        assert_equal(parts, rf.load(tmp_path / "run"))
        assert [path.name for path in tmp_path.iterdir()] == ["run"]


class TestOlderFolders:
    def test_an_alignment_of_version_0_1(self):
        result = rf.load(DATA / "alignment-0.1")
        assert isinstance(result, rf.Alignment)
        assert result.method == "meadmm"
        assert result.frame.shape == (16, 15)
        assert result.names == tuple(f"image {k}" for k in range(5))
        assert result.status is rf.Status.CONVERGED
        assert list(result.trace.stages) == ["features", "rescue", "pixels"]
        np.testing.assert_allclose(
            (result.low_rank + result.sparse)[result.valid],
            result.aligned[result.valid],
            atol=1e-4,
        )
        # What was added later has its default.
        assert result.version == "0.1.0"
        assert result.options == {}
        assert result.settings == {}
        assert result.advice == ""
        assert result.base is None

    def test_who_failed_in_version_0_1_has_failed(self, tmp_path):
        folder = tmp_path / "earlier"
        shutil.copytree(DATA / "alignment-0.1", folder)
        with np.load(folder / "arrays.npz") as stored:
            arrays = {key: stored[key] for key in stored.files}
        assert "verdicts" not in arrays
        arrays["failed"] = np.arange(5) == 3
        np.savez(folder / "arrays.npz", **arrays)
        result = rf.load(folder)
        assert result.verdicts.tolist() == ["placed"] * 3 + ["failed", "placed"]
        assert result.verdict == "partial"
        np.testing.assert_array_equal(result.lost, [0, 0, 0, 1, 0])
        assert np.isnan(result.confirmed).all()
        assert rf.load(DATA / "alignment-0.1").verdict == "good"

    def test_a_decomposition_of_version_0_1(self):
        parts = rf.load(DATA / "decomposition-0.1")
        assert isinstance(parts, rf.Decomposition)
        assert parts.low_rank.shape == (6, 20)
        assert parts.rank == 1
        assert parts.version == "0.1.0"

    def test_a_run_of_version_0_1(self):
        result = rf.load(DATA / "run-0.1")
        assert isinstance(result, rf.Alignment)
        assert result.names[0] == "000.png"
        assert result.options == {}

    @pytest.mark.parametrize("name", ["alignment-0.1", "decomposition-0.1", "run-0.1"])
    def test_what_was_loaded_can_be_saved_again(self, name, tmp_path):
        result = rf.load(DATA / name)
        result.save(tmp_path / "again")
        assert_equal(result, rf.load(tmp_path / "again"))


class TestNewerFolders:
    @pytest.mark.parametrize("name", ["alignment-0.1", "decomposition-0.1"])
    def test_a_field_that_is_not_known_is_left_out(self, name, tmp_path):
        folder = tmp_path / "later"
        shutil.copytree(DATA / name, folder)
        facts = json.loads((folder / "result.json").read_text())
        (folder / "result.json").write_text(json.dumps({**facts, "flavour": "salty"}))
        with np.load(folder / "arrays.npz") as stored:
            arrays = {key: stored[key] for key in stored.files}
        np.savez(folder / "arrays.npz", **arrays, colours=np.zeros(3))
        loaded = rf.load(folder)
        assert_equal(rf.load(DATA / name), loaded)
        assert not hasattr(loaded, "flavour")

    def test_a_part_of_the_trace_that_is_not_known_is_left_out(self, tmp_path):
        folder = tmp_path / "later"
        shutil.copytree(DATA / "alignment-0.1", folder)
        with np.load(folder / "arrays.npz") as stored:
            arrays = {key: stored[key] for key in stored.files}
        arrays["trace.bands.seconds"] = np.zeros(3)
        np.savez(folder / "arrays.npz", **arrays)
        assert_equal(rf.load(DATA / "alignment-0.1"), rf.load(folder))

    def test_one_that_lacks_a_part_is_refused(self, tmp_path):
        folder = tmp_path / "broken"
        shutil.copytree(DATA / "alignment-0.1", folder)
        facts = json.loads((folder / "result.json").read_text())
        del facts["stop_rule"]
        (folder / "result.json").write_text(json.dumps(facts))
        with pytest.raises(rf.FormatError, match=r"lacks a part of its result .*compute it again"):
            rf.load(folder)


class TestRepr:
    def test_an_alignment_has_at_most_five_lines(self, aligned):
        lines = repr(aligned).splitlines()
        assert len(lines) <= 5
        assert max(len(line) for line in lines) <= 120
        assert lines[0] == "<Alignment of 8 pictures by rasl, similarity>"
        assert "frame 45x42" in lines[1]
        assert lines[2].strip() == aligned.outcome
        assert lines[-1].strip() == aligned.status.value

    def test_it_names_the_pictures_that_are_doubtful_or_failed(self, aligned):
        words = np.array(["placed"] * 4 + ["doubtful"] + ["failed"] * 3)
        some = replace(aligned, verdicts=words, verdict="partial")
        assert len(repr(some).splitlines()) <= 5
        assert (
            "4 of 8 pictures found their place; doubtful: image 4; "
            "failed: image 5, image 6, image 7."
        ) in repr(some)

    def test_a_decomposition_has_at_most_five_lines(self):
        parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
        lines = repr(parts).splitlines()
        assert len(lines) <= 5
        assert lines[0] == "<Decomposition of 8 x 30 by rpca>"
        assert f"rank {parts.rank}" in lines[1]

    def test_a_gap_that_is_known_is_said_after_the_objective(self, aligned):
        parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
        for one in (aligned, parts):
            known = repr(replace(one, gap=8.4e-5)).splitlines()[1]
            assert known.endswith(f"{one.objective:.6g} (at most 8e-05 of it above the optimum)")
            unknown = repr(replace(one, gap=None)).splitlines()[1]
            assert unknown.endswith(f"{one.objective:.6g}")


class TestVerdicts:
    def test_words_numbers_and_flags_say_the_same(self, aligned):
        assert {*aligned.verdicts} <= {"placed", "doubtful", "failed"}
        assert aligned.verdicts.shape == aligned.lost.shape == aligned.confirmed.shape == (8,)
        np.testing.assert_array_equal(aligned.failed, aligned.verdicts == "failed")
        np.testing.assert_array_equal(aligned.doubtful, aligned.verdicts == "doubtful")
        order = np.argsort(aligned.confirmed)
        assert (np.diff(aligned.lost[order]) <= 0).all()

    def test_the_outcome_is_that_of_the_verdicts(self, aligned):
        words = np.array(["placed"] * 7 + ["failed"])
        some = replace(aligned, verdicts=words, verdict="partial")
        assert some.outcome == "7 of 8 pictures found their place; failed: image 7."
        np.testing.assert_array_equal(np.flatnonzero(some.failed), [7])
        assert not some.doubtful.any()

    def test_what_comes_back_from_disk_has_them_and_the_routes(self, heads, tmp_path):
        result = rf.align(heads.images, frame=heads.frame, init=heads.start, start="pyramid")
        assert result.trace.routes["route"].tolist() == ["pyramid"]
        result.save(tmp_path / "run")
        again = rf.load(tmp_path / "run")
        assert_equal(result, again)
        assert again.outcome == result.outcome
        assert again.advice == result.advice


class TestBase:
    def test_pictures_are_prepared_for_where_matching_found_them(self, aligned):
        """The blur against aliasing is that of the base, not that of the start."""
        np.testing.assert_allclose(aligned.base, aligned.start, atol=1e-12)
        rng = np.random.default_rng(0)
        pictures = [rng.random(shape) for shape in aligned.source_shapes]
        zoomed = aligned.base @ np.diag([3.0, 3.0, 1.0])
        elsewhere = replace(aligned, base=zoomed).apply(pictures)
        here = aligned.apply(pictures)
        assert np.nanstd(elsewhere) < 0.7 * np.nanstd(here)
        without = replace(aligned, base=None)
        np.testing.assert_allclose(without.apply(pictures), here, atol=1e-9)


def test_both_kinds_carry_the_version_that_made_them(aligned):
    parts = rf.decompose(np.random.default_rng(0).random((8, 30)))
    assert aligned.version == parts.version == rf.__version__
