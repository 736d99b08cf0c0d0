"""Rows as the cases measure them, and the verdict on them."""

from rankfold_lab.bench.verdicts import verdicts

WHEN = {
    "when": "2026-01-01T00:00+00:00",
    "machine": {"processor": "a", "cores": 2, "python": "3", "numpy": "2", "blas": "b"},
}


def rpca(name, seconds, objective, ours=False):
    row = {
        "matrix": "video",
        "shape": [51, 2304],
        "implementation": name,
        "ours": ours,
        "threads": 1,
    }
    return {**row, "state": "measured", "median": seconds, "memory": 100.0, "objective": objective}


def rasl(name, seconds, objective=None, state="measured", ours=False):
    row = {
        "set": "Al_Gore",
        "implementation": name,
        "ours": ours,
        "threads": 1,
        "state": state,
        "median": seconds,
    }
    return row if objective is None else {**row, "objective": objective}


def judged(part, **rows):
    records = {case: {"rows": some} for case, some in rows.items()}
    return next(v for v in verdicts(records) if part in v.what)
