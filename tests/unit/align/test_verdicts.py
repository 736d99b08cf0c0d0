"""From confirmed shares to verdicts, on made-up shares: every branch."""

import numpy as np
import pytest

from rankfold.align.confirmation import Confirmation
from rankfold.align.settings import VerdictSettings
from rankfold.align.verdicts import batch_verdict, codes, judge
from rankfold.verdicts import BatchVerdict, Verdict

# Numbers of its own, so that tuning does not change what is tested.
NUMBERS = VerdictSettings(
    agrees=0.8,
    half=0.5,
    few=0.25,
    least=3,
    good=0.9,
    placed=0.6,
    doubtful=0.4,
    even=0.48,
    slope=10.0,
    rough_placed=0.5,
    rough_doubtful=0.3,
    rough_even=0.45,
    rough_slope=8.0,
    rough_most=0.75,
    rough_some=0.25,
    failed_group=0.4,
    failed_rest=0.8,
)
# A share between every two limits.
SURE = 0.95
PLACED = 0.7
DOUBTFUL = 0.5
FAILED = 0.1


def found(share, rough=None, group=None):
    """A confirmation of which only the shares and the group are looked at."""
    share = np.array(share, dtype=float)
    rough = np.zeros(len(share)) if rough is None else np.array(rough, dtype=float)
    group = share >= NUMBERS.agrees if group is None else np.array(group, dtype=bool)
    return Confirmation(None, share, rough, group, None, None)


class TestBatch:
    @pytest.mark.parametrize(
        ("share", "verdict"),
        [
            ([SURE] * 10, BatchVerdict.GOOD),
            # One in ten may be doubtful, two may not.
            ([SURE] * 9 + [DOUBTFUL], BatchVerdict.GOOD),
            ([SURE] * 8 + [DOUBTFUL] * 2, BatchVerdict.PARTIAL),
            # None may have failed, however many there are.
            ([SURE] * 99 + [FAILED], BatchVerdict.PARTIAL),
            # Half of them in the group is enough.
            ([SURE] * 5 + [PLACED] * 5, BatchVerdict.GOOD),
            ([SURE] * 5 + [FAILED] * 5, BatchVerdict.PARTIAL),
            # A quarter is still something, if it is three pictures.
            ([SURE] * 3 + [FAILED] * 9, BatchVerdict.PARTIAL),
            ([SURE] * 3 + [FAILED] * 10, BatchVerdict.FAILED),
            ([SURE] * 2 + [FAILED] * 4, BatchVerdict.FAILED),
            ([FAILED] * 10, BatchVerdict.FAILED),
        ],
    )
    def test_by_how_many_confirm_each_other(self, share, verdict):
        assert batch_verdict(found(share), NUMBERS) is verdict

    @pytest.mark.parametrize(
        ("share", "rough", "verdict"),
        [
            # Three quarters in about the same place, and some confirm parts of each other.
            ([DOUBTFUL] * 2 + [FAILED] * 6, [0.4] * 6 + [0.1] * 2, BatchVerdict.ROUGH),
            ([DOUBTFUL] * 2 + [FAILED] * 6, [0.4] * 5 + [0.1] * 3, BatchVerdict.FAILED),
            ([DOUBTFUL] + [FAILED] * 7, [0.4] * 8, BatchVerdict.FAILED),
            # Groups that went astray together confirm all of their own and nothing else.
            ([SURE] * 3 + [FAILED] * 5, [0.4] * 8, BatchVerdict.PARTIAL),
            ([SURE] * 2 + [FAILED] * 6, [0.4] * 8, BatchVerdict.FAILED),
            # Those that agree roughly come before the few that agree.
            ([SURE] * 3 + [DOUBTFUL] * 5, [0.4] * 8, BatchVerdict.ROUGH),
            # Where the group is large, how they agree roughly is not asked.
            ([SURE] * 10, [0.0] * 10, BatchVerdict.GOOD),
        ],
    )
    def test_by_how_many_agree_roughly(self, share, rough, verdict):
        assert batch_verdict(found(share, rough), NUMBERS) is verdict


