"""The plots of the report, as SVG that takes the page's own text colour.

This is the one home of matplotlib. Each function of a row of PLOTS returns one ``<svg>`` element;
it hands a function that draws on axes to ``_svg``, which sets the style and cleans the text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align import STAGES
from rankfold.families import Floats
from rankfold.report.content import ReportData
from rankfold.status import Trace
from rankfold.verdicts import Verdict

Words = npt.NDArray[np.str_]

# Stands for the page's text colour until the plot is in the page.
INK = "#123456"

BLUE = "#3b82f6"
ORANGE = "#e08a1e"
RED = "#dc4437"
GREEN = "#2f9e68"

# How pictures of each verdict are drawn: colour, line and marker, so that no one needs the colour.
PLACED, DOUBTFUL, FAILED = (one.value for one in Verdict)
COLOURS = {PLACED: BLUE, DOUBTFUL: ORANGE, FAILED: RED}
LINES = {PLACED: "-", DOUBTFUL: "-.", FAILED: ":"}
MARKERS = {PLACED: "o", DOUBTFUL: "^", FAILED: "X"}

# Unit: inches. The page stretches the plot to its own width.
SIZE = (5.2, 3.3)

# Least values on logarithmic axes, which have no zero.
LEAST_STEP = 1e-4
LEAST_RESIDUAL = 1e-16
LEAST_SINGULAR_VALUE = 1e-6

LINE = {"lw": 1.3}
DOTTED_LINE = {"marker": "o", "ms": 3, "lw": 1.3}
LEGEND = {"frameon": False, "labelcolor": INK, "fontsize": 8}

STYLE: Any = {
    # Text stays text, so that the page's font and colour apply.
    "svg.fonttype": "none",
    # Names of elements depend on this instead of on chance: the same run gives the same page.
    "svg.hashsalt": "rankfold",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.6,
}


def convergence(data: ReportData) -> str:
    """Return a plot of the objective over that of the steps, by outer iteration.

    A decomposition has no outer iterations; its inner ones are shown, with their residuals.
    """
    trace = data.trace
    if len(trace.outer.get("objective", ())):
        return _svg(lambda axes: _draw_outer(axes, trace), rows=2, share=True)
    return _svg(lambda axes: _draw_inner(axes, trace), rows=2, share=True)


def _draw_outer(axes: Any, trace: Trace) -> None:
    """Objective and median step of the outer iterations, each stage in its colour."""
    above, below = axes
    stages = np.asarray(trace.outer["stage"])
    objective = np.asarray(trace.outer["objective"])
    step = np.maximum(np.asarray(trace.outer["median_displacement"]), LEAST_STEP)
    numbers = np.arange(1, len(stages) + 1)
    for stage in dict.fromkeys(stages.tolist()):
        chosen = stages == stage
        # A run of another version may have stages that this one does not know.
        colour = STAGES[stage].colour if stage in STAGES else BLUE
        style = {"color": colour, **DOTTED_LINE}
        above.plot(numbers[chosen], objective[chosen], label=stage, **style)
        below.semilogy(numbers[chosen], step[chosen], **style)
    above.set_ylabel("objective")
    below.set_ylabel("median step, px")
    below.set_xlabel("outer iteration")
    above.legend(**LEGEND)


def _draw_inner(axes: Any, trace: Trace) -> None:
    """Objective and both residuals of the inner iterations."""
    above, below = axes
    objective = trace.inner["objective"]
    primal = np.maximum(trace.inner["primal_residual"], LEAST_RESIDUAL)
    dual = np.maximum(trace.inner["dual_residual"], LEAST_RESIDUAL)
    numbers = np.arange(1, len(objective) + 1)
    above.plot(numbers, objective, color=BLUE, **LINE)
    above.set_ylabel("objective")
    below.semilogy(numbers, primal, color=BLUE, label="primal", **LINE)
    below.semilogy(numbers, dual, color=ORANGE, label="dual", **LINE)
    below.legend(**LEGEND)
    below.set_ylabel("residual")
    below.set_xlabel("inner iteration")


def singular_values(data: ReportData) -> str:
    """Return a plot of all spectra on one logarithmic axis, one line a caption."""
    spectra = data.spectra

    def draw(axes: Any) -> None:
        (plot,) = axes
        top = max(float(values[0]) for values in spectra.values())
        # A decomposition has two lines, an alignment three; the last is always blue.
        colours = (ORANGE, GREEN, BLUE)[-len(spectra) :]
        for (name, values), colour in zip(spectra.items(), colours, strict=True):
            kept = values[values > LEAST_SINGULAR_VALUE * top]
            numbers = np.arange(1, len(kept) + 1)
            plot.semilogy(numbers, kept, color=colour, label=name, **DOTTED_LINE)
        plot.set_xlabel("number")
        plot.set_ylabel("singular value")
        plot.legend(**LEGEND)

    return _svg(draw)


def transforms(data: ReportData) -> str:
    """Return a plot of where the frames went from their starts, coloured by verdict."""
    outlines = data.outlines
    assert outlines is not None
    verdicts = _verdicts(data)

    def draw(axes: Any) -> None:
        (plot,) = axes
        # Many outlines lie over each other: the more there are, the fainter each is.
        faint = max(0.12, min(0.6, 20 / len(outlines)))
        # Those that failed are drawn last, over the others.
        for word in _present(verdicts):
            alpha = faint if word == PLACED else 0.9
            width = 1.0 if word == PLACED else 1.7
            style = {"color": COLOURS[word], "ls": LINES[word], "lw": width}
            for quad in outlines[verdicts == word]:
                plot.plot(*_closed(quad).T, alpha=alpha, **style)
            # An empty line, for a legend that is not faint.
            plot.plot([], [], label=word, **style)
        middle = np.median(outlines, axis=0)
        plot.plot(*_closed(middle).T, color=INK, lw=1.2, ls="--", label="median", zorder=4)
        plot.legend(**LEGEND, loc="center")
        plot.invert_yaxis()
        plot.set_aspect("equal", adjustable="datalim")
        plot.set_xlabel("x, px of the frame")
        plot.set_ylabel("y")

    return _svg(draw)


def _closed(quad: Floats) -> Floats:
    """Corners (4, 2) and the first one again (5, 2)."""
    return np.vstack([quad, quad[:1]])


def lost(data: ReportData) -> str:
    """Return a plot of the probabilities of being lost, sorted and coloured by verdict."""
    verdicts = _verdicts(data)
    # In per cent, as the cards say it.
    values = np.array([100 * (card.lost or 0.0) for card in data.cards])

    def draw(axes: Any) -> None:
        (plot,) = axes
        order = np.argsort(-values, kind="stable")
        ranks = np.empty(len(values), dtype=int)
        ranks[order] = np.arange(1, len(values) + 1)
        for word in _present(verdicts):
            chosen = verdicts == word
            colour = COLOURS[word]
            plot.vlines(ranks[chosen], 0, values[chosen], color=colour, lw=2.0, alpha=0.6)
            # Where the bar has no height, its end is still seen.
            plot.plot(
                ranks[chosen],
                values[chosen],
                color=colour,
                marker=MARKERS[word],
                ls="none",
                ms=5,
                label=word,
                clip_on=False,
            )
        plot.set_ylim(0, 100)
        plot.set_xlim(0.3, len(values) + 0.7)
        plot.set_xlabel("pictures, most likely lost first")
        plot.set_ylabel("probability of being lost, %")
        plot.legend(**LEGEND)

    return _svg(draw)


def _verdicts(data: ReportData) -> Words:
    """The verdicts (n,) on all pictures."""
    return np.array([str(card.verdict) for card in data.cards])


def _present(verdicts: Words) -> list[str]:
    """The verdicts that some picture has, from placed to failed."""
    return [word for word in COLOURS if (verdicts == word).any()]


@dataclass(frozen=True)
class Plot:
    """A row of PLOTS."""

    caption: str
    draw: Callable[[ReportData], str]
    # Whether it is only for pictures that were moved.
    needs_transforms: bool = False


# In the order in which the page shows them.
PLOTS = (
    Plot("Convergence", convergence),
    Plot("Singular values", singular_values),
    Plot("Where the frames went", transforms, needs_transforms=True),
    Plot("How likely each picture is lost", lost, needs_transforms=True),
)


def drawn(data: ReportData) -> list[tuple[str, str]]:
    """Return captions and SVG elements of all plots that a report has, in order."""
    moved = data.outlines is not None
    chosen = [plot for plot in PLOTS if moved or not plot.needs_transforms]
    return [(plot.caption, plot.draw(data)) for plot in chosen]


def _svg(draw: Callable[[Any], None], rows: int = 1, share: bool = False) -> str:
    """The SVG element of what ``draw`` draws on an array of ``rows`` axes."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    nothing: Any = {"Date": None, "Creator": None}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.subplots(rows, 1, sharex=share, squeeze=False)[:, 0])
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _for_page(out.getvalue())


def _for_page(text: str) -> str:
    """An SVG file as an element of the page: its text colour, its width, no metadata."""
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Without a width and a height of its own, the plot fills what the page gives it.
    text = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
