import numpy as np
import pytest

import rankfold as rf
from rankfold.datasets import (
    facade,
    head,
    low_rank_plus_sparse,
    rendered_heads,
    warped_low_rank,
)
from rankfold.families import map_points
from rankfold.metrics import alignment_error, mean_scale, recovery_error, support_f1


@pytest.mark.parametrize("make", [rendered_heads, warped_low_rank, facade])
def test_batches_are_seeded_and_their_truth_is_true(make):
    one, two, other = make(n=4, seed=1), make(n=4, seed=1), make(n=4, seed=2)
    np.testing.assert_array_equal(one.images, two.images)
    assert not np.array_equal(one.images, other.images)
    # through the true transforms all pictures show the same thing at the same place
    true = rf.align(one.clean, method="rpca", frame=one.frame, init=one.truth)
    false = rf.align(one.clean, method="rpca", frame=one.frame, init=one.start)
    assert true.objective < false.objective
    assert 0 <= np.min(one.images) <= np.max(one.images) <= 1 or make is warped_low_rank


def test_occluders_are_where_the_mask_says():
    batch = rendered_heads(10, occluded=1.0, seed=0)
    for image, clean, hidden in zip(batch.images, batch.clean, batch.hidden, strict=True):
        assert 0.1 < hidden.mean() < 0.15
        np.testing.assert_array_equal(image[~hidden], clean[~hidden])


WORN = {"glasses": 0.25, "scarf": 0.4}


@pytest.fixture(scope="module")
def dressed():
    return rendered_heads(20, worn=WORN, seed=3)


class TestWorn:
    def wearers(self, batch):
        """The pictures with something in front of them, and what these show there."""
        return {
            k: image[hidden]
            for k, (image, hidden) in enumerate(zip(batch.images, batch.hidden, strict=True))
            if hidden.any()
        }

    def test_the_shares_are_exact_and_nobody_wears_two_things(self, dressed):
        shades = self.wearers(dressed)
        # Glasses are dark, the stripes of a scarf are not.
        dark = [k for k, shade in shades.items() if shade.max() < 0.2]
        striped = [k for k, shade in shades.items() if shade.min() > 0.2]
        assert (len(dark), len(striped), len(shades)) == (5, 8, 13)

    def test_the_masks_are_exact(self, dressed):
        for image, clean, hidden in zip(dressed.images, dressed.clean, dressed.hidden, strict=True):
            np.testing.assert_array_equal(image[~hidden], clean[~hidden])
        for shade in self.wearers(dressed).values():
            glass = (shade >= 0.02) & (shade <= 0.14)
            stripes = np.isin(shade.round(6), (0.3, 0.55, 0.8))
            assert glass.all() or stripes.all()

    @pytest.mark.parametrize("what", WORN)
    def test_it_turns_with_the_head(self, what):
        batch = rendered_heads(4, worn={what: 1.0}, rotation=20, translation=4, seed=1)
        chin = [batch.frame.centre[0], batch.frame.height - 4]
        for T, hidden in zip(batch.truth, batch.hidden, strict=True):
            x, y = map_points(T, np.array([*batch.points, chin])).round().astype(int).T
            in_front = [True, True, False] if what == "glasses" else [False, False, True]
            assert hidden[y, x].tolist() == in_front

    def test_lamps_turns_occluders_and_noise_are_those_without_it(self):
        options = {"n": 12, "occluded": 0.5, "noise": 0.02, "seed": 6}
        plain = rendered_heads(**options)
        dressed = rendered_heads(**options, worn=WORN)
        for name in ("clean", "truth", "start", "points"):
            np.testing.assert_array_equal(getattr(dressed, name), getattr(plain, name))
        changed = np.array(dressed.images) != np.array(plain.images)
        hidden = np.array(dressed.hidden)
        assert hidden[changed].all()
        assert hidden[np.array(plain.hidden)].all()
        assert changed.any(axis=(1, 2)).sum() == 3 + 5

    @pytest.mark.parametrize("worn", [{}, {"glasses": 0.0}])
    def test_nothing_worn_changes_nothing(self, worn):
        plain = rendered_heads(4, seed=6)
        same = rendered_heads(4, worn=worn, seed=6)
        np.testing.assert_array_equal(same.images, plain.images)
        np.testing.assert_array_equal(same.hidden, plain.hidden)

    def test_the_seed_says_who_wears_it(self, dressed):
        again = rendered_heads(20, worn=WORN, seed=3)
        np.testing.assert_array_equal(again.images, dressed.images)
        other = rendered_heads(20, worn=WORN, seed=4)
        assert set(self.wearers(other)) != set(self.wearers(dressed))

    def test_what_no_head_can_wear_is_refused(self):
        with pytest.raises(rf.InputError, match="hat"):
            rendered_heads(4, worn={"hat": 0.5})

    @pytest.mark.parametrize("worn", [{"scarf": -0.1}, {"scarf": 0.6, "glasses": 0.5}])
    def test_shares_that_make_no_sense_are_refused(self, worn):
        with pytest.raises(rf.InputError, match="at most 1 together"):
            rendered_heads(4, worn=worn)


