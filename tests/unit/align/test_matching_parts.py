"""The parts of matching, each on points and graphs whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

from rankfold.align.matching import View, view_of
from rankfold.align.matching.candidates import candidates
from rankfold.align.matching.consensus import consensus, distances
from rankfold.align.matching.cycles import without_contradictions
from rankfold.align.matching.graph import along_tree, groups_of, most_seen
from rankfold.align.matching.keypoints import Keypoints
from rankfold.align.matching.pairs import Pair, compare
from rankfold.align.matching.placing import place, residuals
from rankfold.align.matching.refine import (
    Shared,
    Sizes,
    _cost,
    _normal_equations,
    refine,
    well_spread,
)
from rankfold.align.matching.result import Matches
from rankfold.align.matching.solvers import SOLVERS
from rankfold.align.matching.tentative import Tentative, alike
from rankfold.align.settings import MatchSettings
from rankfold.families import FAMILIES, inverse, map_points, shift

NUMBERS = MatchSettings()
EXTENT = np.array([800.0, 600.0])
CORNERS = np.array([[0, 0], [799, 0], [799, 599], [0, 599.0]])

# One member of each family that moves everything well apart.
MEMBERS = {
    "translation": np.array([40.0, -25.0]),
    "euclidean": np.array([0.7, 300.0, -60.0]),
    "similarity": np.array([1.6, -0.4, 20.0, 90.0]),
    "affine": np.array([0.9, 0.3, 30.0, -0.2, 1.2, 60.0]),
    "homography": np.array([0.9, 0.2, 30.0, -0.1, 1.1, 40.0, 2e-4, -3e-4]),
}


def random_points(count, seed=0):
    return np.random.default_rng(seed).uniform(20, [780, 580], (count, 2))


def pair_of(one, two, matrix, count=60, seed=0):
    """A link whose matches are exact."""
    points = random_points(count, seed)
    mapped = map_points(matrix, points)
    among = Tentative(points, mapped, EXTENT, EXTENT)
    return Pair(one, two, matrix, points, mapped, among)


def sizes_of(count):
    return Sizes(np.tile(EXTENT, (count, 1)), np.ones(count))


def keypoints_at(points, descriptors):
    return Keypoints(points, descriptors.astype(np.float32), EXTENT, 1)


class TestViews:
    def test_long_pictures_are_reduced_by_whole_numbers(self):
        picture = np.random.default_rng(0).random((1201, 2100))
        view = view_of(picture, np.ones((1201, 2100), bool), reduction_so_far=2)
        assert view.pixels.shape == (400, 700)
        assert view.reduction == 6
        assert view.pixels.dtype == np.uint8
        # Edges are shared: the middle of the first pixel is that of its 6 x 6 square.
        assert view.to_original(np.zeros((1, 2))).tolist() == [[2.5, 2.5]]
        assert view.extent.tolist() == [4200, 2400]

    def test_exposure_does_not_matter(self):
        picture = np.random.default_rng(0).random((50, 60))
        valid = np.ones((50, 60), bool)
        bright = view_of(picture, valid)
        dark = view_of(0.03 * picture + 0.4, valid)
        assert np.abs(bright.pixels.astype(int) - dark.pixels).max() <= 1
        assert bright.pixels.min() == 0
        assert bright.pixels.max() == 255

    def test_missing_pixels_have_the_median(self):
        picture = np.random.default_rng(0).random((50, 60))
        valid = np.ones((50, 60), bool)
        valid[:20] = False
        picture[:20] = np.nan
        view = view_of(picture, valid)
        middle = np.median(view.pixels[20:])
        assert np.abs(view.pixels[:20] - middle).max() <= 1

    def test_colour_flat_and_nothing(self):
        valid = np.ones((8, 9), bool)
        assert view_of(np.ones((8, 9, 3)), valid).pixels.max() == 0
        assert view_of(np.ones((8, 9, 2)), ~valid).pixels.max() == 0
        assert view_of(np.ones((2, 4000)), np.ones((2, 4000), bool)).pixels.shape == (1, 2000)
        assert isinstance(view_of(np.ones((8, 9)), valid), View)


class TestConsensus:
    @pytest.mark.parametrize("name", FAMILIES)
    def test_the_smallest_sample_determines_a_member(self, name):
        family = FAMILIES[name]
        truth = family.matrix(MEMBERS[name])
        a = random_points(10 * family.min_points).reshape(10, -1, 2) / 400 - 1
        b = map_points(truth, a)
        found = SOLVERS[name](a, b)
        np.testing.assert_allclose(map_points(found, a), b, atol=1e-7)

    @pytest.mark.parametrize("name", FAMILIES)
    def test_most_matches_are_wrong(self, name):
        family = FAMILIES[name]
        truth = family.matrix(MEMBERS[name])
        rng = np.random.default_rng(1)
        a = random_points(200)
        b = map_points(truth, a) + rng.normal(0, 0.5, a.shape)
        wrong = rng.permutation(200)[:120]
        b[wrong] = random_points(120, seed=2)
        found = consensus(family, a, b, 3.0, NUMBERS)
        assert np.abs(map_points(found.matrix, CORNERS) - map_points(truth, CORNERS)).max() < 3
        assert found.inliers.sum() >= 75
        assert family.contains(found.matrix)

    def test_too_few_and_all_the_same(self):
        family = FAMILIES["homography"]
        assert consensus(family, np.zeros((3, 2)), np.zeros((3, 2)), 3.0, NUMBERS) is None
        assert consensus(family, np.zeros((9, 2)), np.zeros((9, 2)), 3.0, NUMBERS) is None

    def test_a_mirror_is_not_found(self):
        a = random_points(50)
        b = a * [-1, 1] + [800, 0]
        found = consensus(FAMILIES["homography"], a, b, 3.0, NUMBERS)
        assert found is None or found.inliers.sum() < 10

    def test_points_beyond_the_horizon_are_infinitely_far(self):
        H = np.array([[1, 0, 0], [0, 1, 0], [-1 / 400, 0, 1.0]])
        points = np.array([[10.0, 10.0], [20.0, 30.0], [50.0, 10.0], [700.0, 10.0]])
        far = distances(H[None], points, map_points(H, points))[0]
        assert far[:3].max() < 1e-6
        assert np.isinf(far[3])
        # The sign and scale of the matrix do not matter.
        np.testing.assert_array_equal(np.isinf(distances(-3 * H[None], points, points)[0]), far > 1)


class TestPairs:
    @staticmethod
    def described(count, seed=0):
        rng = np.random.default_rng(seed)
        raw = rng.random((count, 128)) ** 3
        return np.rint(512 * raw / np.linalg.norm(raw, axis=1, keepdims=True))

    def test_alike_is_mutual_distinctive_and_once(self):
        descriptors = self.described(40)
        points = random_points(40)
        order = np.random.default_rng(3).permutation(40)
        found = alike(keypoints_at(points, descriptors), keypoints_at(points, descriptors), 0.8)
        assert len(found) == 40
        two = keypoints_at(points[order] + 5, descriptors[order])
        found = alike(keypoints_at(points, descriptors), two, 0.8)
        np.testing.assert_allclose(found.two, found.one + 5)
        # What looks the same at two places is no match.
        double = np.concatenate([descriptors, descriptors[:10]])
        places = np.concatenate([points, random_points(10, seed=4)])
        found = alike(keypoints_at(points, descriptors), keypoints_at(places, double), 0.8)
        assert len(found) == 30
        # The same place with two orientations counts once.
        both = keypoints_at(np.concatenate([points] * 2), self.described(80))
        assert len(alike(both, both, 0.8)) == 40

    def compared(self, one, two, family="homography"):
        descriptors = self.described(len(one))
        return compare(
            (0, 1),
            keypoints_at(one, descriptors),
            keypoints_at(two, descriptors),
            FAMILIES[family],
            NUMBERS,
        )

    def test_two_transforms_at_the_same_places_are_ambiguous(self):
        a = random_points(200)
        b = a + 40.0
        assert self.compared(a, b).strength == 200
        # Every other match is one window further.
        b[::2] += [90, 0]
        assert self.compared(a, b) is None

    def test_two_transforms_at_different_places_are_a_scene_and_something_else(self):
        a = random_points(200)
        b = a + 40.0
        left = a[:, 0] < 330
        b[left] += [90, 0]
        assert 0.5 < left.sum() / (~left).sum() < 0.8
        found = self.compared(a, b)
        np.testing.assert_allclose(map_points(found.matrix, CORNERS), CORNERS + 40, atol=1e-6)

    def test_many_matches_in_a_small_spot_are_not_the_scene(self):
        scene = random_points(60)
        spot = 200 + random_points(150, seed=1) / 8
        a = np.concatenate([spot, scene])
        b = np.concatenate([spot + 120, scene - 30])
        found = self.compared(a, b)
        np.testing.assert_allclose(map_points(found.matrix, CORNERS), CORNERS - 30, atol=1e-6)

    @pytest.mark.parametrize(
        "b",
        [
            pytest.param(lambda a: a * [-1, 1], id="mirrored"),
            pytest.param(lambda a: a / 10, id="ten times smaller"),
            pytest.param(lambda a: random_points(len(a), seed=9), id="at random"),
        ],
    )
    def test_not_believable(self, b):
        a = random_points(60)
        assert self.compared(a, b(a)) is None

    def test_a_line_is_not_believable(self):
        line = np.stack([np.linspace(10, 790, 60), np.full(60, 300.0)], 1)
        assert self.compared(line, line + 5) is None
        assert self.compared(line, line + 5, "translation") is None
        spot = 300 + random_points(60) / 40
        assert self.compared(spot, spot + 5, "translation") is None

    def test_nothing_at_all(self):
        nothing = np.zeros((0, 2))
        assert self.compared(nothing, nothing) is None


class TestGraph:
    PAIRS = (
        pair_of(0, 1, np.eye(3), 60),
        pair_of(1, 3, np.eye(3), 80),
        pair_of(0, 3, np.eye(3), 50),
        pair_of(2, 5, np.eye(3), 90),
    )

    def test_groups_and_the_most_seen(self):
        assert groups_of(6, self.PAIRS) == ((0, 1, 3), (2, 5), (4,))
        assert most_seen((0, 1, 3), self.PAIRS) == 1
        assert groups_of(2, []) == ((0,), (1,))

    def test_the_tree_takes_the_strongest_way(self):
        move = FAMILIES["translation"].matrix
        weak = pair_of(0, 2, move(np.array([7.0, 0.0])), 20)
        strong = [
            pair_of(0, 1, move(np.array([3.0, 0.0])), 90),
            pair_of(1, 2, move(np.array([2.0, 0.0])), 90),
        ]
        transforms = along_tree(4, 2, [weak, *strong])
        assert transforms[:3, 0, 2].tolist() == [-5, -2, 0]
        assert np.isnan(transforms[3]).all()

    def test_the_link_that_contradicts_the_others_goes(self):
        move = FAMILIES["translation"].matrix
        pairs = [pair_of(i, j, np.eye(3), 60) for i in range(5) for j in range(i + 1, 5)]
        jump = pair_of(1, 3, move(np.array([90.0, 0.0])), 500)
        wrong = [jump if (p.one, p.two) == (1, 3) else p for p in pairs]
        kept = without_contradictions(wrong, sizes_of(5), 10.0)
        assert len(kept) == 9
        assert jump not in kept
        assert without_contradictions(pairs, sizes_of(5), 10.0) == pairs
        assert without_contradictions([], sizes_of(5), 10.0) == []

    def test_of_three_that_contradict_each_other_the_weakest_goes(self):
        move = FAMILIES["translation"].matrix
        pairs = [
            pair_of(0, 1, np.eye(3), 60),
            pair_of(1, 2, np.eye(3), 30),
            pair_of(0, 2, move(np.array([90.0, 0.0])), 80),
        ]
        kept = without_contradictions(pairs, sizes_of(3), 10.0)
        assert [(pair.one, pair.two) for pair in kept] == [(0, 1), (0, 2)]

    def test_a_contradiction_in_a_long_loop_goes_too(self):
        # Eight pictures in a ring have no triangle; one link jumps, the others are double.
        move = FAMILIES["translation"].matrix(np.array([2.0, 1.0]))
        chain = [pair_of(k, k + 1, move, 80, seed=k) for k in range(7)]
        jump = pair_of(0, 7, FAMILIES["translation"].matrix(np.array([400.0, 7.0])), 30)
        placed = place(FAMILIES["translation"], [*chain, jump], sizes_of(8), 0, NUMBERS)
        assert len(placed.pairs) == 7
        np.testing.assert_allclose(placed.transforms[7][:2, 2], [14, 7], atol=1e-6)
        assert placed.reached.all()
        assert residuals(placed).max() < 1e-6


class TestRefinement:
    @pytest.mark.parametrize("name", FAMILIES)
    def test_the_gradient_is_that_of_the_cost(self, name):
        family = FAMILIES[name]
        rng = np.random.default_rng(0)
        near = family.identity + 0.05 * rng.standard_normal((2, family.size))
        both = [
            Shared(i, j, rng.uniform(-1, 1, (20, 2)), rng.uniform(-1, 1, (20, 2)), 0.5)
            for i, j in ((-1, 0), (0, -1), (0, 1), (1, 0))
        ]
        _, gradient = _normal_equations(family, near, both)
        by_differences = np.empty_like(near)
        for place_of in np.ndindex(near.shape):
            step = np.zeros_like(near)
            step[place_of] = 1e-6
            rise = _cost(family, near + step, both) - _cost(family, near - step, both)
            by_differences[place_of] = rise / 2e-6
        # The cost is a sum of squares, so its gradient is twice J'Wr.
        np.testing.assert_allclose(2 * gradient, by_differences.ravel(), rtol=1e-5, atol=1e-4)

    @staticmethod
    def chain(seed=0):
        """Twelve pictures, links to the next two and one from the first to the last, all noisy."""
        rng = np.random.default_rng(seed)
        family = FAMILIES["homography"]
        truth = [np.eye(3)]
        for _ in range(11):
            corners = CORNERS + rng.normal(0, 15, (4, 2))
            truth.append(family.fit(CORNERS, map_points(truth[-1], corners)))
        ends = [(i, j) for i in range(12) for j in (i + 1, i + 2) if j < 12]
        pairs = []
        for i, j in [*ends, (0, 11)]:
            exact = pair_of(i, j, truth[j] @ inverse(truth[i]), 40, seed=i + 12 * j)
            one = exact.points_one + rng.normal(0, 0.5, (40, 2))
            two = exact.points_two + rng.normal(0, 0.5, (40, 2))
            among = Tentative(one, two, EXTENT, EXTENT)
            matrix = family.fit(one, two)
            pairs.append(Pair(i, j, matrix, one, two, among))
        return np.stack(truth), pairs

    def test_chains_do_not_drift(self):
        truth, pairs = self.chain()
        family = FAMILIES["homography"]
        tree = along_tree(12, 0, pairs[:-1])
        refined = refine(family, tree, 0, pairs, sizes_of(12), NUMBERS)
        middle = CORNERS / 2 + 150

        def worst(transforms):
            off = map_points(transforms, middle) - map_points(truth, middle)
            return np.linalg.norm(off, axis=2).max()

        assert worst(refined) < 0.5 * worst(tree)
        assert worst(refined) < 1
        assert np.array_equal(refined[0], np.eye(3))

    def test_outliers_pull_little(self):
        truth, pairs = self.chain()
        rng = np.random.default_rng(1)
        spoiled = []
        for pair in pairs:
            two = pair.points_two.copy()
            two[:4] += rng.normal(0, 60, (4, 2))
            spoiled.append(replace(pair, points_two=two))
        found = refine(FAMILIES["homography"], truth, 0, spoiled, sizes_of(12), NUMBERS)
        assert np.abs(map_points(found, CORNERS) - map_points(truth, CORNERS)).max() < 6

    def test_a_start_beyond_the_horizon_stays_and_does_not_fail(self):
        # The horizon goes through both pictures, whichever way one looks.
        tilt = np.array([[1, 0, 0], [0, 1, 0], [-1 / 150, 0, 1.0]])
        middle = shift(EXTENT / 2)
        H = middle @ tilt @ inverse(middle)
        pair = pair_of(0, 1, np.eye(3))
        start = np.stack([np.eye(3), H / H[2, 2]])
        found = refine(FAMILIES["homography"], start, 0, [pair], sizes_of(2), NUMBERS)
        assert np.array_equal(found, start)

    def test_well_spread(self):
        points = random_points(1000)
        chosen = well_spread(points, 50)
        assert len(set(chosen.tolist())) == 50
        assert np.ptp(points[chosen], axis=0).min() > 500
        assert well_spread(points[:30], 50).tolist() == list(range(30))


class TestCandidates:
    @staticmethod
    def clip(count):
        """A camera that goes forth and back: picture k looks like picture -k."""
        rng = np.random.default_rng(0)
        world = np.rint(rng.random((count * 10, 128)) ** 3 * 100)
        halfway = np.minimum(np.arange(count), np.arange(count)[::-1])
        return [keypoints_at(random_points(40), world[10 * k : 10 * k + 40]) for k in halfway]

    def test_few_pictures_are_all_compared(self):
        assert len(candidates(self.clip(10), NUMBERS)) == 45

    def test_many_are_compared_in_time_and_by_looks(self):
        numbers = replace(NUMBERS, all_pairs=20)
        found = candidates(self.clip(60), numbers)
        assert len(found) < 60 * 12
        assert {(k, k + 1) for k in range(59)} <= set(found)
        # What comes back is recognised.
        assert sum((k, 59 - k) in found for k in range(25)) >= 24

    def test_pictures_without_keypoints(self):
        numbers = replace(NUMBERS, all_pairs=2)
        nothing = keypoints_at(np.zeros((0, 2)), np.zeros((0, 128)))
        assert (0, 1) in candidates([nothing] * 4, numbers)
        assert (0, 1) in candidates([nothing, *self.clip(4)], numbers)


class TestSentence:
    @staticmethod
    def sentence(groups, count):
        reached = np.zeros(count, bool)
        nothing = np.zeros(count)
        names = tuple(f"{k}.png" for k in range(count))
        return Matches(
            names, "affine", 0, np.zeros((count, 3, 3)), reached, groups, (), nothing, nothing
        ).sentence

    def test_it_names_who_is_left(self):
        assert self.sentence(((0, 1, 2),), 3) == "all 3 pictures are linked"
        assert self.sentence(((0, 1), (2,)), 3) == "2 of 3 pictures are linked; 2.png is not"
        assert self.sentence(((0, 1), (2,), (3,)), 4) == (
            "2 of 4 pictures are linked; 2.png, 3.png are not"
        )
        assert self.sentence(((0,), (1,)), 2).startswith("none of 2 pictures")

    def test_long_lists_are_cut(self):
        groups = ((0, 1), *((k,) for k in range(2, 20)))
        assert self.sentence(groups, 20).endswith("9.png and 10 more are not")

    def test_several_scenes(self):
        assert self.sentence(((0, 1, 3), (2, 4), (5,)), 6) == (
            "the 6 pictures look like 2 scenes that have nothing in common: "
            "(1) 0.png, 1.png, 3.png; (2) 2.png, 4.png; 5.png is not linked to any"
        )
