"""The ablation on faces: protocols x methods x subjects x seeds, resumable, as a table with wins and a paired t.

One cell is one alignment; a finished cell is one line of JSON, so a killed run goes on where it was.
"""

from __future__ import annotations

import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from rankfold.align import align
from rankfold.datasets.synthetic import Batch
from rankfold.errors import ConvergenceWarning, InputError
from rankfold.experiments.faces import PROTOCOLS, make_batch
from rankfold.metrics import alignment_error
from rankfold.result import Alignment

BARE = {"features": None, "rescue": False, "coarse": False}

# What is compared. A row with "at" only decomposes, at the transforms that another row found.
ROWS: dict[str, dict[str, Any]] = {
    "RASL": {"method": "rasl"},
    "RASL reweighted": {"method": "rasl", "rank_surrogate": "reweighted"},
    "RASL + features": {"method": "rasl", "features": "contrast"},
    "RASL + features + rescue": {"method": "rasl", "features": "contrast", "rescue": True},
    "MeADMM average, bare": {
        "method": "meadmm",
        "projector": "average",
        "rank_surrogate": "nuclear",
        **BARE,
    },
    "MeADMM regression, bare": {"method": "meadmm", "rank_surrogate": "nuclear", **BARE},
    "MeADMM": {"method": "meadmm"},
    "RPCA at MeADMM's transforms": {"method": "rpca", "at": "MeADMM"},
    "RPCA reweighted, same": {"method": "rpca", "rank_surrogate": "reweighted", "at": "MeADMM"},
}
REFERENCE = "RASL"


@dataclass(frozen=True)
class Cell:
    """One trial: all rows on the same pictures."""

    protocol: str
    subject: int
    seed: int


def cells(protocols: Iterable[str], subjects: Iterable[int], seeds: int) -> list[Cell]:
    """Every combination, in a fixed order."""
    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown:
        raise InputError(f"unknown protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}")
    subjects = list(subjects)
    return [Cell(p, s, k) for p in protocols for s in subjects for k in range(seeds)]


