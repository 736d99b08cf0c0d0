"""The ablation on faces: protocols x methods x subjects x seeds.

A finished alignment is one line of JSON in the log, so a killed run goes on where it was.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.align import align
from rankfold.datasets.synthetic import Batch
from rankfold.errors import ConvergenceWarning, InputError
from rankfold.metrics import alignment_error
from rankfold.result import Alignment
from rankfold_lab.evaluate.faces import PROTOCOLS, make_batch
from rankfold_lab.evaluate.logs import Steps, read_log, run_logged

BARE = {"features": None, "rescue": False, "start": "given", "shared": 0}

# RASL as published: every step from scratch, to all digits, and nothing taken out.
RASL = {"method": "rasl", "schedule": "published", "shared": 0}

# What is compared. A row with "at" only decomposes, at the transforms that another row found.
ROWS: dict[str, dict[str, Any]] = {
    "RASL": RASL,
    "RASL reweighted": {**RASL, "rank_surrogate": "reweighted"},
    "RASL + features": {**RASL, "features": "contrast"},
    "RASL + features + rescue": {**RASL, "features": "contrast", "rescue": True},
    "MeADMM average, bare": {
        "method": "meadmm",
        "projector": "average",
        "rank_surrogate": "nuclear",
        **BARE,
    },
    "MeADMM regression, bare": {"method": "meadmm", "rank_surrogate": "nuclear", **BARE},
    "MeADMM": {"method": "meadmm"},
    "MeADMM, nothing taken out": {"method": "meadmm", "shared": 0},
    "RPCA at MeADMM's transforms": {"method": "rpca", "shared": 0, "at": "MeADMM"},
    "RPCA reweighted, same": {
        "method": "rpca",
        "rank_surrogate": "reweighted",
        "shared": 0,
        "at": "MeADMM",
    },
}
REFERENCE = "RASL"
# Pictures whose eyes are farther off than this, in frame px, are lost.
LOST = 2


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
) -> Steps:
    """Run what is not in the log yet; yields (done, of) after every trial."""
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise InputError(f"unknown row {unknown[0]!r}; choose from {', '.join(ROWS)}")
    path = Path(log)
    work = _missing(todo, rows, read_log(path))
    return run_logged(path, run_cell, [(str(root), cell, missing) for cell, missing in work], jobs)


def _missing(
    todo: list[Cell], rows: list[str], records: list[dict[str, Any]]
) -> list[tuple[Cell, list[str]]]:
    """Return the trials that are not complete, each with the rows that it lacks."""
    have = {(r["protocol"], r["subject"], r["seed"], r["row"]) for r in records}
    work = []
    for cell in todo:
        trial = (cell.protocol, cell.subject, cell.seed)
        missing = [row for row in rows if (*trial, row) not in have]
        if missing:
            work.append((cell, missing))
    return work


def run_cell(root: str, cell: Cell, rows: list[str]) -> list[dict[str, Any]]:
    """Run some rows of one trial; those at whose transforms they decompose are run as well."""
    protocol = PROTOCOLS[cell.protocol]
    batch = make_batch(root, cell.subject, protocol, cell.seed)
    records: list[dict[str, Any]] = []
    transforms: dict[str, Any] = {}
    needed = {ROWS[row]["at"] for row in rows if "at" in ROWS[row]} - set(rows)
    for row in [*needed, *rows]:
        options = dict(ROWS[row])
        at = options.pop("at", None)
        if protocol.coarse and options["method"] == "rasl" and "features" in options:
            options["start"] = "coarse"
        start = transforms[at] if at else batch.start
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = align(batch.images, frame=batch.frame, init=start, **options)
        transforms[row] = result.transforms
        record = {"protocol": cell.protocol, "subject": cell.subject, "seed": cell.seed, "row": row}
        record |= measure(result, batch)
        record["seconds"] = time.perf_counter() - began
        records.append(record)
    return [record for record in records if record["row"] in rows]


def measure(result: Alignment, batch: Batch) -> dict[str, float]:
    """Return eye errors, recovery errors in unit-norm rows, rank, and how right the flags were."""
    error = alignment_error(result.transforms, batch.truth, batch.points)
    norms = np.sqrt(np.nansum(result.aligned**2, axis=(1, 2), keepdims=True))
    clean = result.apply(batch.clean) / norms
    hidden = [
        np.where(np.isnan(picture), np.nan, mask)
        for picture, mask in zip(batch.clean, batch.hidden, strict=True)
    ]
    seen = result.valid & np.isfinite(clean)
    covered = seen & (np.nan_to_num(result.apply(hidden)) > 0.5)
    low_rank = result.low_rank / norms

    def off(where: Any) -> float:
        """Return the relative error on some pixels."""
        difference = float(np.linalg.norm((low_rank - clean)[where]))
        return difference / max(float(np.linalg.norm(clean[where])), 1e-300)

    lost = error.each > LOST
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
