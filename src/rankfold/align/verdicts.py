"""From confirmed shares to verdicts: placed, doubtful or failed, and one word for the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankfold.align.confirmation import Confirmation
from rankfold.align.settings import VerdictSettings
from rankfold.families import Floats
from rankfold.verdicts import BatchVerdict, Verdict


@dataclass(frozen=True)
class Judgement:
    """The verdicts on a batch.

    Parameters
    ----------
    verdicts : tuple of n Verdict
    lost : (n,) array
        Probability that a picture is lost: off by more than a twentieth of the frame.
    batch : BatchVerdict
    confirmed : (n,) array
        The confirmed share behind the verdict; the rough one where the batch agrees only roughly.
    """

    verdicts: tuple[Verdict, ...]
    lost: Floats
    batch: BatchVerdict
    confirmed: Floats


def judge(found: Confirmation, numbers: VerdictSettings) -> Judgement:
    """Decide on the batch first: it says which share speaks for a picture."""
    batch = batch_verdict(found, numbers)
    if batch is BatchVerdict.ROUGH:
        share = found.rough
        verdicts = _by_limits(share, numbers.rough_placed, numbers.rough_doubtful)
        lost = _probability(share, numbers.rough_even, numbers.rough_slope)
        return Judgement(verdicts, lost, batch, share)
    share = found.share
    verdicts = _by_limits(share, numbers.placed, numbers.doubtful)
    lost = _probability(share, numbers.even, numbers.slope)
    if batch is BatchVerdict.FAILED:
        # Those of the largest group may be right; which group is, nobody knows.
        trusted = found.group & (share >= numbers.placed)
        verdicts = tuple(Verdict.DOUBTFUL if one else Verdict.FAILED for one in trusted)
        lost = np.maximum(lost, np.where(trusted, numbers.failed_group, numbers.failed_rest))
    return Judgement(verdicts, lost, batch, share)


def batch_verdict(found: Confirmation, numbers: VerdictSettings) -> BatchVerdict:
    """Whether most pictures confirm each other, agree roughly, some confirm each other, or none."""
    share = found.share
    agreeing = share >= numbers.agrees
    if agreeing.mean() >= numbers.half:
        placed = (share >= numbers.placed).mean()
        none_failed = bool((share >= numbers.doubtful).all())
        good = none_failed and placed >= numbers.good
        return BatchVerdict.GOOD if good else BatchVerdict.PARTIAL
    roughly = float((found.rough >= numbers.rough_doubtful).mean())
    # Pictures of one kind confirm some of each other's tiles. Groups that are lost together
    # confirm all of their own and none of the others'.
    in_part = float(((share >= numbers.rough_doubtful) & ~agreeing).mean())
    if roughly >= numbers.rough_most and in_part >= numbers.rough_some:
        return BatchVerdict.ROUGH
    if agreeing.mean() >= numbers.few and agreeing.sum() >= numbers.least:
        return BatchVerdict.PARTIAL
    return BatchVerdict.FAILED


def _by_limits(share: Floats, placed: float, doubtful: float) -> tuple[Verdict, ...]:
    """Verdicts by the share (n,) and its two limits."""
    words = {2: Verdict.PLACED, 1: Verdict.DOUBTFUL, 0: Verdict.FAILED}
    passed = (share >= placed).astype(int) + (share >= doubtful)
    return tuple(words[int(count)] for count in passed)


def _probability(share: Floats, even: float, slope: float) -> Floats:
    """Logistic curve (n,) that falls with the share and is a half at ``even``."""
    return np.asarray(1 / (1 + np.exp(slope * (share - even))))


def codes(verdicts: tuple[Verdict, ...]) -> npt.NDArray[np.str_]:
    """The words (n,) of the verdicts, as a result keeps them."""
    return np.array([one.value for one in verdicts])