def test_eyes_are_where_the_points_say():
    batch = rendered_heads(6, rotation=0, translation=0, lights=5, seed=0)
    aligned = rf.align(
        batch.images, method="rpca", frame=batch.frame, init=batch.truth
    ).aligned.mean(axis=0)
    for x, y in batch.points:
        window = aligned[round(y) - 1 : round(y) + 2, round(x) - 1 : round(x) + 2]
        brows_and_cheeks = aligned[round(y) - 8 : round(y) + 9, round(x) - 5 : round(x) + 6]
        assert window.min() < np.quantile(brows_and_cheeks, 0.05) + 1e-9


class TestLight:
    def test_a_flat_matte_surface_follows_the_cosine(self):
        lamp = head.light(30, 40)
        picture = head.shade(np.zeros((40, 40)), np.full((40, 40), 0.5), lamp, 20.0, ambient=0.0)
        expected = 0.5 * np.cos(np.radians(30)) * np.cos(np.radians(40))
        np.testing.assert_allclose(picture[5:-5, 5:-5], expected, rtol=1e-3)

    def test_normals_face_the_lamp(self):
        slope = 0.3 * np.mgrid[:50, :50][1] / 25.0  # rises to the right: brighter from the left
        left, right = (
            head.shade(slope, np.ones((50, 50)), head.light(a, 0), 25.0, 0.0)[25, 25]
            for a in (-20, 20)
        )
        angle = np.arctan(0.3)
        assert left == pytest.approx(np.cos(angle - np.radians(20)), abs=1e-3)
        assert right == pytest.approx(np.cos(angle + np.radians(20)), abs=1e-3)

    def test_a_wall_casts_a_shadow_of_the_right_length(self):
        heights = np.zeros((30, 120))
        heights[:, 30:34] = 0.5  # half a unit high, 40 px a unit
        seen = head.visible(heights, head.light(-45, 0), 40.0)  # lamp to the left at 45 degrees
        shadow = (seen[15, 34:] < 0.5).sum()
        assert shadow == pytest.approx(0.5 * 40, abs=3)
        assert (seen[15, :28] > 0.9).all()


def test_low_rank_plus_sparse_is_what_it_says():
    truth = low_rank_plus_sparse(50, 70, 4, 0.1, 0)
    np.testing.assert_array_equal(truth.data, truth.low_rank + truth.sparse)
    assert np.linalg.matrix_rank(truth.low_rank) == 4
    assert (truth.sparse != 0).mean() == pytest.approx(0.1, abs=0.02)


def test_metrics_on_cases_done_by_hand():
    truth = np.tile(np.eye(3), (5, 1, 1))
    moved = truth.copy()
    moved[:, 0, 2] = [3, 3, 3, 3, 7]  # all shifted by 3 (gauge), one by 4 more
    error = alignment_error(moved, truth, np.zeros((2, 2)))
    assert error.mean == pytest.approx(0.8)
    assert error.max == pytest.approx(4)
    assert error.share_above_one == pytest.approx(0.2)
    assert mean_scale(
        truth * [[2, 2, 1], [2, 2, 1], [1, 1, 1]], truth, np.zeros(2)
    ) == pytest.approx(2)
    assert recovery_error(np.array([1.0, 2]), np.array([1.0, 1])) == pytest.approx(1 / np.sqrt(2))
    assert support_f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])) == pytest.approx(0.5)
