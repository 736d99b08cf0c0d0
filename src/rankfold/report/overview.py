"""One page of many runs: a row a batch with small pictures, and what went wrong at the top."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import numpy as np

from rankfold.errors import InputError
from rankfold.report.data import TONES, shown_time
from rankfold.report.html import as_uri, fitted, look, template
from rankfold.report.pictures import average, rgb
from rankfold.result import Alignment
from rankfold.runs import BatchRow, BatchState, ManySummary, Run, as_bytes, display_range
from rankfold.runs.many_tables import replace_text
from rankfold.verdicts import BatchVerdict
from rankfold.version import __version__

OVERVIEW = "summary.html"

# Unit: px. Long side of a picture in a strip; screens with fine pixels show it at half of that.
SIDE = 128
# How many clean pictures are in a strip; the first ones.
CLEAN = 4
# An average is taken over at least so many pictures, but not over all of thousands.
AVERAGED = 100

# The worst comes first.
TONE_ORDER = ("bad", "warning", "waiting", "good")
WORST_FIRST = tuple(one.value for one in reversed(BatchVerdict))

# What is said of a batch that has no result.
NO_OUTCOME = {
    BatchState.WAITING: "Not done yet.",
    BatchState.ERROR: "There is no result; the error is above.",
}

Strip = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Line:
    """A batch on the page.

    Parameters
    ----------
    row : BatchRow
    tone : "good", "warning", "bad" or "waiting"
        How worrying it is.
    word : str
        Its verdict, or its state where it has none.
    sentence : str
        How its pictures were placed; errors are said at the top of the page.
    link : str
        Its report, or else its folder, relative to the page; empty where there is neither.
    time : str
    """

    row: BatchRow
    tone: str
    word: str
    sentence: str
    link: str
    time: str

    @property
    def concern(self) -> tuple[int, int, int, int]:
        """A sort key that puts the worst batch first."""
        verdict = WORST_FIRST.index(self.row.verdict) if self.row.verdict else -1
        failed = self.row.failed or 0
        doubtful = self.row.doubtful or 0
        return TONE_ORDER.index(self.tone), verdict, -failed, -doubtful


def write_overview(summary: ManySummary, path: str | Path | None = None) -> Path:
    """Write the page of many runs and return its path.

    Needs jinja2: ``pip install rankfold[report]``.

    Parameters
    ----------
    summary : ManySummary
    path : str or Path, optional
        The file to write; ``summary.html`` in the folder of the runs by default. Links are
        relative to it.
    """
    target = summary.folder / OVERVIEW if path is None else Path(path)
    replace_text(target, render_overview(summary))
    return target


def render_overview(summary: ManySummary) -> str:
    """Return the page as text."""
    try:
        page = template("overview.html")
    except ImportError as error:
        raise InputError("the page needs jinja2; run `pip install rankfold[report]`") from error
    lines = [_line(row, summary.folder) for row in summary.rows]
    text = page.render(
        look=look(),
        summary=summary,
        tone=_tone(summary, lines),
        facts=_facts(summary),
        lines=sorted(lines, key=lambda line: line.concern),
        order={line.row.name: k for k, line in enumerate(lines)},
        version=__version__,
    )
    return str(text)


def strip_of(run: Run) -> Strip:
    """Small pictures that show what became of a batch.

    Parameters
    ----------
    run : Run
        Of an alignment; of a decomposition there are none.

    Returns
    -------
    tuple of (caption, URI)
        The average as the pictures came, that of the aligned ones, and the first clean ones.
    """
    result = run.result
    if not isinstance(result, Alignment):
        return ()
    step = max(len(result.names) // AVERAGED, 1)
    aligned = np.asarray(result.aligned[::step])
    low, high = display_range([aligned])
    # Small copies of the inputs through the start's transforms, as the report shows them.
    unmoved = replace(result, transforms=result.start)
    before = [unmoved.apply_one(i, run.inputs[i]) for i in range(0, len(result.names), step)]
    shown = [
        ("average before", average(np.stack(before), 0, 255)),
        ("average aligned", average(aligned, low, high)),
    ]
    for name, picture in zip(result.names[:CLEAN], result.low_rank[:CLEAN], strict=True):
        clean = rgb(as_bytes(np.asarray(picture), low, high))
        shown.append((f"{name}, low-rank", clean))
    return tuple((caption, as_uri(fitted(tile, SIDE, grow=True))) for caption, tile in shown)


def _line(row: BatchRow, folder: Path) -> Line:
    """What the page says of a batch."""
    return Line(
        row=row,
        tone=_row_tone(row),
        word=row.verdict or row.state.value,
        sentence=row.outcome or NO_OUTCOME[row.state],
        link=_link(row, folder),
        time="" if row.seconds is None else shown_time(row.seconds),
    )


def _row_tone(row: BatchRow) -> str:
    """How worrying a batch is."""
    if row.is_useless:
        return "bad"
    if row.state is BatchState.WAITING:
        return "waiting"
    tone = TONES[BatchVerdict(row.verdict)]
    ended_well = row.status is not None and row.status.good
    return "warning" if tone == "good" and not ended_well else tone


def _tone(summary: ManySummary, lines: list[Line]) -> str:
    """How worrying all of it is: as the worst batch."""
    worst = min((TONE_ORDER.index(line.tone) for line in lines), default=len(TONE_ORDER) - 1)
    # What has not been done is a warning once nobody is going to do it.
    tone = TONE_ORDER[worst]
    if tone == "waiting":
        return "warning" if summary.stopped else "good"
    return tone


def _facts(summary: ManySummary) -> list[tuple[str, str]]:
    """A few numbers about all batches together."""
    rows = [row for row in summary.rows if row.has_result]
    facts = [
        ("batches", str(len(summary.rows))),
        ("with a result", str(len(rows))),
        ("with an error", str(len(summary.failures))),
        ("pictures", str(sum(row.pictures or 0 for row in rows))),
        ("placed", str(sum(row.placed or 0 for row in rows))),
        ("doubtful", str(sum(row.doubtful or 0 for row in rows))),
        ("failed", str(sum(row.failed or 0 for row in rows))),
        ("time", shown_time(summary.seconds)),
    ]
    if summary.waiting:
        facts.insert(3, ("not done", str(len(summary.waiting))))
    return facts


def _link(row: BatchRow, folder: Path) -> str:
    """The report of a batch, or else its folder, as a link from the page; empty without both."""
    if not row.has_result:
        return ""
    place = row.report or row.folder
    inside = place.relative_to(folder) if place.is_relative_to(folder) else place
    # A name may hold bytes that are no text, and signs that have a meaning in a link.
    return "./" + quote(str(inside).encode("utf-8", "surrogateescape"))
