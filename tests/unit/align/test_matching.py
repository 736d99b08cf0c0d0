"""Matching finds the place of pictures that are far apart, or says that it did not."""

import builtins

import numpy as np
import pytest
from scipy import ndimage

from photographs import SHAPE, photograph, scene, tilted, turned, views, windows
from rankfold.align.matching import available, match
from rankfold.align.settings import AlignSettings
from rankfold.errors import InputError
from rankfold.families import FAMILIES, map_points
from rankfold.stack import Stack
from real_data import DATA, needs


@pytest.fixture
def cv2():
    return pytest.importorskip("cv2")


def errors(found, truth, box=60):
    """How far (n,) points in the middle of each picture are from where they should be, px."""
    height, width = SHAPE
    x = np.array([width / 2 - box, width / 2 + box])
    y = np.array([height / 2 - box, height / 2 + box])
    inner = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    home = np.linalg.inv(truth[found.reference])
    return np.array(
        [
            np.linalg.norm(map_points(T, map_points(home @ S, inner)) - inner, axis=1).max()
            for T, S in zip(found.transforms, truth, strict=True)
        ]
    )


class TestGood:
    def test_homographies_are_found(self, cv2):
        pictures, truth = views()
        found = match(pictures)
        assert found.reached.all()
        assert found.sentence == "all 5 pictures are linked"
        assert errors(found, truth).max() < 0.5
        assert found.residual.max() < 1.0
        assert found.groups == ((0, 1, 2, 3, 4),)
        assert np.array_equal(found.transforms[found.reference], np.eye(3))
        assert all(link.one < link.two and len(link) > 8 for link in found.links)
        assert "reference image" in repr(found)

    def test_it_tells_how_far_it_is(self, cv2):
        told = []
        pictures, _ = views()
        match(pictures, watch=lambda *words: told.append(words))
        assert told[:5] == [("keypoints", done, 5) for done in range(1, 6)]
        assert told[5:] == [("pairs", done, 10) for done in range(1, 11)]

    def test_the_reference_can_be_chosen(self, cv2):
        pictures, truth = views()
        stack = Stack.of(pictures, names=list("abcde"))
        found = match(stack, reference="e")
        assert found.reference == 4
        assert errors(found, truth).max() < 0.5
        assert match(stack, reference=4).reference == 4

    def test_reductions_refer_to_the_originals(self, cv2):
        pictures, truth = views()
        small = AlignSettings().changed({"matching.side": 120})
        assert errors(match(pictures, settings=small), truth).max() < 1.5

    @pytest.mark.parametrize("family", ["euclidean", "similarity", "affine", "homography"])
    def test_half_a_turn(self, cv2, family):
        truth = np.stack([turned(0), turned(180, offset=(300, 200)), turned(172)])
        found = match([photograph(scene(), T) for T in truth], family)
        assert found.reached.all()
        assert errors(found, truth).max() < 0.6
        assert all(FAMILIES[family].contains(T) for T in found.transforms)

    def test_translations(self, cv2):
        truth = np.stack([turned(0), turned(0, offset=(310, 225)), turned(0, offset=(240, 180))])
        found = match([photograph(scene(), T) for T in truth], "translation")
        assert errors(found, truth).max() < 0.3

    def test_exposure_and_colour_may_differ(self, cv2):
        pictures, truth = views()
        gains = [(0.2, 1.0, 0.4), (1.0, 0.7, 0.2), (0.5, 0.5, 0.5), (0.05, 0.1, 0.1), (1, 1, 0.1)]
        coloured = [p[..., None] ** 1.4 * np.array(g) for p, g in zip(pictures, gains, strict=True)]
        found = match(coloured)
        assert found.reached.all()
        assert errors(found, truth).max() < 0.6

    def test_missing_pixels_have_no_keypoints(self, cv2):
        pictures, truth = views()
        masks = []
        spoiled = []
        for picture in pictures:
            mask = np.ones(SHAPE, bool)
            mask[60:110, 80:150] = False
            masks.append(mask)
            # The same thing at the same place in all pictures would be a link of its own.
            spoiled.append(np.where(mask, picture, scene(9)[:180, :240]))
        found = match(spoiled, masks=masks)
        assert errors(found, truth).max() < 0.6
        for link in found.links:
            x, y = link.points_one.T
            # Nor next to them, where the edge of the mask looks like a thing.
            assert not ((x > 77) & (x < 152) & (y > 57) & (y < 112)).any()

    def test_the_same_bits_whatever_ran_before(self, cv2, monkeypatch):
        pictures, _ = views()
        calls = []
        monkeypatch.setattr(cv2, "getNumThreads", lambda: 5)
        monkeypatch.setattr(cv2, "setNumThreads", calls.append)
        first = match(pictures)
        # One thread for each picture, and back to what it was.
        assert calls == [1, 5] * len(pictures)
        cv2.setRNGSeed(7)
        np.random.seed(3)  # noqa: NPY002
        second = match(pictures)
        assert np.array_equal(first.transforms, second.transforms)
        for one, two in zip(first.links, second.links, strict=True):
            assert np.array_equal(one.points_one, two.points_one)


