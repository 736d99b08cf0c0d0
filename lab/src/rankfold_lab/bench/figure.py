"""The plot of growth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankfold_lab.bench.growth import exponent
from rankfold_lab.bench.setting import Rows

# Told apart by everybody; marks and dashes differ too.
BLUE = "#0072b2"
VERMILION = "#d55e00"


def draw_growth(rows: Rows, path: Path) -> None:
    """Draw milliseconds of an iteration over pixels and over images, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    for axes, axis in zip(figure.subplots(1, 2), ("pixels", "images"), strict=True):
        other = "images" if axis == "pixels" else "pixels"
        chosen = [row for row in rows if row["axis"] == axis and row.get("seconds")]
        if not chosen:
            continue
        sizes = np.array([row[axis] for row in chosen], float)
        times = 1e3 * np.array([row["seconds"] for row in chosen])
        axes.loglog(sizes, times, "o-", color=BLUE, lw=1.6, ms=5, label="measured, one thread")
        power = exponent(rows, axis)
        if axis == "pixels" and np.isfinite(power):
            middle = np.exp(np.log(times).mean() - power * np.log(sizes).mean())
            axes.loglog(
                sizes,
                middle * sizes**power,
                "--",
                color=VERMILION,
                lw=1.4,
                label=f"exponent {power:.2f}",
            )
        axes.set_xlabel(f"{axis}, with {chosen[0][other]:,} {other}")
        axes.set_ylabel("an inner iteration, ms")
        axes.grid(True, which="major", alpha=0.25)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
