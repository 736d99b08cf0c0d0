"""Pictures that cannot be aligned, or not all of them: a clear outcome, and no harm to the rest."""

import numpy as np
import pytest

import rankfold as rf
from photographs import SHAPE, photograph, scene, turned, views, windows
from rankfold.families import map_points

pytest.importorskip("cv2")

# A third of a picture's sides, so that no picture leaves it.
FRAME = rf.Frame(60, 80)


def errors(result, truth):
    """How far (n,) each picture is off where most lie, px of the wall.

    ``truth`` (n, 3, 3) maps the pictures to the wall; points of the frame are looked up there.
    """
    inner = (result.frame.corners + result.frame.centre) / 2
    there = map_points(truth @ result.transforms, inner)  # n x 4 x 2
    return np.linalg.norm(there - np.median(there, axis=0), axis=2).max(axis=1)


def nearby(count, seed=3):
    """Maps (n, 3, 3) to a wall that differ by a few degrees and some px."""
    rng = np.random.default_rng(seed)
    maps = []
    for _ in range(count):
        place = rng.normal((280, 210), 6)
        maps.append(turned(rng.normal(0, 2), offset=place))
    return np.stack(maps)


def photographs_of(wall, truth):
    return [photograph(wall, T) for T in truth]


class TestNothingToSee:
    @pytest.mark.parametrize("start", ["match", "auto"])
    def test_pictures_of_the_sky(self, start):
        y, x = np.mgrid[:140, :160]
        sky = [0.5 + 0.2 * np.sin(x / 90 + k) + y / 500 for k in range(4)]
        result = rf.align(sky, frame=(64, 64), start=start)
        assert result.verdict == "failed"
        assert not (result.verdicts == "placed").any()
        assert result.outcome.startswith("The alignment failed")
        assert result.advice
        assert result.lost.min() >= 0.5
        assert np.isfinite(result.transforms).all()
        # Matching was tried, and reached nothing but its own start.
        assert result.trace.matching["reached"].tolist() == [True, False, False, False]
        assert len(result.trace.matching["links"]) == 0

    def test_noise(self):
        result = rf.align(np.random.default_rng(0).random((6, 140, 140)), frame=(60, 60))
        assert result.verdict == "failed"
        assert not (result.verdicts == "placed").any()


class TestRepeatedTexture:
    """Identical windows, 66 px wide and 80 px high."""

    @staticmethod
    def batch(unique, seed, apart):
        """Pictures whose middles are up to ``apart`` px away from the middle of all."""
        rng = np.random.default_rng(seed)
        wall = windows(unique, seed)
        height, width = SHAPE
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], float)
        middle = np.array([177.0, 150.0])
        truth = []
        for _ in range(6):
            place = middle + rng.uniform(-apart, apart, 2)
            moved = corners + place + rng.normal(0, 3, (4, 2))
            truth.append(rf.FAMILIES["homography"].fit(corners, moved))
        noise = 0.01 * rng.standard_normal((6, *SHAPE))
        pictures = [photograph(wall, T) + e for T, e in zip(truth, noise, strict=True)]
        return pictures, np.stack(truth)

    @pytest.mark.parametrize("start", ["auto", "match"])
    def test_a_faint_stain_is_enough_not_to_jump_by_a_window(self, start):
        pictures, truth = self.batch(unique=0.01, seed=0, apart=70)
        words = {"family": "homography", "frame": (90, 120), "start": start}
        result = rf.align(pictures, **words)
        assert result.verdict == "good"
        assert errors(result, truth).max() < 0.5

    @pytest.mark.parametrize("seed", [0, 1])
    def test_without_a_stain_nobody_jumps_from_a_start_that_is_less_than_half_a_window_off(
        self, seed
    ):
        """Matching sees that it cannot tell, and leaves it to the other starts."""
        pictures, truth = self.batch(unique=0.0, seed=seed, apart=12)
        result = rf.align(pictures, family="homography", frame=(90, 120))
        assert result.trace.matching["reached"].sum() == 1
        assert result.verdict == "good"
        assert errors(result, truth).max() < 0.5


def test_two_scenes_are_named_and_the_larger_one_is_aligned():
    one, truth = views(5)
    two, _ = views(4, seed=1)
    mixed = [one[0], two[0], one[1], two[1], one[2], two[2], one[3], two[3], one[4]]
    stack = rf.Stack.of(mixed, names=list("abcdefghi"))
    result = rf.align(stack, family="homography", frame=FRAME)
    assert result.verdict == "partial"
    assert np.array(result.names)[result.failed].tolist() == ["b", "d", "f", "h"]
    assert result.advice == (
        "matching: the 9 pictures look like 2 scenes that have nothing in common: "
        "(1) a, c, e, g, i; (2) b, d, f, h"
    )
    there = truth @ result.transforms[::2]
    inner = (FRAME.corners + FRAME.centre) / 2
    assert np.ptp(map_points(there, inner), axis=0).max() < 0.5


def test_one_foreign_picture_among_twenty_fails_and_the_others_are_unharmed():
    truth = nearby(20)
    pictures = photographs_of(scene(), truth)
    pictures[7] = photograph(scene(7), truth[7])
    result = rf.align(pictures, frame=FRAME, start="match")
    assert np.flatnonzero(result.verdicts != "placed").tolist() == [7]
    assert result.failed[7]
    assert result.verdict == "partial"
    assert result.outcome == "19 of 20 pictures found their place; failed: image 7."
    assert result.advice == "matching: 19 of 20 pictures are linked; image 7 is not"
    others = np.delete(errors(result, truth), 7)
    assert others.max() < 0.1


@pytest.mark.parametrize("family", ["similarity", "homography"])
def test_a_mirrored_picture_is_not_placed(family):
    truth = nearby(8)
    pictures = photographs_of(scene(), truth)
    pictures[3] = pictures[3][:, ::-1].copy()
    result = rf.align(pictures, family=family, frame=FRAME)
    assert np.flatnonzero(result.verdicts != "placed").tolist() == [3]
    assert result.lost[3] > 0.8
    assert "image 3" in result.outcome
    assert "image 3 is not" in result.advice
    assert np.delete(errors(result, truth), 3).max() < 0.1


@pytest.mark.parametrize("family", ["similarity", "homography"])
@pytest.mark.parametrize("start", ["auto", "match"])
def test_a_picture_upside_down_is_found(family, start):
    truth = nearby(8)
    half_a_turn = turned(0) @ np.linalg.inv(turned(180))
    truth[3] = half_a_turn @ truth[3]
    pictures = photographs_of(scene(), truth)
    result = rf.align(pictures, family=family, frame=FRAME, start=start)
    assert result.verdict == "good"
    assert errors(result, truth).max() < 0.1
    kept = result.trace.routes["route"][result.trace.routes["kept"]]
    assert kept.tolist() == ["match"]


def test_a_picture_upside_down_is_lost_without_matching():
    """What the tests above show is due to matching."""
    truth = nearby(8)
    half_a_turn = turned(0) @ np.linalg.inv(turned(180))
    truth[3] = half_a_turn @ truth[3]
    result = rf.align(photographs_of(scene(), truth), frame=FRAME, start="given")
    assert errors(result, truth)[3] > 20
    assert result.verdicts[3] != "placed"