class TestBad:
    def test_no_keypoints_at_all(self, cv2):
        y, x = np.mgrid[:120, :160]
        sky = [0.5 + 0.2 * np.sin(x / 90 + k) + y / 500 for k in range(3)]
        found = match(sky)
        assert found.keypoints.tolist() == [0, 0, 0]
        assert found.sentence == "none of 3 pictures has enough in common with another"
        assert found.reached.tolist() == [True, False, False]
        assert np.isnan(found.transforms[1:]).all()
        assert np.isnan(found.residual).all()

    def test_two_scenes_are_named(self, cv2):
        one = views(4)[0]
        two = views(3, seed=1)[0]
        pictures = [one[0], two[0], one[1], two[1], one[2], two[2], one[3]]
        mixed = Stack.of(pictures, names=list("abcdefg"))
        found = match(mixed)
        assert found.groups == ((0, 2, 4, 6), (1, 3, 5))
        assert found.reached.tolist() == [True, False] * 3 + [True]
        assert found.sentence == (
            "the 7 pictures look like 2 scenes that have nothing in common: "
            "(1) a, c, e, g; (2) b, d, f"
        )

    def test_the_smaller_scene_can_be_asked_for(self, cv2):
        mixed = [*views(3)[0], *views(2, seed=1)[0]]
        found = match(mixed, reference=4)
        assert found.reached.tolist() == [False, False, False, True, True]

    def test_a_foreign_picture_does_no_harm(self, cv2):
        pictures, truth = views()
        foreign = photograph(scene(7), truth[0])
        alone = match(pictures)
        found = match([*pictures[:2], foreign, *pictures[2:]])
        assert found.reached.tolist() == [True, True, False, True, True, True]
        assert found.sentence == "5 of 6 pictures are linked; image 2 is not"
        others = np.delete(found.transforms, 2, axis=0)
        assert np.array_equal(others, alone.transforms)

    @pytest.mark.parametrize("family", ["affine", "homography"])
    def test_a_mirrored_picture_is_not_linked(self, cv2, family):
        truth = np.stack([turned(0), turned(4), turned(-3)])
        pictures = [photograph(scene(), T) for T in truth]
        pictures[1] = pictures[1][:, ::-1]
        assert match(pictures, family).reached.tolist() == [True, False, True]

    def test_a_symmetric_thing_is_not_mirrored(self, cv2):
        # A mirrored picture of a mirrored half: descriptors match, the transform must turn, not
        # mirror.
        half = scene()[:180, :120]
        whole = np.concatenate([half, half[:, ::-1]], axis=1)
        found = match([whole, whole[:, ::-1]], "homography")
        corners = np.array([[0, 0], [239, 0], [239, 179], [0, 179.0]])
        assert found.reached.all()
        assert np.abs(map_points(found.transforms[1], corners) - corners).max() < 1

    def test_bad_arguments(self, cv2):
        pictures, _ = views()
        with pytest.raises(InputError, match="no picture is called 'z'"):
            match(pictures, reference="z")
        with pytest.raises(InputError, match="there is no picture 5; use a name, or a number"):
            match(pictures, reference=5)
        for wrong in (True, 1.5):
            with pytest.raises(InputError, match="there is no picture"):
                match(pictures, reference=wrong)
        with pytest.raises(InputError, match="unknown family"):
            match(pictures, "quadric")

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (ModuleNotFoundError, r"OpenCV is not installed; run `pip install rankfold\[match\]`"),
            # A build for desktops on a server.
            (
                ImportError,
                r"OpenCV is installed but cannot be imported \(libGL\); run `pip install",
            ),
        ],
    )
    def test_opencv_is_missing(self, monkeypatch, error, said):
        ordinary = builtins.__import__

        def without(name, *rest):
            if name == "cv2":
                raise error("libGL")
            return ordinary(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(InputError, match=said):
            match([np.eye(8), np.eye(8)])
        assert not available()

    def test_opencv_is_too_old(self, cv2, monkeypatch):
        monkeypatch.delattr(cv2, "SIFT_create")
        with pytest.raises(InputError, match=r"has no SIFT; run `pip install rankfold"):
            match([np.eye(8), np.eye(8)])
        assert not available()


class TestRepeatedTexture:
    """Identical windows: a picture is placed rightly or not at all, never one window off."""

    @pytest.mark.parametrize("unique", [0.0, 0.005, 0.01, 0.03])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_nobody_jumps_by_a_window(self, cv2, unique, seed):
        rng = np.random.default_rng(seed)
        wall = windows(unique, seed)
        truth = np.stack([tilted(rng, wall, tilt=6) for _ in range(4)])
        noise = 0.01 * rng.standard_normal((4, *SHAPE))
        found = match([photograph(wall, T) + e for T, e in zip(truth, noise, strict=True)])
        assert errors(found, truth)[found.reached].max() < 3
        if unique >= 0.01:
            assert found.reached.all()
        if unique == 0:
            assert found.reached.sum() == 1

    def test_a_pasted_picture_is_no_scene(self, cv2):
        """The same thing in front of all pictures, with more texture than the scene behind."""
        pictures, truth = views()
        rng = np.random.default_rng(5)
        # Rectangles of a few px: many more keypoints than the scene has in as much room.
        pasted = ndimage.gaussian_filter(rng.random((30, 30)).repeat(3, 0).repeat(3, 1), 0.8)
        covered = []
        for picture in pictures:
            top, left = rng.integers(0, 85, 2)
            front = picture.copy()
            front[top : top + 90, left : left + 90] = pasted
            covered.append(front)
        found = match(covered)
        assert found.reached.all()
        assert errors(found, truth).max() < 0.6


class TestRealPhotographs:
    @needs("oxford_affine/graf")
    def test_graf(self, cv2):
        readers = pytest.importorskip("rankfold_lab.readers")
        plane = readers.read_oxford(DATA, "graf")
        found = match(plane.images)
        height, width = plane.images[0].shape[:2]
        corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1.0]])
        T = found.transforms @ np.linalg.inv(found.transforms[0])
        off = map_points(T, corners) - map_points(plane.homographies, corners)
        error = np.linalg.norm(off, axis=2).mean(axis=1)
        assert (error[1:] < [1.1, 1.5, 2.0, 2.5, 3.5]).all()

    @needs("windows", "windows_occluded")
    @pytest.mark.parametrize("kind", ["clean", "occluded"])
    def test_windows(self, cv2, kind):
        readers = pytest.importorskip("rankfold_lab.readers")
        windows = readers.read_windows(DATA)
        # Every third picture, to be quick.
        pictures = getattr(windows, kind)[1::3]
        points = windows.points.sources[1::3]
        found = match(pictures)
        assert found.reached.all()
        home = points[found.reference]
        off = np.linalg.norm(map_points(found.transforms, home) - points, axis=2).max(axis=1)
        # A window is 300 px wide; two clicks differ by up to 20.
        assert off.max() < 30
