"""The bars: reached, missed or not measured."""

import pytest

from bench_rows import WHEN, judged, rasl, rpca
from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.growth import exponent
from rankfold_lab.bench.page import page


class TestVerdicts:
    def test_reached_and_missed(self):
        fast = [rpca("rankfold", 0.1, 10.0, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=fast).verdict == "reached"
        assert judged("video, one", rpca=fast).measured.startswith("6.0 (pyrpca")
        slow = [rpca("rankfold", 0.5, 10.0, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=slow).verdict == "missed"
        assert judged("faces, one", rpca=slow).verdict == "not measured"

    def test_a_peer_with_a_worse_objective_does_not_count(self):
        rows = [
            rpca("rankfold", 0.1, 10.0, ours=True),
            rpca("hasty", 0.01, 10.01),
            rpca("pyrpca", 0.6, 10.0005),
        ]
        assert judged("video, one", rpca=rows).measured.startswith("6.0 (pyrpca")
        assert judged("video, one", rpca=rows[:2]).verdict == "not measured"
        assert "| no: gap |" in page({"rpca": {"rows": rows, "quick": False, "repeats": 1, **WHEN}})

    def test_ours_with_a_worse_objective_does_not_count_either(self):
        rows = [rpca("rankfold", 0.01, 10.01, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=rows).verdict == "missed"
        rows.append(rpca("rankfold, tol 1e-6", 0.3, 10.0, ours=True))
        assert judged("video, one", rpca=rows).measured.startswith("2.0 ")

    def test_an_alignment_that_ends_worse_does_not_count(self):
        before = next(
            one["before"] for one in declared()["rasl"]["sets"] if one["name"] == "Al_Gore"
        )
        peer = rasl("rasl (PyPI)", 10.0, 3.0)
        good = [rasl("rankfold", 1.0, before, ours=True), peer]
        assert judged("Al_Gore, one thread: x faster than rasl", rasl=good).verdict == "reached"
        bad = [rasl("rankfold", 1.0, before + 0.1, ours=True), peer]
        assert judged("Al_Gore, one thread: x faster than rasl", rasl=bad).verdict == "missed"

    def test_a_stated_time_is_called_so(self):
        rows = [rasl("rankfold", 2.0, 16.0, ours=True), rasl(TOOLBOX, 36.9, state="stated")]
        what = f"Al_Gore, one thread: x faster than {TOOLBOX}"
        assert judged(what, rasl=rows).verdict == "not measured"
        verdict = judged(
            what, rasl=[*rows, rasl("rasl (PyPI)", 46.0)]
        )  # half as fast as where it was stated
        assert verdict.verdict == "reached, by stated times"
        assert verdict.measured.startswith("36.9 (stated 1.60 x")
        assert "not measured in this run" in verdict.measured
        assert (
            judged(what, rasl=[*rows, rasl("rasl (PyPI)", 20.0)]).verdict
            == "missed, by stated times"
        )
        peer = judged(
            "Al_Gore, one thread: x faster than rasl",
            rasl=[*rows, rasl("rasl (PyPI)", None, state="not installed")],
        )
        assert (peer.measured, peer.verdict) == ("not installed", "not measured")

    def test_what_comes_is_held_against_an_earlier_version_and_a_peer(self):
        def row(implementation, seconds, threads=1, what="heads", **more):
            return {
                "kind": "sets",
                "set": what,
                "implementation": implementation,
                "threads": threads,
                "state": "measured",
                "seconds": [seconds],
                "median": seconds,
                "memory": None,
                **more,
            }

        rows = [
            row("rankfold", 1.0),
            row("rankfold, earlier", 4.0),
            row("rankfold", 1.2, threads=2),
        ]
        before = "heads, one thread: over the time before"
        assert judged(before, defaults=rows).measured.startswith("0.25 ")
        assert judged(before, defaults=rows).verdict == "reached"
        slower = [row("rankfold", 2.0), row("rankfold, earlier", 4.0)]
        assert judged(before, defaults=slower).verdict == "missed"
        assert judged("heads, 2 threads: over one thread", defaults=rows).verdict == "missed"
        stack = [
            row("rankfold", 1.0, what="stack of 40", error=0.2),
            row("pystackreg", 2.0, what="stack of 40", error=0.1),
        ]
        assert judged("over the time of pystackreg", defaults=stack).verdict == "reached"
        assert judged("over the error of pystackreg", defaults=stack).verdict == "missed"
        memory = [{"kind": "memory", "pictures": [2, 3, 4], "peak": 2**30, "planned": 2**31}]
        assert judged("peak of align on 2 x 3 x 4", defaults=memory).verdict == "reached"
        assert judged("plan and peak", defaults=memory).verdict == "missed"

    def test_growth_and_threads(self):
        linear = [
            {"axis": "pixels", "pixels": m, "images": 9, "seconds": m * 1e-6}
            for m in (100, 1000, 10000)
        ]
        assert exponent(linear, "pixels") == pytest.approx(1)
        assert judged("growth", growth=linear).verdict == "reached"
        square = [{**row, "seconds": row["seconds"] ** 2} for row in linear]
        assert judged("growth", growth=square).verdict == "missed"
        floor = {"kind": "floor", "matrix": "large", "shape": [2, 3], "floor": 1.0, "ratio": 1.5}
        rows = [
            {**floor, "threads": k, "ours": 3.0 / k, "rounds": [3.0, 9.0, 3.0 * k]} for k in (1, 2)
        ]
        assert judged("all threads over one", iteration=rows).verdict == "missed"
        assert judged("all threads over one", iteration=rows[:1]).verdict == "not measured"

    def test_an_import_too_many(self):
        rows = [{"kind": "import", "median": 0.2, "imported": ["scipy"]}]
        assert judged("import rankfold without", start=rows).verdict == "missed"
        assert judged("import rankfold, s", start=rows).verdict == "reached"
