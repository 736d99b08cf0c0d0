"""The table of every experiment, made from its finished cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]
# Headings, and rows of text.
Table = tuple[list[str], list[list[str]]]

# How the methods of the cases are called on the pages.
NAMES = {
    "rasl": "RASL",
    "rasl_coarse": "RASL + coarse",
    "meadmm": "MeADMM",
    "paper": "MeADMM, the paper's own",
}


def table(experiment: str, rows: Rows) -> Table:
    """Return the table of one experiment."""
    return TABLES[experiment](rows)


def _eyes(rows: Rows) -> Table:
    """Return Table 2: the start and every method, under moderate and under all lights."""
    heads = ["light", "", "mean", "std", "max", "above 1 px", "whole pixels: mean / std / max"]
    out = []
    for lights, label in ((50, "moderate"), (130, "all 64")):
        some = [row for row in rows if row["lights"] == lights]
        # The start is the same for all methods, and taken from the cells of RASL.
        start = [row for row in some if row["method"] == "rasl"]
        if start:
            out.append([label, "initial", *_spread(start, "initial_"), "", ""])
        for method in ("rasl", "meadmm", "paper"):
            own = [row for row in some if row["method"] == method]
            if own:
                out.append([label, NAMES[method], *_spread(own, ""), *_whole_pixels(own)])
    return heads, out


def _spread(rows: Rows, prefix: str) -> list[str]:
    """Return mean and standard deviation, averaged over the subjects, and the largest error."""
    mean = np.mean([row[f"{prefix}mean"] for row in rows])
    std = np.mean([row[f"{prefix}std"] for row in rows])
    largest = max(row[f"{prefix}max"] for row in rows)
    return [f"{mean:.3f}", f"{std:.3f}", f"{largest:.2f}"]


def _whole_pixels(rows: Rows) -> list[str]:
    """Return the share above a pixel, and the spread of errors rounded to whole pixels."""
    above = np.mean([row["above_1"] for row in rows])
    mean = np.mean([row["whole_mean"] for row in rows])
    std = np.mean([row["whole_std"] for row in rows])
    largest = max(row["whole_max"] for row in rows)
    return [f"{above:.1%}", f"{mean:.2f} / {std:.2f} / {largest:.0f}"]


def _by_method(
    columns: dict[str, Callable[[dict[str, Any]], str]], *keys: str
) -> Callable[[Rows], Table]:
    """Return what builds a table with one row for every combination of ``keys`` and method."""

    def build(rows: Rows) -> Table:
        out = []
        for row in rows:
            where = [str(row[key]).replace("_", " ") for key in keys]
            values = [form(row) for form in columns.values()]
            out.append([*where, NAMES[row["method"]], *values])
        return [*keys, "method", *columns], out

    return build


def _number(key: str, style: str = ".3f") -> Callable[[dict[str, Any]], str]:
    """Return what prints one number of a cell; nothing where the cell has none."""
    return lambda row: format(row[key], style) if key in row else ""


def _text(key: str) -> Callable[[dict[str, Any]], str]:
    """Return what prints a word of a cell; nothing where the cell has none."""
    return lambda row: str(row.get(key, ""))


TABLES: dict[str, Callable[[Rows], Table]] = {
    "table2": _eyes,
    "yale": _by_method(
        {
            "still dark": _number("dark", ".1%"),
            "of the median face": _number("dark_median", ".1%"),
            "of the rank-1 fit": _number("dark_one", ".1%"),
            "of the input": _number("dark_input", ".1%"),
            "of the truth": _number("dark_truth", ".1%"),
            "error on all": _number("error"),
            "second/first singular value": _number("second"),
            "rank": _number("rank", "d"),
        },
        "subject",
        "sparsity",
    ),
    "ar": _by_method(
        {
            "eyes": _number("sunglasses"),
            "of the median face": _number("sunglasses_median"),
            "of the rank-1 fit": _number("sunglasses_one"),
            "mouths": _number("scarf"),
            "of the median face ": _number("scarf_median"),
            "of the rank-1 fit ": _number("scarf_one"),
            "error on the free pictures": _number("error"),
            "on the lit ones": _number("error_lit"),
            "second/first singular value": _number("second"),
            "rank": _number("rank", "d"),
        },
        "person",
        "sparsity",
    ),
    "usps": _by_method(
        {
            "failures of 50": _number("failures", "d"),
            "mean, px": _number("mean"),
            "largest": _number("largest", ".1f"),
        },
        "change",
        "digit",
    ),
    "windows": _by_method(
        {
            "error on changed pixels": _number("changed", ".4f"),
            "on all": _number("all", ".4f"),
            "hand-picked points, px": _number("points", ".2f"),
            "most likely lost": _number("worst", ".0%"),
            "rank": _number("rank", "d"),
        },
        "kind",
    ),
    "real": _by_method(
        {
            "before, px": _number("before", ".2f"),
            "after": _number("after", ".2f"),
            "verdict": _text("verdict"),
            "failed": _number("failed", "d"),
        },
        "set",
    ),
    "speed": _by_method(
        {
            "batch, s": _number("batch", ".1f"),
            "a picture, s": _number("image", ".2f"),
            "inner iterations": _number("inner", "d"),
            "an iteration, ms": _number("iteration_ms", ".1f"),
        }
    ),
}
