"""The bars, each with what was measured and a plain verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import declared, rasl_set
from rankfold_lab.bench.defaults import EARLIER, OURS, STACKREG
from rankfold_lab.bench.growth import exponent
from rankfold_lab.bench.objectives import counting, no_worse
from rankfold_lab.bench.rounds import ratio
from rankfold_lab.bench.setting import Rows
from rankfold_lab.bench.store import Records
from rankfold_lab.timing import paired

REACHED = "reached"
MISSED = "missed"
OPEN = "not measured"
PEER = "rasl (PyPI)"
TESTED = (
    "not timed here: bits across threads by the tests of equality, "
    "figures by `rankfold-lab reproduce`"
)


@dataclass(frozen=True)
class Verdict:
    """One bar: what is measured, the bar itself, the figure, and whether it was reached."""

    what: str
    bar: str
    measured: str
    verdict: str


def verdicts(records: Records) -> list[Verdict]:
    """Return all bars in the order of the cases; those of cases that were not run are open."""
    rows = {
        case: records.get(case, {}).get("rows", [])
        for case in ("rpca", "rasl", "defaults", "iteration", "growth", "start")
    }
    return [
        *_rpca(rows["rpca"]),
        *_rasl(rows["rasl"]),
        *_defaults(rows["defaults"]),
        *_methods(rows["iteration"]),
        *_floor(rows["iteration"]),
        *_threads(rows["iteration"]),
        *_growth(rows["growth"]),
        *_start(rows["start"]),
        Verdict("results unchanged", "as before", TESTED, "see the tests"),
    ]


def threads_name(threads: int) -> str:
    """Return how threads are called in tables."""
    return "one thread" if threads == 1 else f"{threads} threads"


def _rpca(rows: Rows) -> Iterator[Verdict]:
    """Hold ours that counts against the quickest peer that counts."""
    counted = [row for row, good in zip(rows, counting(rows), strict=True) if good]
    bars = {matrix["name"]: matrix["bar"] for matrix in declared()["rpca"]["matrices"]}
    for name, threads in _keys(rows, declared()["rpca"]["matrices"]):
        bar = bars[name]
        what = f"robust PCA, {name}, {threads_name(threads)}: x faster than the quickest peer"
        some = [row for row in counted if row["matrix"] == name and row["threads"] == threads]
        ours = _quickest(some, ours=True)
        peer = _quickest(some, ours=False)
        if not any(row["matrix"] == name for row in rows):
            yield _open(what, bar)
        elif ours is None:
            reason = "no time of ours counts: the objective is too high"
            yield Verdict(what, _least(bar), reason, MISSED)
        elif peer is None:
            yield _open(what, bar, "no peer that counts")
        else:
            yield _judged(what, ratio(peer, ours), bar, _ratio(peer, ours), at_least=True)


def _rasl(rows: Rows) -> Iterator[Verdict]:
    """Hold ours that ends no worse than before against the peer and the toolbox."""
    bars = {PEER: _bars()["rasl"], TOOLBOX: _bars()["toolbox"]}
    for name, threads in _keys(rows, declared()["rasl"]["sets"]):
        of_set = [row for row in rows if row["set"] == name]
        mine = [row for row in of_set if row["threads"] == threads]
        ours = _quickest([row for row in mine if row["ours"] and no_worse(row)], ours=True)
        for peer, bar in bars.items():
            what = f"RASL, {name}, {threads_name(threads)}: x faster than {peer}"
            if ours is not None:
                yield _against(peer, bar, what, of_set, ours)
            elif mine:
                reason = "no time of ours counts: the objective is worse than before"
                yield Verdict(what, _least(bar), reason, MISSED)
            else:
                yield _open(what, bar)


def _against(peer_name: str, bar: float, what: str, of_set: Rows, ours: dict[str, Any]) -> Verdict:
    """Hold ours against a peer on one set. Peers run with one thread, whatever ours runs with."""
    peer = _first(of_set, peer_name)
    if peer.get("median") is None:
        return _open(what, bar, peer.get("state", "-"))
    if peer["state"] != "stated":
        return _judged(what, ratio(peer, ours), bar, _ratio(peer, ours), at_least=True)
    # The toolbox was not run here. Its time over that of the other peer, elsewhere, carries over.
    package = _first(of_set, PEER)
    if package.get("median") is None:
        return _open(what, bar, f"stated beside a time of {PEER}, which was not measured")
    beside = peer["median"] / rasl_set(ours["set"])["stated_rasl"]
    value = beside * ratio(package, ours)
    text = f"{value:.1f} (stated {beside:.2f} x the time of {PEER}, not measured in this run)"
    verdict = REACHED if value >= bar else MISSED
    return Verdict(what, _least(bar), text, f"{verdict}, by stated times")


def _defaults(rows: Rows) -> Iterator[Verdict]:
    """Hold what people get who choose nothing against an earlier version and pystackreg."""
    bars = _bars()
    timed = {
        (row["set"], row["threads"], row["implementation"]): row
        for row in rows
        if row.get("median") is not None
    }
    for (name, threads, implementation), mine in timed.items():
        if implementation != OURS:
            continue
        where = f"{name}, {threads_name(threads)}"
        earlier = timed.get((name, threads, EARLIER))
        if earlier is not None:
            what = f"as it comes, {where}: over the time before"
            yield _no_longer(what, mine, earlier, bars["before"])
        peer = timed.get((name, threads, STACKREG))
        if peer is not None:
            what = f"{where}: over the time of {STACKREG}"
            yield _no_longer(what, mine, peer, bars["stackreg"])
            value = mine["error"] / peer["error"]
            measured = f"{value:.2f} ({mine['error']:.3f} px / {peer['error']:.3f} px)"
            what = f"{where}: over the error of {STACKREG}"
            yield _judged(what, value, bars["stackreg"], measured, at_least=False)
        if threads > 1:
            what = f"as it comes, {where}: over one thread"
            yield _no_longer(what, mine, timed[name, 1, OURS], bars["no_slower"])
    for row in rows:
        if row["kind"] == "memory":
            yield from _memory(row)


def _no_longer(what: str, mine: dict[str, Any], other: dict[str, Any], bar: float) -> Verdict:
    """Hold a time over another one against a bar that is not to be passed."""
    value = ratio(mine, other)
    measured = f"{value:.2f} ({_seconds(mine['median'])} / {_seconds(other['median'])})"
    return _judged(what, value, bar, measured, at_least=False)


def _memory(row: dict[str, Any]) -> Iterator[Verdict]:
    """Judge the peak of the memory, and how far the plan is from it."""
    bars = _bars()
    size = " x ".join(f"{value:,}" for value in row["pictures"])
    peak = row["peak"] / 2**30
    what = f"peak of align on {size} in colour, GiB"
    yield _judged(what, peak, bars["memory"], f"{peak:.2f}", at_least=False)
    planned = row["planned"] / 2**30
    value = max(planned / peak, peak / planned)
    measured = f"{value:.2f} (planned {planned:.2f})"
    yield _judged("plan and peak, apart by", value, bars["plan"], measured, at_least=False)


def _methods(rows: Rows) -> Iterator[Verdict]:
    """Hold MeADMM against RASL."""
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
            yield Verdict(f"MeADMM over RASL, {text}", _most(bar), "-", OPEN)


def _floor(rows: Rows) -> Iterator[Verdict]:
    """Hold our inner iteration against the floor."""
    bar = _bars()["floor"]
    for matrix in declared()["iteration"]["matrices"]:
        name = matrix["name"]
        some = _floor_rows(rows, name)
        for row in some:
            size = " x ".join(f"{value:,}" for value in row["shape"])
            threads = threads_name(row["threads"])
            what = f"inner iteration over the floor, {name} ({size}), {threads}"
            measured = f"{row['ratio']:.2f} ({_seconds(row['ours'])} / {_seconds(row['floor'])})"
            yield _judged(what, row["ratio"], bar, measured, at_least=False)
        if not some:
            yield Verdict(f"inner iteration over the floor, {name}", _most(bar), "-", OPEN)


def _threads(rows: Rows) -> Iterator[Verdict]:
    """Hold all threads against one, on the largest matrix."""
    bar = _bars()["threads"]
    largest = declared()["iteration"]["matrices"][-1]["name"]
    what = f"all threads over one, {largest}"
    some = _floor_rows(rows, largest)
    if len(some) < 2:
        yield _open(what, bar)
        return
    one = some[0]
    many = some[-1]
    value = paired(one["rounds"], many["rounds"])
    measured = f"{value:.2f} ({_seconds(one['ours'])} / {_seconds(many['ours'])})"
    yield _judged(what, value, bar, measured, at_least=True)


def _growth(rows: Rows) -> Iterator[Verdict]:
    """Judge the exponent in pixels."""
    sizes = [row["pixels"] for row in rows if row["axis"] == "pixels" and row.get("seconds")]
    what = "growth with pixels, exponent"
    bar = _bars()["growth"]
    if len(sizes) < 2:
        yield Verdict(what, _most(bar), "-", OPEN)
        return
    value = exponent(rows, "pixels")
    measured = f"{value:.2f} (from {min(sizes):,} to {max(sizes):,})"
    yield _judged(what, value, bar, measured, at_least=False)


def _start(rows: Rows) -> Iterator[Verdict]:
    """Judge the time of the import, and what it imports."""
    some = [row for row in rows if row["kind"] == "import"]
    bar = _bars()["import_seconds"]
    if not some:
        yield Verdict("import rankfold, s", _most(bar), "-", OPEN)
        return
    seconds = some[0]["median"]
    yield _judged("import rankfold, s", seconds, bar, f"{seconds:.2f}", at_least=False)
    bad = some[0]["imported"]
    what = f"import rankfold without {', '.join(declared()['start']['forbidden'])}"
    yield Verdict(what, "none", ", ".join(bad) or "none", MISSED if bad else REACHED)


def _bars() -> dict[str, float]:
    """Return the declared bars."""
    bars: dict[str, float] = declared()["bars"]
    return bars


def _least(bar: float) -> str:
    """Return a bar that is to be reached from below, as text."""
    return f"≥ {bar:g}"


def _most(bar: float) -> str:
    """Return a bar that is not to be passed, as text."""
    return f"≤ {bar:g}"


def _open(what: str, bar: float, reason: str = "-") -> Verdict:
    """Return a bar to be reached from below that was not measured."""
    return Verdict(what, _least(bar), reason, OPEN)


def _judged(what: str, value: float, bar: float, measured: str, at_least: bool) -> Verdict:
    """Return a number held against a bar."""
    good = value >= bar if at_least else value <= bar
    sign = _least(bar) if at_least else _most(bar)
    return Verdict(what, sign, measured, REACHED if good else MISSED)


def _keys(rows: Rows, known: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the declared names, each with every number of threads that was measured."""
    # Where nothing was measured, the bar for one thread is listed.
    threads = sorted({row["threads"] for row in rows}) or [1]
    return [(one["name"], count) for one in known for count in threads]


def _floor_rows(rows: Rows, matrix: str) -> Rows:
    """Return the rows of a matrix beside the floor."""
    return [row for row in rows if row.get("kind") == "floor" and row["matrix"] == matrix]


def _first(rows: Rows, implementation: str) -> dict[str, Any]:
    """Return the first row of an implementation, or an empty one."""
    return next((row for row in rows if row["implementation"] == implementation), {})


def _quickest(rows: Rows, ours: bool) -> dict[str, Any] | None:
    """Return the row with the shortest time."""
    some = [row for row in rows if row["ours"] == ours and row.get("median") is not None]
    return min(some, key=lambda row: float(row["median"]), default=None)


def _ratio(peer: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return a ratio with what it is made of."""
    above = f"{peer['implementation']} {_seconds(peer['median'])}"
    below = f"{ours['implementation']} {_seconds(ours['median'])}"
    return f"{ratio(peer, ours):.1f} ({above} / {below})"


def _seconds(value: float) -> str:
    """Return a time with three digits and a unit."""
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"
