"""The bars, each with what was measured and a plain verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import declared, rasl_set
from rankfold_lab.bench.growth import exponent
from rankfold_lab.bench.rounds import ratio
from rankfold_lab.bench.setting import Rows
from rankfold_lab.bench.store import Records
from rankfold_lab.timing import paired

REACHED, MISSED, OPEN = "reached", "missed", "not measured"


@dataclass(frozen=True)
class Verdict:
    """One bar."""

    what: str
    bar: str
    measured: str
    verdict: str


def verdicts(records: Records) -> list[Verdict]:
    """All bars, in the order of the cases; those of cases that were not run are not measured."""
    rows = {
        case: records.get(case, {}).get("rows", [])
        for case in ("rpca", "rasl", "iteration", "growth", "start")
    }
    found = [
        *_rpca(rows["rpca"]),
        *_rasl(rows["rasl"]),
        *_methods(rows["iteration"]),
        *_floor(rows["iteration"]),
        *_growth(rows["growth"]),
        *_start(rows["start"]),
    ]
    tested = "not timed here: bits across threads by the tests of equality, figures by `rankfold-lab reproduce`"
    return [*found, Verdict("results unchanged", "as before", tested, "see the tests")]


def gaps(rows: Rows) -> list[float | None]:
    """How far the objective of every row lies above the least one of its matrix, relative."""
    found = []
    for row in rows:
        least = min(
            (r["objective"] for r in rows if r["matrix"] == row["matrix"] and "objective" in r),
            default=None,
        )
        found.append(row["objective"] / least - 1 if "objective" in row and least else None)
    return found


def counting(rows: Rows) -> list[bool]:
    """Whether the time of a row counts: its objective is as good as the best one found."""
    bar = _bars()["objective_gap"]
    return [gap is not None and gap <= bar for gap in gaps(rows)]


def no_worse(row: dict[str, Any]) -> bool | None:
    """Whether an alignment ends no worse than before; None where nothing is declared for the set."""
    names = [one["name"] for one in declared()["rasl"]["sets"]]
    if "objective" not in row or row["set"] not in names:
        return None
    return bool(row["objective"] <= rasl_set(row["set"])["before"] + declared()["rasl"]["digits"])


def threads_name(threads: int) -> str:
    """How threads are called in tables."""
    return "one thread" if threads == 1 else f"{threads} threads"


def _bars() -> dict[str, float]:
    bars: dict[str, float] = declared()["bars"]
    return bars


def _judged(what: str, value: float, bar: float, measured: str, at_least: bool) -> Verdict:
    """A number against a bar."""
    good = value >= bar if at_least else value <= bar
    sign = "≥" if at_least else "≤"
    return Verdict(what, f"{sign} {bar:g}", measured, REACHED if good else MISSED)


def _rpca(rows: Rows) -> Iterator[Verdict]:
    """Ours that counts against the quickest peer that counts."""
    counted = [row for row, good in zip(rows, counting(rows), strict=True) if good]
    bar = _bars()["rpca"]
    for name, threads in _keys(rows, declared()["rpca"]["matrices"]):
        what = f"robust PCA, {name}, {threads_name(threads)}: x faster than the quickest peer"
        some = [row for row in counted if row["matrix"] == name and row["threads"] == threads]
        ours, peer = _quickest(some, True), _quickest(some, False)
        if not any(row["matrix"] == name for row in rows):
            yield Verdict(what, f"≥ {bar:g}", "-", OPEN)
        elif ours is None:
            yield Verdict(
                what, f"≥ {bar:g}", "no time of ours counts: the objective is too high", MISSED
            )
        elif peer is None:
            yield Verdict(what, f"≥ {bar:g}", "no peer that counts", OPEN)
        else:
            yield _judged(what, ratio(peer, ours), bar, _ratio(peer, ours), at_least=True)


def _rasl(rows: Rows) -> Iterator[Verdict]:
    """Ours that ends no worse than before against the peer and the toolbox."""
    bars = {"rasl (PyPI)": _bars()["rasl"], TOOLBOX: _bars()["toolbox"]}
    for name, threads in _keys(rows, declared()["rasl"]["sets"]):
        mine = [row for row in rows if row["set"] == name and row["threads"] == threads]
        ours = _quickest([row for row in mine if row["ours"] and no_worse(row)], True)
        for peer_name, bar in bars.items():
            what = f"RASL, {name}, {threads_name(threads)}: x faster than {peer_name}"
            # peers run with one thread; ours with all are held against that as well
            peers = [
                row for row in rows if row["set"] == name and row["implementation"] == peer_name
            ]
            package = next(
                (
                    row
                    for row in rows
                    if row["set"] == name and row["implementation"] == "rasl (PyPI)"
                ),
                {},
            )
            if ours is None:
                reason = (
                    "no time of ours counts: the objective is worse than before" if mine else "-"
                )
                yield Verdict(what, f"≥ {bar:g}", reason, MISSED if mine else OPEN)
            elif not peers or peers[0].get("median") is None:
                yield Verdict(what, f"≥ {bar:g}", peers[0]["state"] if peers else "-", OPEN)
            elif peers[0]["state"] != "stated":
                yield _judged(
                    what, ratio(peers[0], ours), bar, _ratio(peers[0], ours), at_least=True
                )
            elif package.get("median") is None:
                yield Verdict(
                    what,
                    f"≥ {bar:g}",
                    "stated beside a time of rasl (PyPI), which was not measured",
                    OPEN,
                )
            else:
                beside = peers[0]["median"] / rasl_set(name)["stated_rasl"]
                value = beside * ratio(package, ours)
                text = f"{value:.1f} (stated {beside:.2f} x the time of rasl (PyPI), not measured in this run)"
                yield Verdict(
                    what,
                    f"≥ {bar:g}",
                    text,
                    f"{REACHED if value >= bar else MISSED}, by stated times",
                )


def _methods(rows: Rows) -> Iterator[Verdict]:
    """MeADMM over RASL."""
    kinds = (
        ("methods", "shape", "an inner iteration", _bars()["meadmm_iteration"]),
        ("alignments", "set", "a whole alignment", _bars()["meadmm_alignment"]),
    )
    for kind, key, text, bar in kinds:
        some = [row for row in rows if row.get("kind") == kind]
        for row in some:
            what = f"MeADMM over RASL, {text}, {row[key]}, {threads_name(row['threads'])}"
            measured = f"{row['ratio']:.2f} ({_seconds(row['meadmm'])} / {_seconds(row['rasl'])})"
            yield _judged(what, row["ratio"], bar, measured, at_least=False)
        if not some:
            yield Verdict(f"MeADMM over RASL, {text}", f"≤ {bar:g}", "-", OPEN)


def _floor(rows: Rows) -> Iterator[Verdict]:
    """Ours over the floor, and what more threads give."""
    bar = _bars()["floor"]
    for matrix in declared()["iteration"]["matrices"]:
        some = [
            row for row in rows if row.get("kind") == "floor" and row["matrix"] == matrix["name"]
        ]
        for row in some:
            size = " x ".join(f"{value:,}" for value in row["shape"])
            what = f"inner iteration over the floor, {matrix['name']} ({size}), {threads_name(row['threads'])}"
            measured = f"{row['ratio']:.2f} ({_seconds(row['ours'])} / {_seconds(row['floor'])})"
            yield _judged(what, row["ratio"], bar, measured, at_least=False)
        if not some:
            yield Verdict(
                f"inner iteration over the floor, {matrix['name']}", f"≤ {bar:g}", "-", OPEN
            )
    largest = declared()["iteration"]["matrices"][-1]["name"]
    some = [row for row in rows if row.get("kind") == "floor" and row["matrix"] == largest]
    what = f"all threads over one, {largest}"
    if len(some) < 2:
        yield Verdict(what, f"≥ {_bars()['threads']:g}", "-", OPEN)
    else:
        one, many = some[0], some[-1]
        value = paired(one["rounds"], many["rounds"])
        measured = f"{value:.2f} ({_seconds(one['ours'])} / {_seconds(many['ours'])})"
        yield _judged(what, value, _bars()["threads"], measured, at_least=True)


def _growth(rows: Rows) -> Iterator[Verdict]:
    """The exponent in pixels."""
    sizes = [row["pixels"] for row in rows if row["axis"] == "pixels" and row.get("seconds")]
    what, bar = "growth with pixels, exponent", _bars()["growth"]
    if len(sizes) < 2:
        yield Verdict(what, f"≤ {bar:g}", "-", OPEN)
    else:
        value = exponent(rows, "pixels")
        measured = f"{value:.2f} (from {min(sizes):,} to {max(sizes):,})"
        yield _judged(what, value, bar, measured, at_least=False)


def _start(rows: Rows) -> Iterator[Verdict]:
    """Import time, and what it imports."""
    some = [row for row in rows if row["kind"] == "import"]
    bar, names = _bars()["import_seconds"], ", ".join(declared()["start"]["forbidden"])
    if not some:
        yield Verdict("import rankfold, s", f"≤ {bar:g}", "-", OPEN)
        return
    yield _judged(
        "import rankfold, s", some[0]["median"], bar, f"{some[0]['median']:.2f}", at_least=False
    )
    bad = some[0]["imported"]
    what = f"import rankfold without {names}"
    yield Verdict(what, "none", ", ".join(bad) or "none", MISSED if bad else REACHED)


def _keys(rows: Rows, known: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Names in the order of the declaration, with every number of threads that was measured (one, if none was)."""
    threads = sorted({row["threads"] for row in rows}) or [1]
    return [(one["name"], count) for one in known for count in threads]


def _quickest(rows: Rows, ours: bool) -> dict[str, Any] | None:
    """The row with the shortest time."""
    some = [row for row in rows if row["ours"] == ours and row.get("median") is not None]
    return min(some, key=lambda row: float(row["median"]), default=None)


def _ratio(peer: dict[str, Any], ours: dict[str, Any]) -> str:
    """A ratio with what it is made of."""
    names = f"{peer['implementation']} {_seconds(peer['median'])} / {ours['implementation']} {_seconds(ours['median'])}"
    return f"{ratio(peer, ours):.1f} ({names})"


def _seconds(value: float) -> str:
    """Three digits and a unit."""
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"
