"""What can be said of a picture, and of a batch, once it is aligned: the words and the sentences.

How they are found is in ``rankfold.align.verdicts``. Everything that speaks of them (results,
commands, report) takes its words from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from rankfold.neutral import plain

# Names in a sentence before the list ends in a number.
NAMED = 12


class Verdict(Enum):
    """Whether a picture lies where the others do."""

    PLACED = "placed"
    DOUBTFUL = "doubtful"
    FAILED = "failed"


class BatchVerdict(Enum):
    """Whether the pictures of a batch agree."""

    # Nearly all pictures confirm each other's places, and none failed.
    GOOD = "good"
    # Most do, or a group that is large enough; the others are named.
    PARTIAL = "partial"
    # What they share is in about the same place: portraits, different things of one kind.
    ROUGH = "only roughly"
    # Hardly any picture lies where others do.
    FAILED = "failed"


def outcome(batch: BatchVerdict, verdicts: Sequence[Verdict], names: Sequence[str]) -> str:
    """Say in a sentence or two how the pictures were placed, and name those to look at."""
    n = len(verdicts)
    placed = sum(one is Verdict.PLACED for one in verdicts)
    if batch is BatchVerdict.ROUGH:
        said = f"The pictures agree only roughly: {placed} of {n} lie about where the others do"
    elif batch is BatchVerdict.FAILED:
        said = f"The alignment failed: most of the {n} pictures do not agree on a place"
    else:
        said = f"{placed} of {n} pictures found their place"
    for verdict in (Verdict.DOUBTFUL, Verdict.FAILED):
        chosen = [name for name, one in zip(names, verdicts, strict=True) if one is verdict]
        # Of a failed batch, nearly every name would be in the list.
        if chosen and batch is not BatchVerdict.FAILED:
            said += f"; {verdict.value}: {listed(chosen)}"
    return f"{said}."


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """Write names one after the other; of many, the first and how many more there are."""
    shown = ", ".join(plain(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
