"""RASL against the published code: the same discretisation gives the same figures."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from oracles import published_rasl
from rankfold.align.loop import InnerLoop, OuterLoop, iterate
from rankfold.align.settings import StepSettings
from rankfold.scale import executor_for
from rankfold_lab.readers import read_rasl
from real_data import DATA, REFERENCE, needs

pytestmark = [
    needs("rasl"),
    pytest.mark.skipif(
        not REFERENCE.is_file(), reason=f"needs the published figures in {REFERENCE}"
    ),
]

SETS = ["Dummy_59_59", "Digits_3", "Al_Gore"]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "rasl.md"
PRODUCT_TABLE = PAGE.read_text(encoding="utf-8").partition("## What the product")[2].splitlines()
AS_PUBLISHED = OuterLoop(
    max_outer=100,
    outer_tol=0,
    gauge="none",
    numbers=StepSettings(trust=np.inf, halvings=None),
    linearise=published_rasl.linearise,
)


@cache
def case(name):
    reference = json.loads(REFERENCE.read_text())[name]
    settings = reference["settings"]
    data = read_rasl(DATA / "rasl" / name)
    canonical = np.array(settings["canonical_points_xy_1based"]).T - 1
    return (
        reference,
        data,
        rf.Points(canonical, data.points),
        rf.Frame(*settings["canonical_size_hw"]),
    )


@pytest.mark.parametrize(("name", "tol"), list(zip(SETS, [1e-3, 1e-3, 1e-6], strict=True)))
def test_the_published_discretisation_gives_the_published_objective_after_every_outer_iteration(
    name, tol
):
    reference, data, points, frame = case(name)
    family = rf.FAMILIES[reference["settings"]["family"]]
    start = points.transforms(family)
    lam = reference["settings"]["lambda_c"] / np.sqrt(frame.height * frame.width)
    with executor_for(None, 2) as executor:
        run = iterate(
            published_rasl.prepare(data.images, frame, start),
            published_rasl.motion(start, family),
            InnerLoop(lam),
            AS_PUBLISHED,
            executor,
        )
    assert [o.inner_iterations for o in run.outer] == reference["inner_each"]
    assert run.outer[-1].rank == reference["rank"]
    np.testing.assert_allclose(
        [o.objective for o in run.outer], reference["objective"], rtol=0, atol=tol
    )
    published = np.array(reference["transforms_0based_rows"]).reshape(-1, 3, 3)
    assert np.abs(run.motion.transforms - published).max() < 1e-4  # as many digits as were printed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bound"), list(zip(SETS, [17.3, 26.3, 16.35], strict=True)))
def test_the_product_reaches_the_objective_of_a_spline_prototype(name, bound):
    reference, data, points, frame = case(name)
    settings = reference["settings"]
    result = rf.align(
        data.images,
        method="rasl",
        family=settings["family"],
        frame=frame,
        init=points,
        sparsity_weight=settings["lambda_c"],
        outer_tol=0,
        schedule="published",
        n_jobs=2,
    )
    # Its last decomposition ends as published too: where the penalty has frozen the iterates.
    assert result.status is rf.Status.STALLED
    trace = result.trace.outer
    assert trace["objective"][-1] <= bound
    # and the table in the docs says so
    cells = [
        cell.strip()
        for cell in next(row for row in PRODUCT_TABLE if f"| {name} " in row).split("|")[2:-1]
    ]
    # (rounding may differ between machines, and twenty outer iterations magnify it)
    assert int(cells[0]) == pytest.approx(len(trace["objective"]), abs=2)
    assert int(cells[1]) == pytest.approx(trace["inner_iterations"].sum(), rel=0.1)
    first, last = (float(value) for value in cells[2].split("->"))
    assert first == pytest.approx(trace["objective"][0], abs=1e-3)
    assert last == pytest.approx(trace["objective"][-1], abs=0.02)
    assert float(cells[4]) == pytest.approx(result.objective, abs=0.02)
