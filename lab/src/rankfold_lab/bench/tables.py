"""The figures of every case as tables of text, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import rasl_set
from rankfold_lab.bench.objectives import counting, gaps, no_worse
from rankfold_lab.bench.profiling import PARTS
from rankfold_lab.bench.rounds import ratio
from rankfold_lab.bench.setting import Rows
from rankfold_lab.bench.store import Records
from rankfold_lab.bench.verdicts import verdicts

Table = tuple[list[str], list[list[str]]]


def verdict_table(records: Records) -> Table:
    """The bars."""
    heads = ["what", "bar", "measured", "verdict"]
    return heads, [[v.what, v.bar, v.measured, v.verdict] for v in verdicts(records)]


def rpca_table(rows: Rows) -> Table:
    """Return every implementation on every matrix."""
    heads = [
        "matrix",
        "threads",
        "implementation",
        "median, s",
        "x rankfold",
        "peak, MiB",
        "gap",
        "counts?",
    ]
    out = []
    for row, gap, good in zip(rows, gaps(rows), counting(rows), strict=True):
        cells = [row["state"], "", "", "", "no"]
        if row["state"] == "measured":
            cells = [
                _number(row["median"]),
                _ratio(row, rows, "matrix"),
                f"{row['memory']:.0f}",
                f"{gap:.1e}",
                "yes" if good else "no: gap",
            ]
        name = _sized(row["matrix"], row.get("shape"))
        out.append([name, str(row["threads"]), _named(row), *cells])
    return heads, out


def rasl_table(rows: Rows) -> Table:
    """Return every implementation on every set."""
    heads = [
        "set",
        "threads",
        "implementation",
        "median, s",
        "stated, s",
        "x rankfold",
        "outer",
        "peak, MiB",
        "objective",
        "no worse than before?",
    ]
    out = []
    for row in rows:
        cells = [
            row["set"],
            str(row["threads"]),
            _named(row),
            *_times(row, _ratio(row, rows, "set")),
            str(row.get("outer", "")),
            f"{row['memory']:.0f}" if row.get("memory") else "",
            _objective(row),
            _beside_before(row),
        ]
        out.append(cells)
    return heads, out


def _times(row: dict[str, Any], ratio: str) -> list[str]:
    """Return the measured time or what went wrong, the stated time, and the ratio."""
    median = row.get("median")
    shown = _number(median) if median else ""
    if row["state"] == "stated":
        return ["", shown, f"{ratio} (stated)"]
    return [shown or row["state"], "", ratio]


def _objective(row: dict[str, Any]) -> str:
    """Return the objective; n/a for a run that does not tell it."""
    if "objective" in row:
        return f"{row['objective']:.4f}"
    return "n/a" if row.get("median") else ""


def _beside_before(row: dict[str, Any]) -> str:
    """Return whether ours ends no worse than before, and where it ended before."""
    judged = no_worse(row) if row["ours"] else None
    if judged is None:
        return ""
    return f"{'yes' if judged else 'no'} ({rasl_set(row['set'])['before']:.4f})"


def floor_table(rows: Rows) -> Table:
    """Ours beside the floor, in milliseconds."""
    heads = [
        "matrix",
        "threads",
        "Gram product",
        "product",
        "stream",
        "floor",
        "ours",
        "ours / floor",
        "with setting up",
    ]
    out = []
    for row in rows:
        if row.get("kind") == "floor":
            parts = [_ms(row["parts"][name]) for name in ("Gram product", "product", "stream")]
            tail = [
                _ms(row["floor"]),
                _ms(row["ours"]),
                f"{row['ratio']:.2f}",
                _ms(row["with_setup"]),
            ]
            out.append([_sized(row["matrix"], row["shape"]), str(row["threads"]), *parts, *tail])
    return heads, out


def methods_table(rows: Rows) -> Table:
    """Return MeADMM beside RASL."""
    heads = [
        "what",
        "threads",
        "RASL, ms",
        "MeADMM, ms",
        "MeADMM / RASL",
        "with Φ for nothing",
        "mean rank, RASL",
        "MeADMM",
    ]
    out = []
    for row in rows:
        if row.get("kind") == "methods":
            what = f"an iteration, {row['shape']}"
            last = [f"{row['free']:.2f}", *(f"{rank:.0f}" for rank in row["ranks"])]
        elif row.get("kind") == "alignments":
            what = f"alignment of {row['set']}"
            last = ["", "", ""]
        else:
            continue
        times = [_ms(row["rasl"]), _ms(row["meadmm"]), f"{row['ratio']:.2f}"]
        out.append([what, str(row["threads"]), *times, *last])
    return heads, out


def defaults_table(rows: Rows) -> Table:
    """What people get who choose nothing."""
    heads = [
        "what",
        "threads",
        "implementation",
        "median, s",
        "peak, MiB",
        "mean error, px",
        "at most",
    ]
    out = []
    for row in rows:
        if row["kind"] != "memory":
            measured = row["state"] == "measured"
            memory = f"{row['memory']:.0f}" if row.get("memory") else ""
            error = [f"{row[name]:.3f}" if name in row else "" for name in ("error", "largest")]
            time = _number(row["median"]) if measured else row["state"]
            out.append(
                [row["set"], str(row["threads"]), row["implementation"], time, memory, *error]
            )
    return heads, out


def growth_table(rows: Rows) -> Table:
    """Milliseconds for every size."""
    heads = ["images", "pixels", "an iteration, ms"]
    shown = [_ms(row["seconds"]) if row.get("seconds") else row["state"] for row in rows]
    sizes = [[f"{row['images']:,}", f"{row['pixels']:,}"] for row in rows]
    return heads, [[*size, text] for size, text in zip(sizes, shown, strict=True)]


def start_table(rows: Rows) -> Table:
    """Seconds."""
    out = []
    for row in rows:
        if row["kind"] == "import":
            out.append(["import rankfold", _number(row["median"])])
        else:
            out.append(["first alignment of all, compiles", _number(row["first"])])
            out.append(["first alignment of the next process", _number(row["second"])])
    return ["what", "s"], out


def profile_table(rows: Rows) -> Table:
    """Shares of an iteration."""
    heads = ["problem", "an iteration, ms", *PARTS]
    return heads, [
        [
            _sized(row["problem"], row["shape"]),
            f"{row['milliseconds']:.2f}",
            *(f"{row['shares'][part]:.0%}" for part in PARTS),
        ]
        for row in rows
    ]


TABLES: dict[str, list[tuple[str, Callable[[Rows], Table]]]] = {
    "profile": [("Where the time of an inner iteration goes", profile_table)],
    "rpca": [("Robust PCA", rpca_table)],
    "rasl": [("RASL", rasl_table)],
    "defaults": [("As it comes", defaults_table)],
    "iteration": [
        ("An inner iteration and its floor, ms", floor_table),
        ("MeADMM beside RASL", methods_table),
    ],
    "growth": [("Growth", growth_table)],
    "start": [("Start", start_table)],
}


def tables_of(records: Records, cases: list[str]) -> Iterator[tuple[str, Table]]:
    """Yield the titles and tables of some cases, and the bars."""
    for case in cases:
        for title, build in TABLES[case]:
            yield title, build(records[case]["rows"])
    yield "Bars", verdict_table(records)


def _ratio(row: dict[str, object], rows: Rows, key: str) -> str:
    """Over rankfold as it comes with as many threads (the toolbox: with one)."""
    threads = 1 if row["implementation"] == TOOLBOX else row["threads"]
    for other in rows:
        same = (
            other[key] == row[key]
            and other["threads"] == threads
            and other["implementation"] == "rankfold"
        )
        if same and other.get("median") and isinstance(row.get("median"), float):
            return f"{ratio(row, other):.2f}"
    return ""


def _named(row: dict[str, object]) -> str:
    """An implementation with its version."""
    return (
        f"{row['implementation']} {row['version']}"
        if "version" in row
        else str(row["implementation"])
    )


def _sized(name: str, shape: list[int] | None) -> str:
    """A name and a size."""
    return name if shape is None else f"{name}, {' x '.join(f'{value:,}' for value in shape)}"


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}"


def _ms(seconds: float) -> str:
    """Milliseconds with three digits, never as a power of ten."""
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
