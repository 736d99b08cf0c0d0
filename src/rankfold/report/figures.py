"""The plots of the report, as SVG that takes the page's own text colour. The one home of matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.families import Floats
from rankfold.status import Trace

INK = "#123456"  # stands for the page's text colour until the plot is in the page
BLUE, ORANGE, RED, GREEN = "#3b82f6", "#e08a1e", "#dc4437", "#2f9e68"
STAGES = {"coarse": GREEN, "features": ORANGE, "pixels": BLUE}


def convergence(trace: Trace) -> str:
    """Objective and median step of the outer iterations, or residuals of the inner ones where there are no others."""

    def outer(axes: Any) -> None:
        twin = axes[1]
        stages = np.asarray(trace.outer["stage"])
        numbers = np.arange(1, len(stages) + 1)
        for stage in dict.fromkeys(stages.tolist()):
            chosen = stages == stage
            style = {"color": STAGES.get(stage, BLUE), "marker": "o", "ms": 3, "lw": 1.3}
            axes[0].plot(
                numbers[chosen], np.asarray(trace.outer["objective"])[chosen], label=stage, **style
            )
            twin.semilogy(
                numbers[chosen],
                np.maximum(np.asarray(trace.outer["median_displacement"])[chosen], 1e-4),
                **style,
            )
        axes[0].set_ylabel("objective")
        twin.set_ylabel("median step, px")
        twin.set_xlabel("outer iteration")
        axes[0].legend(frameon=False, labelcolor=INK, fontsize=8)

    def inner(axes: Any) -> None:
        number = np.arange(1, len(trace.inner["objective"]) + 1)
        axes[0].plot(number, trace.inner["objective"], color=BLUE, lw=1.3)
        axes[0].set_ylabel("objective")
        axes[1].semilogy(
            number,
            np.maximum(trace.inner["primal_residual"], 1e-16),
            color=BLUE,
            lw=1.3,
            label="primal",
        )
        axes[1].semilogy(
            number,
            np.maximum(trace.inner["dual_residual"], 1e-16),
            color=ORANGE,
            lw=1.3,
            label="dual",
        )
        axes[1].legend(frameon=False, labelcolor=INK, fontsize=8)
        axes[1].set_ylabel("residual")
        axes[1].set_xlabel("inner iteration")

    return _svg(outer if len(trace.outer.get("objective", ())) else inner, rows=2, share=True)


def singular_values(spectra: dict[str, Floats]) -> str:
    """Singular values of the pictures before, aligned and low-rank, on one logarithmic axis."""

    def draw(axes: Any) -> None:
        top = max(float(values[0]) for values in spectra.values())
        styles = zip(spectra.items(), (ORANGE, GREEN, BLUE)[-len(spectra) :], strict=True)
        for (name, values), colour in styles:
            kept = values[values > 1e-6 * top]
            axes[0].semilogy(
                np.arange(1, len(kept) + 1),
                kept,
                color=colour,
                marker="o",
                ms=3,
                lw=1.3,
                label=name,
            )
        axes[0].set_xlabel("number")
        axes[0].set_ylabel("singular value")
        axes[0].legend(frameon=False, labelcolor=INK, fontsize=8)

    return _svg(draw)


def transforms(outlines: Floats, failed: npt.NDArray[np.bool_]) -> str:
    """Where each picture's frame went from its start; failed ones in red."""

    def draw(axes: Any) -> None:
        for quad, bad in zip(outlines, failed, strict=True):
            closed = np.vstack([quad, quad[:1]])
            alpha = 0.9 if bad else max(0.12, min(0.6, 20 / len(outlines)))
            axes[0].plot(
                *closed.T, color=RED if bad else BLUE, alpha=alpha, lw=1.0, zorder=3 if bad else 2
            )
        middle = np.vstack([np.median(outlines, axis=0), np.median(outlines, axis=0)[:1]])
        axes[0].plot(*middle.T, color=INK, lw=1.2, ls="--", zorder=4)
        axes[0].invert_yaxis()
        axes[0].set_aspect("equal", adjustable="datalim")
        axes[0].set_xlabel("x, px of the frame")
        axes[0].set_ylabel("y")

    return _svg(draw)


def scores(values: Floats, limit: float) -> str:
    """Scores of all pictures, sorted; above the limit they failed."""

    def draw(axes: Any) -> None:
        ordered = np.sort(values)[::-1]
        colours = [RED if v > limit else BLUE for v in ordered]
        axes[0].bar(np.arange(1, len(ordered) + 1), ordered, color=colours, width=0.85)
        axes[0].axhline(limit, color=INK, lw=0.9, ls="--")
        axes[0].set_ylim(0, max(1.0, float(ordered[0])) * 1.03)
        axes[0].set_xlabel("pictures, worst first")
        axes[0].set_ylabel("score")

    return _svg(draw)


def _svg(draw: Callable[[Any], None], rows: int = 1, share: bool = False) -> str:
    """Run a drawing function on fresh axes and return the SVG element."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "rankfold",
        "font.family": "sans-serif",
        "font.size": 9,
        **dict.fromkeys(
            ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK
        ),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "axes.grid": True,
        "grid.color": INK,
        "grid.alpha": 0.13,
        "grid.linewidth": 0.6,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(rows, 1, sharex=share, squeeze=False)[:, 0]
        draw(axes)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
