"""The metrics: right values at every scale, and a sentence for what has none."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.families import shift
from rankfold.metrics import alignment_error, mean_scale, recovery_error, support_f1

EYES = np.tile(np.eye(3), (3, 1, 1))
POINTS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
RNG = np.random.default_rng(0)
TRUTH = RNG.standard_normal((4, 6))


class TestAlignmentError:
    def test_a_shift_of_one_picture_is_its_length(self):
        moved = EYES.copy()
        moved[2] = shift(np.array([3.0, 4.0]))
        found = alignment_error(moved, EYES, POINTS)
        np.testing.assert_allclose(found.each, [0, 0, 5], atol=1e-12)
        assert found.max == pytest.approx(5)
        assert found.mean == pytest.approx(5 / 3)
        assert found.share_above_one == pytest.approx(1 / 3)

    def test_a_shift_of_all_is_no_error(self):
        moved = EYES @ shift(np.array([30.0, -4.0]))
        assert alignment_error(moved, EYES, POINTS).max == pytest.approx(0, abs=1e-12)

    def test_plain_lists_will_do(self):
        found = alignment_error(EYES.tolist(), EYES.tolist(), POINTS.tolist())
        assert found.max == 0

    @pytest.mark.parametrize(
        ("transforms", "truth", "points", "message"),
        [
            (EYES[0], EYES, POINTS, r"the transforms have shape \(3, 3\)"),
            (EYES, EYES[:2], POINTS, r"have shapes \(3, 3, 3\) and \(2, 3, 3\); they must agree"),
            (EYES, 0 * EYES, POINTS, "a true transform has no inverse"),
            (np.nan * EYES, EYES, POINTS, "the transforms contain NaN or infinity"),
            (EYES, EYES, POINTS[:, :1], r"the points have shape \(3, 1\)"),
            (EYES, EYES, POINTS[:0], r"the points have shape \(0, 2\)"),
            (1j * EYES, EYES, POINTS, "type complex128"),
            ([[1, 2], [3]], EYES, POINTS, "the transforms is no array of numbers"),
            (EYES * [[[1.0], [1.0], [0.0]]], EYES, POINTS, "a landmark lands at infinity"),
        ],
    )
    def test_what_has_no_error_is_refused(self, transforms, truth, points, message):
        with pytest.raises(rf.InputError, match=message):
            alignment_error(transforms, truth, points)


class TestMeanScale:
    def test_it_is_the_geometric_mean(self):
        scales = np.array([0.5, 2.0, 8.0])
        transforms = np.stack([np.diag([s, s, 1.0]) for s in scales])
        assert mean_scale(transforms, EYES, [3.0, 4.0]) == pytest.approx(2.0)

    def test_a_transform_without_a_scale_is_refused(self):
        flat = np.tile(np.diag([1.0, 0.0, 1.0]), (3, 1, 1))
        with pytest.raises(rf.InputError, match="a transform has no scale at the point"):
            mean_scale(flat, EYES, np.zeros(2))


class TestRecoveryError:
    @pytest.mark.parametrize("factor", [1.0, 1e-200, 1e200, 1e300])
    def test_it_does_not_depend_on_the_unit(self, factor):
        estimate = 1.1 * TRUTH
        assert recovery_error(factor * estimate, factor * TRUTH) == pytest.approx(0.1)

    def test_unsigned_integers_do_not_wrap_round(self):
        truth = np.full((2, 2), 200, np.uint8)
        assert recovery_error(truth - np.uint8(10), truth) == pytest.approx(0.05)
        assert recovery_error(truth, truth - np.uint8(10)) == pytest.approx(10 / 190)

    def test_only_what_is_chosen_counts(self):
        where = np.zeros(TRUTH.shape, bool)
        where[0] = True
        estimate = np.where(where, TRUTH, np.nan)
        assert recovery_error(estimate, TRUTH, where) == 0
        with pytest.raises(rf.InputError, match="not finite there; choose entries that are"):
            recovery_error(estimate, TRUTH)

    def test_a_masked_entry_is_not_finite(self):
        masked = np.ma.masked_less(TRUTH, 0)
        with pytest.raises(rf.InputError, match="not finite there"):
            recovery_error(masked, TRUTH)
        assert recovery_error(masked, TRUTH, ~np.ma.getmaskarray(masked)) == 0

    @pytest.mark.parametrize(
        ("estimate", "truth", "where", "message"),
        [
            (TRUTH, TRUTH[:2], None, r"has shape \(4, 6\) .* the truth \(2, 6\)"),
            (TRUTH, TRUTH.astype(str), None, "give numbers of one shape"),
            (TRUTH, 0 * TRUTH, None, "the truth is zero there"),
            (TRUTH, TRUTH, np.zeros(TRUTH.shape, bool), "the truth is zero there"),
            (TRUTH, TRUTH, np.ones(TRUTH.shape), "where has shape .* give True or False"),
            (TRUTH, TRUTH, np.ones(3, bool), r"where has shape \(3,\)"),
        ],
    )
    def test_what_has_no_error_is_refused(self, estimate, truth, where, message):
        with pytest.raises(rf.InputError, match=message):
            recovery_error(estimate, truth, where)


class TestSupport:
    def test_it_is_the_harmonic_mean_of_precision_and_recall(self):
        # One of two found entries is right, one of three is found.
        assert support_f1([1, 1, 0, 0], [0, 2, 2, 2]) == pytest.approx(
            2 * (1 / 2) * (1 / 3) / (5 / 6)
        )
        assert support_f1(np.zeros(3), np.zeros(3)) == 0

    def test_what_is_masked_or_nan_does_not_count(self):
        estimate = np.ma.masked_array([1.0, 5.0, 0.0], [False, True, False])
        assert support_f1(estimate, [1.0, 0.0, 0.0]) == 1
        assert support_f1([1.0, np.nan, 0.0], [1.0, 0.0, 0.0]) == 1

    def test_arrays_of_two_shapes_are_refused(self):
        with pytest.raises(rf.InputError, match="give numbers of one shape"):
            support_f1(TRUTH, TRUTH.T)
