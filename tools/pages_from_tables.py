"""Write the pages of the documentation that are made from tables of the code.

    python tools/pages_from_tables.py

A test compares the pages with what this writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from rankfold import METHODS, STAGES, AlignSettings, OutputSettings
from rankfold.admm import SCHEDULES, Penalty
from rankfold.align import setting_rows
from rankfold.align.routes import ROUTES
from rankfold.align.stages import Stage, usual_stages
from rankfold.tuned import Tuned

DOCS = Path(__file__).resolve().parents[1] / "docs"
MADE = "<!-- Made by tools/pages_from_tables.py; change the table in the code, not this page. -->"

CAMPAIGN = "<!-- campaign: made by tools/pages_from_tables.py from docs/campaign.json -->"
END_OF_CAMPAIGN = "<!-- end of campaign -->"


SETTINGS = """\
Every number of `rankfold.align` that was tuned, with its unit and where it came from: `rankfold
settings` prints the same. Change one with
`align(..., settings=AlignSettings().changed({"features.smooth": 1.0}))` or
`rankfold align ... --set features.smooth=1.0`. The values that were used are in `result.settings`
and in `result.json`. Lengths are in pixels of the frame on which a stage works, which is a smaller
one where the frame is [large](choices.md#large-frames); "development faces" are those of
[the evaluation](evaluation.md)."""

AT_FULL_SIZE = """\
Every number behind [plates, restored pictures and masks](full-size.md) that was tuned. Change one
with `settings=OutputSettings().changed({"cut.smoothness": 3})`; the commands have options for what
people usually want to change. Lengths are in pixels of the originals."""

SCHEDULES_HEAD = """\
How the penalty μ grows: the rows of `SCHEDULES` (`src/rankfold/admm/schedules.py`, which says what
each number is), in a decomposition, in the steps of an alignment on pixels, and in those on
features. They are chosen as a whole, by `schedule=`; where their numbers came from is in
[the inner solver](solver.md)."""

STAGES_HEAD = """\
What `rankfold.align` does, in order; `rankfold stages` prints the same. The plan, the progress bar,
the report and the command line read the table `STAGES` in `src/rankfold/align/stages.py`, as this
page does."""

STAGES_FOOT = """\
Every stage before the pixels can be switched on and off for every method that moves pictures:
`start`, `features`, `rescue`. How far each stage moved each picture is in `result.trace.stages`.

The column "frame" is about [large frames](choices.md#large-frames), whose short side is longer than
the setting `resolution.side`: on a smaller frame, or on the whole one. `fine` is left out where the
frame is not large and under `schedule="published"`, and moves nothing where pictures do not share
fine detail."""

ROUTES_HEAD = """\
What the stage `start` can do: the rows of `ROUTES` in `src/rankfold/align/routes.py`, in the order
in which `start="auto"` tries them; `rankfold starts` prints the same. With `affine` and
`homography`, matching comes first. Matching is tried where OpenCV is installed and no picture is
smaller than the setting `routes.least_view`. [Starts and verdicts](starts-and-verdicts.md) says how
one of them is kept."""


def settings_page() -> str:
    """Every tuned number, a table for each part of the pipeline."""
    lines = ["# Settings", "", MADE, "", SETTINGS]
    lines += group_tables(AlignSettings())
    lines += ["", *schedules_table()]
    lines += ["", "# Settings at full size", "", AT_FULL_SIZE]
    lines += group_tables(OutputSettings())
    return "\n".join(lines) + "\n"


def group_tables(settings: Tuned) -> list[str]:
    """A table for each group of settings."""
    lines: list[str] = []
    group = ""
    for row in setting_rows(settings):
        if row.group != group:
            group = row.group
            about = type(getattr(settings, group)).__doc__ or ""
            lines += ["", f"## {group}", "", about.strip(), ""]
            lines += ["| setting | value | unit | why |", "|---|---|---|---|"]
        lines.append(f"| `{group}.{row.name}` | {row.shown} | {row.unit} | {row.why} |")
    return lines


def schedules_table() -> list[str]:
    """How the penalty grows in each schedule, in a decomposition and in the steps of align."""
    lines = ["## schedules", "", SCHEDULES_HEAD, ""]
    names = [field.name for field in fields(Penalty)]
    lines += [f"| schedule | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for schedule in SCHEDULES.values():
        kinds = {
            "": schedule.penalty,
            ", steps": schedule.steps.penalty,
            ", steps on features": schedule.rough_steps.penalty,
        }
        for kind, penalty in kinds.items():
            values = [f"{getattr(penalty, name):g}" for name in names]
            lines.append(f"| {schedule.name}{kind} | {' | '.join(values)} |")
    return lines


def stages_page() -> str:
    """What an alignment does, in order, and which method does which of it."""
    lines = ["# Stages", "", MADE, "", STAGES_HEAD, ""]
    lines += ["| stage | what it does | usual outer x inner iterations | by itself in | frame |"]
    lines += ["|---|---|---|---|---|"]
    for stage in STAGES.values():
        usual = f"{stage.outer} x {stage.inner}"
        words = [f"`{stage.name}`", stage.sentence, usual, methods_with(stage), frame_of(stage)]
        lines.append(f"| {' | '.join(words)} |")
    lines += ["", STAGES_FOOT, "", *routes_table()]
    return "\n".join(lines) + "\n"


def methods_with(stage: Stage) -> str:
    """The methods that do a stage by themselves, and whether only on a large frame."""
    names = [name for name, row in METHODS.items() if stage in usual_stages(row, large=True)]
    return ", ".join(names) + (", if the frame is large" if stage.refines else "")


def frame_of(stage: Stage) -> str:
    """On which frame a stage works where the frame is large."""
    return "whole" if stage.whole else "smaller"


def routes_table() -> list[str]:
    """The ways to a start, and how each of them goes."""
    lines = ["## Starts", "", ROUTES_HEAD, ""]
    lines += ["| start | what it does | how |", "|---|---|---|"]
    for route in ROUTES.values():
        how = (route.run.__doc__ or "").strip().splitlines()[0]
        lines.append(f"| `{route.name}` | {route.sentence} | {how} |")
    return lines


def reliability_page() -> str:
    """The page on reliability, with the counts of the last campaign."""
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    before, begin, rest = page.partition(CAMPAIGN)
    _, end, after = rest.partition(END_OF_CAMPAIGN)
    counts = json.loads((DOCS / "campaign.json").read_text(encoding="utf-8"))
    return "".join([before, begin, "\n", *campaign_lines(counts), end, after])


def campaign_lines(counts: dict[str, Any]) -> Iterator[str]:
    """What was tried, how often, and what became of it."""
    yield (
        f"{counts['attempts']:,} attempts with rankfold {counts['version']} and Python "
        f"{counts['python']}, in {counts['minutes']} minutes; {bad_in_words(counts)}.\n\n"
    )
    yield "| what is tried | attempts | fine | refused | bad | longest | memory |\n"
    yield "|---|---:|---:|---:|---:|---:|---:|\n"
    for kind, row in counts["kinds"].items():
        ends = " | ".join(f"{row[name]:,}" for name in ("attempts", "fine", "refused", "bad"))
        most = f"{row['longest_s']:.1f} s | {row['memory_mib']} MiB"
        yield f"| **{kind}**: {row['about']} | {ends} | {most} |\n"


def bad_in_words(counts: dict[str, Any]) -> str:
    """How many attempts ended badly."""
    bad = sum(row["bad"] for row in counts["kinds"].values())
    return f"{bad} ended badly" if bad else "none ended badly"


PAGES = {
    "settings.md": settings_page,
    "stages.md": stages_page,
    "reliability.md": reliability_page,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