class TestPictures:
    def test_by_the_limits_which_belong_to_the_better_side(self):
        share = [SURE] * 5 + [NUMBERS.placed, 0.599, NUMBERS.doubtful, 0.399, 0.0]
        judgement = judge(found(share), NUMBERS)
        assert judgement.batch is BatchVerdict.PARTIAL
        assert [one.value for one in judgement.verdicts] == (
            ["placed"] * 6 + ["doubtful"] * 2 + ["failed"] * 2
        )
        np.testing.assert_array_equal(judgement.confirmed, share)

    def test_where_they_agree_roughly_the_rough_share_speaks(self):
        share = [DOUBTFUL] * 10
        rough = [0.9] * 7 + [NUMBERS.rough_placed, NUMBERS.rough_doubtful, 0.299]
        judgement = judge(found(share, rough), NUMBERS)
        assert judgement.batch is BatchVerdict.ROUGH
        assert [one.value for one in judgement.verdicts] == ["placed"] * 8 + ["doubtful", "failed"]
        np.testing.assert_array_equal(judgement.confirmed, rough)

    def test_in_a_batch_that_failed_nobody_is_placed(self):
        """Those of the group may be right; one that is confirmed outside of it is not trusted."""
        share = [SURE, SURE, PLACED] + [FAILED] * 9
        group = [True, True, False] + [True] * 9
        judgement = judge(found(share, group=group), NUMBERS)
        assert judgement.batch is BatchVerdict.FAILED
        assert [one.value for one in judgement.verdicts] == ["doubtful"] * 2 + ["failed"] * 10

    def test_words_as_a_result_keeps_them(self):
        words = codes((Verdict.PLACED, Verdict.FAILED, Verdict.DOUBTFUL))
        assert words.tolist() == ["placed", "failed", "doubtful"]


class TestProbability:
    @pytest.mark.parametrize("rough", [False, True])
    def test_it_falls_with_the_share_and_is_a_half_where_the_settings_say(self, rough):
        even = NUMBERS.rough_even if rough else NUMBERS.even
        many = np.full(99, SURE)
        shares = np.concatenate([many, np.sort(np.append(np.linspace(0, 1, 38), even))])
        if rough:
            judgement = judge(found(np.full(len(shares), DOUBTFUL), shares), NUMBERS)
        else:
            judgement = judge(found(shares), NUMBERS)
        assert (judgement.batch is BatchVerdict.ROUGH) == rough
        curve = judgement.lost[99:]
        assert (np.diff(curve) < 0).all()
        assert ((curve > 0) & (curve < 1)).all()
        assert curve[shares[99:] == even] == pytest.approx(0.5)

    def test_it_agrees_with_the_verdict(self):
        judgement = judge(found([SURE] * 6 + [PLACED, FAILED, 0.0]), NUMBERS)
        words = np.array([one.value for one in judgement.verdicts])
        assert (judgement.lost[words == "placed"] < 0.5).all()
        assert (judgement.lost[words == "failed"] > 0.5).all()

    def test_in_a_batch_that_failed_it_is_never_small(self):
        judgement = judge(found([SURE] * 2 + [DOUBTFUL] + [FAILED] * 8 + [0.0]), NUMBERS)
        assert judgement.batch is BatchVerdict.FAILED
        np.testing.assert_allclose(judgement.lost[:2], NUMBERS.failed_group)
        np.testing.assert_allclose(judgement.lost[2], NUMBERS.failed_rest)
        # Where the curve says more, that is said.
        assert judgement.lost[-1] > judgement.lost[-2] > NUMBERS.failed_rest


def test_the_limits_are_settings():
    strict = VerdictSettings(placed=0.99, doubtful=0.98)
    judgement = judge(found([SURE] * 4), strict)
    assert judgement.batch is BatchVerdict.PARTIAL
    assert all(one is Verdict.FAILED for one in judgement.verdicts)
