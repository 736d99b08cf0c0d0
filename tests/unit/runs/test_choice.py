"""Frame, start and reduction, before anything is read."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import Source
from rankfold.runs import choose, choose_as_they_lie, transforms_of


def source_of(*shapes):
    """Pictures of which only the sizes are known."""
    names = tuple(f"{k}.png" for k in range(len(shapes)))
    kinds = (np.dtype(np.uint8),) * len(shapes)
    return Source("photos", "pictures", names, shapes, kinds, iterate=lambda: iter(()))


class TestBySize:
    def test_the_frame_has_the_median_size(self):
        choice = choose(source_of((40, 60), (50, 64), (44, 200)))
        assert choice.frame.shape == (44, 64)
        assert choice.reduction == 1
        assert choice.init == "centred"

    def test_large_pictures_are_reduced(self):
        choice = choose(source_of(*[(600, 900)] * 5), init="identity")
        assert (choice.frame.shape, choice.reduction) == ((200, 300), 3)
        assert choice.init == "identity"
        assert choose(source_of(*[(600, 900)] * 5), reduction=2).frame.shape == (300, 450)

    def test_a_given_frame_spans_as_much_as_fits(self):
        choice = choose(source_of(*[(400, 900)] * 3), frame=(100, 100))
        assert (choice.frame.shape, choice.reduction) == ((100, 100), 4)
        assert choose(source_of(*[(40, 90)] * 3), frame=(100, 100)).reduction == 1

    def test_what_is_no_frame_is_refused(self):
        with pytest.raises(rf.InputError, match="at least 4x4"):
            choose(source_of((40, 60)), frame=(0, 10))


class TestPoints:
    def test_no_picture_is_needed_to_check_them(self, tmp_path):
        rows = ["frame,0,0,10,0", "0.png,0,0,30,0", "1.png,5,5,35,5"]
        (tmp_path / "p.csv").write_text("\n".join(rows))
        choice = choose(source_of((90, 90), (90, 90)), (30, 30), str(tmp_path / "p.csv"))
        np.testing.assert_allclose(choice.init[1], [[3, 0, 5], [0, 3, 5], [0, 0, 1]], atol=1e-12)
        assert choice.reduction == 3

    def test_points_that_give_no_transform_name_the_picture(self, tmp_path):
        rows = ["frame,0,0,1,0,0,1,1,1", "0.png,0,0,1,0,0,1,1,1", "1.png,0,0,1,1,2,2,3,3"]
        (tmp_path / "p.csv").write_text("\n".join(rows))
        source = source_of((90, 90), (90, 90))
        with pytest.raises(rf.InputError, match=r"start transform of 1\.png"):
            choose(source, None, str(tmp_path / "p.csv"), family="affine")


class TestEarlierRun:
    @pytest.fixture
    def source(self, heads, aligned):
        shapes = tuple(image.shape for image in heads.images)
        return replace(source_of(*shapes), names=aligned.names)

    def test_the_same_frame_gives_the_same_transforms(self, source, aligned, tmp_path):
        aligned.save(tmp_path / "run")
        choice = choose(source, init=str(tmp_path / "run"))
        assert choice.frame == aligned.frame
        np.testing.assert_allclose(choice.init, aligned.transforms, rtol=0, atol=1e-12)

    def test_a_finer_frame_shows_the_same(self, source, aligned):
        h, w = aligned.frame.shape
        finer = transforms_of(aligned, source, rf.Frame(2 * h, 2 * w), "run")
        ours = rf.families.map_points(finer, np.array([[0.5, 0.5]]))
        np.testing.assert_allclose(ours, aligned.apply_points([[0, 0]]), atol=1e-9)

    def test_pictures_are_found_by_name(self, source, aligned):
        backwards = replace(source, names=aligned.names[::-1])
        found = transforms_of(aligned, backwards, aligned.frame, "run")
        np.testing.assert_allclose(found, aligned.transforms[::-1], atol=1e-12)
        strange = replace(source, names=("x.png", *aligned.names[1:]))
        with pytest.raises(rf.InputError, match=r"no transform for x\.png"):
            transforms_of(aligned, strange, aligned.frame, "run")

    def test_a_decomposition_has_no_transforms(self, source, tmp_path):
        rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "run")
        with pytest.raises(rf.InputError, match="not an alignment"):
            choose(source, init=str(tmp_path / "run"))


class TestAsTheyLie:
    def test_the_frame_is_the_size_of_the_pictures(self):
        choice = choose_as_they_lie(source_of((40, 60), (40, 60)))
        assert (choice.frame.shape, choice.reduction, choice.init) == ((40, 60), 1, "identity")

    def test_much_is_reduced(self):
        many = source_of(*[(600, 800)] * 120)
        assert choose_as_they_lie(many).frame.shape == (300, 400)
        assert choose_as_they_lie(many, 4).frame.shape == (150, 200)

    def test_what_cannot_be_decomposed_is_refused(self):
        with pytest.raises(rf.InputError, match="2 different sizes; use align"):
            choose_as_they_lie(source_of((40, 60), (41, 60)))
        with pytest.raises(rf.InputError, match="one picture only"):
            choose_as_they_lie(source_of((40, 60)))
