"""Rounds are put together, and ratios are taken within a round."""

from bench_rows import rpca
from rankfold_lab.bench.rounds import merged, ratio

SIZES = [(100, 1.0), (200, 5.0), (100, 3.0), (200, 5.0)]


class TestRounds:
    def test_ratios_are_taken_within_a_round(self):
        rows = [rpca(name, seconds, 1.0) for seconds in (1.0, 9.0, 2.0) for name in ("a", "b")]
        for row in rows:
            row["median"] *= 2 if row["implementation"] == "b" else 1
        one, other = merged(rows)
        assert (one["median"], one["seconds"]) == (2.0, [1.0, 9.0, 2.0])
        assert ratio(other, one) == 2
        assert ratio(other, {"median": 4.0}) == 1
        late = [
            {**row, "median": row["median"] * (10 if k == 3 else 1)} for k, row in enumerate(rows)
        ]
        assert ratio(*reversed(merged(late))) == 2  # busy in one round of three

    def test_sizes_are_put_together_and_failures_stay(self):
        sizes = [
            {"axis": "pixels", "images": 2, "pixels": m, "state": "measured", "seconds": s}
            for m, s in SIZES
        ]
        assert [row["seconds"] for row in merged(sizes)] == [2.0, 5.0]
        bad = {**rpca("a", None, 1.0), "state": "failed"}
        assert merged([rpca("a", 1.0, 1.0), bad])[0]["state"] == "failed"