def run(
    root: str | Path, log: str | Path, todo: list[Cell], rows: list[str], jobs: int = 1
) -> Iterator[tuple[int, int]]:
    """Run what is not in the log yet; yields (done, of) after every trial."""
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise InputError(f"unknown row {unknown[0]!r}; choose from {', '.join(ROWS)}")
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    have = {(r["protocol"], r["subject"], r["seed"], r["row"]) for r in read_log(path)}
    work = [
        (cell, missing)
        for cell in todo
        if (missing := [r for r in rows if (cell.protocol, cell.subject, cell.seed, r) not in have])
    ]
    # spawned, not forked: the parent may have threads
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(jobs, mp_context=context) as pool,
        path.open("a", encoding="utf-8") as file,
    ):
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            file.write("\n")  # a kill cut the last line short: do not write on it
        futures = [pool.submit(run_cell, str(root), cell, missing) for cell, missing in work]
        for done, future in enumerate(as_completed(futures), 1):
            file.writelines(json.dumps(record) + "\n" for record in future.result())
            file.flush()
            yield done, len(work)


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The finished cells; a last line that a kill cut short is passed over."""
    records = []
    if Path(path).exists():
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return records


def run_cell(root: str, cell: Cell, rows: list[str]) -> list[dict[str, Any]]:
    """All missing rows of one trial."""
    protocol = PROTOCOLS[cell.protocol]
    batch = make_batch(root, cell.subject, protocol, cell.seed)
    records: list[dict[str, Any]] = []
    transforms: dict[str, Any] = {}
    needed = {ROWS[row]["at"] for row in rows if "at" in ROWS[row]} - set(rows)
    for row in [*needed, *rows]:
        options = dict(ROWS[row])
        at = options.pop("at", None)
        if protocol.coarse and options.get(
            "features", "contrast" if options["method"] == "meadmm" else None
        ):
            options["coarse"] = True
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = transforms[at] if at else batch.start
            result = align(batch.images, frame=batch.frame, init=start, **options)
        transforms[row] = result.transforms
        record = {"protocol": cell.protocol, "subject": cell.subject, "seed": cell.seed, "row": row}
        record |= measure(result, batch) | {"seconds": time.perf_counter() - began}
        records.append(record)
    return [r for r in records if r["row"] in rows]


def measure(result: Alignment, batch: Batch) -> dict[str, float]:
    """Eye error, recovery on hidden and on all pixels in unit-norm rows, rank, and how right the flags were."""
    error = alignment_error(result.transforms, batch.truth, batch.points)
    norms = np.sqrt(np.nansum(result.aligned**2, axis=(1, 2), keepdims=True))
    clean = result.apply(batch.clean) / norms
    hidden = [
        np.where(np.isnan(c), np.nan, h) for c, h in zip(batch.clean, batch.hidden, strict=True)
    ]
    seen = result.valid & np.isfinite(clean)
    covered = seen & (np.nan_to_num(result.apply(hidden)) > 0.5)
    low_rank = result.low_rank / norms

    def off(where: Any) -> float:
        return float(np.linalg.norm((low_rank - clean)[where])) / max(
            float(np.linalg.norm(clean[where])), 1e-300
        )

    lost = error.each > 2
    return {
        "eye": error.mean,
        "eye_std": error.std,
        "eye_max": error.max,
        "above_1": float((error.each > 1).mean()),
        "above_3": float((error.each > 3).mean()),
        "rec_occ": off(covered) if covered.any() else float("nan"),
        "rec_all": off(seen),
        "rank": result.rank,
        "lost": int(lost.sum()),
        "flagged": int(result.failed.sum()),
        "flagged_lost": int((lost & result.failed).sum()),
    }


MEASURES = {
    "eye": ".3f",
    "above_1": ".1%",
    "above_3": ".1%",
    "rec_occ": ".3f",
    "rec_all": ".3f",
    "rank": ".0f",
}


def table(records: list[dict[str, Any]], protocol: str) -> str:
    """Markdown: means over trials, the ratio to RASL, subjects won against it, and a paired t over subjects."""
    mine = [r for r in records if r["protocol"] == protocol]
    names = [name for name in ROWS if any(r["row"] == name for r in mine)]
    head = (
        "| row | trials | "
        + " | ".join(MEASURES)
        + " | eye: x, won, t | rec_occ: x, won, t | rec_all: x, won, t | s |"
    )
    lines = [head, "|" + "---|" * (head.count("|") - 1)]
    for name in names:
        rows = [r for r in mine if r["row"] == name]
        means = [
            format(float(np.nanmean([r[m] for r in rows])), form) for m, form in MEASURES.items()
        ]
        against = [_against(mine, name, m) for m in ("eye", "rec_occ", "rec_all")]
        seconds = f"{np.mean([r['seconds'] for r in rows]):.1f}"
        lines.append(f"| {name} | {len(rows)} | " + " | ".join([*means, *against, seconds]) + " |")
    return "\n".join(lines)


def _against(records: list[dict[str, Any]], name: str, measure: str) -> str:
    """Ratio of means to the reference, subjects won (mean of a subject's seeds), paired t over subjects."""
    mine, reference = (_by_subject(records, row, measure) for row in (name, REFERENCE))
    common = sorted(mine.keys() & reference.keys())
    if name == REFERENCE or not common:
        return ""
    a, b = np.array([mine[s] for s in common]), np.array([reference[s] for s in common])
    t = f"{stats.ttest_rel(a, b).statistic:.1f}" if len(common) > 1 and np.ptp(a - b) > 0 else "-"
    return f"{a.mean() / b.mean():.2f}, {(a < b).sum()}/{len(common)}, {t}"


def _by_subject(records: list[dict[str, Any]], name: str, measure: str) -> dict[int, float]:
    """Mean over the seeds of each subject."""
    values: dict[int, list[float]] = {}
    for r in records:
        if r["row"] == name:
            values.setdefault(r["subject"], []).append(r[measure])
    return {subject: float(np.nanmean(v)) for subject, v in values.items()}


def page(records: list[dict[str, Any]], protocols: Iterable[str]) -> str:
    """All tables, and how right the flags were."""
    parts = []
    for name in protocols:
        if any(r["protocol"] == name for r in records):
            parts.append(f"### {name}\n\n{describe(name)}\n\n{table(records, name)}\n")
    chosen = list(protocols)
    parts.append("### Flags\n")
    for row in ("RASL", "MeADMM"):
        parts.append(f"- {flags(records, row, lambda r: r['protocol'] in chosen)}")
    return "\n".join(parts) + "\n"


def describe(name: str) -> str:
    """One sentence on a protocol."""
    p = PROTOCOLS[name]
    truth = "real pictures" if p.kind == "real" else "clipped Lambertian pictures"
    return (
        f"{truth}, lamps up to {p.lights} degrees; turned by up to {p.rotation:g} degrees and shifted by up to "
        f"{p.translation:g} px; {p.occluded:.0%} of them behind: {p.occluder}."
    )


def flags(records: list[dict[str, Any]], name: str, where: Callable[[dict[str, Any]], bool]) -> str:
    """Precision and recall of the failed flag of one row, for pictures off by more than 2 px."""
    chosen = [r for r in records if r["row"] == name and where(r)]
    lost, flagged, both = (
        sum(r[key] for r in chosen) for key in ("lost", "flagged", "flagged_lost")
    )
    precision = f"{both / flagged:.2f}" if flagged else "- (nothing flagged)"
    recall = f"{both / lost:.2f}" if lost else "- (nothing lost)"
    return f"{name}: {lost} lost, {flagged} flagged; precision {precision}, recall {recall}"
