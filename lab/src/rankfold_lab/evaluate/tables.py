"""The log of the ablation as tables: means, the ratio to RASL, wins by subject and a paired t."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats

from rankfold_lab.evaluate.ablation import REFERENCE, ROWS
from rankfold_lab.evaluate.faces import PROTOCOLS

Records = list[dict[str, Any]]

# What is averaged over the trials, and how it is printed.
MEASURES = {
    "eye": ".3f",
    "above_1": ".1%",
    "above_3": ".1%",
    "rec_occ": ".3f",
    "rec_all": ".3f",
    "rank": ".0f",
}
# What is compared with the reference.
COMPARED = ("eye", "rec_occ", "rec_all")


def page(records: Records, protocols: Iterable[str]) -> str:
    """Return the tables of all protocols as markdown, and how right the flags were."""
    chosen = list(protocols)
    parts = []
    for name in chosen:
        if any(record["protocol"] == name for record in records):
            parts.append(f"### {name}\n\n{describe(name)}\n\n{table(records, name)}\n")
    parts.append("### Flags\n")
    mine = [record for record in records if record["protocol"] in chosen]
    for row in ("RASL", "MeADMM"):
        parts.append(f"- {flags(mine, row)}")
    return "\n".join(parts) + "\n"


def describe(name: str) -> str:
    """Return one sentence on a protocol."""
    p = PROTOCOLS[name]
    truth = "real pictures" if p.kind == "real" else "clipped Lambertian pictures"
    return (
        f"{truth}, lamps up to {p.lights} degrees; turned by up to {p.rotation:g} degrees "
        f"and shifted by up to {p.translation:g} px; "
        f"{p.occluded:.0%} of them behind: {p.occluder}."
    )


def table(records: Records, protocol: str) -> str:
    """Return the table of one protocol as markdown."""
    mine = [record for record in records if record["protocol"] == protocol]
    heads = ["row", "trials", *MEASURES, *(f"{name}: x, won, t" for name in COMPARED), "s"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name in ROWS:
        rows = [record for record in mine if record["row"] == name]
        if not rows:
            continue
        means = []
        for measure, form in MEASURES.items():
            mean = float(np.nanmean([record[measure] for record in rows]))
            means.append(format(mean, form))
        against = [_against(mine, name, measure) for measure in COMPARED]
        seconds = f"{np.mean([record['seconds'] for record in rows]):.1f}"
        cells = [name, str(len(rows)), *means, *against, seconds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def flags(records: Records, name: str) -> str:
    """Return precision and recall of the failed flag of a row, for pictures that are lost."""
    chosen = [record for record in records if record["row"] == name]
    lost = sum(record["lost"] for record in chosen)
    flagged = sum(record["flagged"] for record in chosen)
    both = sum(record["flagged_lost"] for record in chosen)
    precision = f"{both / flagged:.2f}" if flagged else "- (nothing flagged)"
    recall = f"{both / lost:.2f}" if lost else "- (nothing lost)"
    return f"{name}: {lost} lost, {flagged} flagged; precision {precision}, recall {recall}"


def _against(records: Records, name: str, measure: str) -> str:
    """Return the ratio of means to the reference, the subjects won, a paired t over subjects."""
    mine = _by_subject(records, name, measure)
    reference = _by_subject(records, REFERENCE, measure)
    common = sorted(mine.keys() & reference.keys())
    if name == REFERENCE or not common:
        return ""
    ours = np.array([mine[subject] for subject in common])
    theirs = np.array([reference[subject] for subject in common])
    # Without a difference that varies there is no t.
    varies = len(common) > 1 and np.ptp(ours - theirs) > 0
    t = f"{stats.ttest_rel(ours, theirs).statistic:.1f}" if varies else "-"
    won = (ours < theirs).sum()
    return f"{ours.mean() / theirs.mean():.2f}, {won}/{len(common)}, {t}"


def _by_subject(records: Records, name: str, measure: str) -> dict[int, float]:
    """Return the mean over the seeds of each subject."""
    values: dict[int, list[float]] = {}
    for record in records:
        if record["row"] == name:
            values.setdefault(record["subject"], []).append(record[measure])
    return {subject: float(np.nanmean(some)) for subject, some in values.items()}
