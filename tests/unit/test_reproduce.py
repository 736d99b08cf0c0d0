"""The reproduction: declared, resumable, judged; and the page in the documentation is what the command gives."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from conftest import DATA
from rankfold.experiments.reproduce import experiments, run, write_pages
from rankfold.experiments.reproduce.claims import CLAIMS, Evidence
from rankfold.experiments.reproduce.grid import read_log, records, run_cell
from rankfold.experiments.reproduce.measures import _distance_to_own
from rankfold.experiments.reproduce.methods import METHODS, sheet
from rankfold.experiments.reproduce.page import NAMES, claim_row, table
from rankfold.experiments.windows import patched

DOCS = Path(__file__).resolve().parents[2] / "docs"
SMALL = """
import sys
from dataclasses import replace
from rankfold.experiments.reproduce import experiments, run, write_pages
if __name__ == "__main__":
    digits, people = experiments(["usps"])[0], experiments(["ar"])[0]
    chosen = [replace(digits, axes={"change": ["euclidean"], "digit": [1], "method": ["rasl", "meadmm"]}),
              replace(people, axes={"person": [1], "sparsity": [0.5], "method": ["rasl"]})]
    for done in run(chosen, None, sys.argv[1], jobs=1):
        pass
    write_pages(sys.argv[1], chosen)
"""


def small(folder, script):
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)], stderr=subprocess.PIPE, start_new_session=True
    )


def test_killed_twice_it_ends_with_the_same_bytes(tmp_path):
    script = tmp_path / "small.py"
    script.write_text(SMALL)
    whole = small(tmp_path / "whole", script)
    assert whole.wait() == 0, whole.stderr.read()
    whole.stderr.close()
    log = tmp_path / "killed" / "logs" / "usps.jsonl"
    for lines in (1, 2):
        process = small(tmp_path / "killed", script)
        deadline = time.monotonic() + 120
        while (
            not log.is_file() or log.read_text().count("\n") < lines
        ) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
        assert log.read_text().count("\n") >= lines
    with log.open("a") as file:
        file.write('{"cell": {"dig')  # a line that the kill cut short
    last = small(tmp_path / "killed", script)
    assert last.wait() == 0, last.stderr.read()
    last.stderr.close()
    for name in ("reproduction.md", "reproduction.html"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    text = (tmp_path / "whole" / "reproduction.md").read_text()
    assert "generated stand-ins, not with the data sets of the paper" in text
    assert "| euclidean | 1 | MeADMM |" in text
    assert (tmp_path / "whole" / "pictures" / "usps-euclidean-1-rasl.jpg").is_file()


def test_real_data_and_stand_ins_do_not_share_a_folder(tmp_path):
    nothing = [replace(experiments(["ar"])[0], axes={"person": [], "method": []})]
    assert list(run(nothing, None, tmp_path)) == []
    with pytest.raises(rf.InputError, match="made with generated stand-ins, not with real data"):
        list(run(nothing, tmp_path, tmp_path))


def test_every_case_is_declared_and_has_a_table():
    everything = experiments()
    assert [e.name for e in everything] == [
        "table2",
        "yale",
        "ar",
        "usps",
        "windows",
        "real",
        "speed",
    ]
    for e in everything:
        assert len(e.cells) == np.prod([len(v) for v in e.axes.values()])
        assert table(e.name, []) is not None
        assert set(e.axes["method"]) <= set(METHODS)
    assert set(METHODS) == set(NAMES)
    with pytest.raises(rf.InputError, match="unknown experiment 'table3'; choose from table2"):
        experiments(["table3"])


def test_every_claim_has_a_verdict_whether_it_was_run_or_not():
    for claim in CLAIMS:
        assert claim_row(claim, Evidence({e.name: [] for e in experiments()}))[-1] == "not run"


def judged(what, **rows):
    claim = next(c for c in CLAIMS if what in c.what)
    return claim_row(claim, Evidence({"table2": [], "ar": [], "usps": [], "windows": [], **rows}))


def test_verdicts_follow_the_figures():
    def eyes(mean, whole):
        return [
            {
                "lights": lights,
                "method": m,
                "mean": mean[lights][k],
                "whole_mean": whole[k],
                "whole_std": 0.3,
                "whole_max": 1.0,
            }
            for lights in (50, 130)
            for k, m in enumerate(("rasl", "meadmm"))
        ]

    good, middling = {50: (0.16, 0.14), 130: (0.17, 0.15)}, {50: (0.17, 0.15), 130: (0.5, 0.3)}
    assert judged("mean eye error", table2=eyes(good, (0.1, 0.1)))[-1] == "reproduced"
    assert judged("mean eye error", table2=eyes(middling, (0.1, 0.1)))[-1].endswith(
        "only under moderate light"
    )
    bad = {50: (0.3, 0.3), 130: (0.5, 0.3)}
    assert "whole pixels" in judged("mean eye error", table2=eyes(bad, (0.16, 0.14)))[-1]
    assert judged("mean eye error", table2=eyes(bad, (0.3, 0.3)))[-1] == "not reproduced"

    def people(values):
        return [
            {"person": p, "sparsity": w, "method": m, "sunglasses": v}
            for p in (1, 2, 3)
            for w, triple in values.items()
            for m, v in zip(("rasl", "meadmm", "paper"), triple, strict=True)
        ]

    assert judged("sunglasses", ar=people({1.0: (0.3, 0.2, 0.4)}))[-1] == "reproduced"
    conditional = judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.4), 0.5: (0.2, 0.1, 0.3)}))
    assert conditional[-1] == "reproduced only with sparsity 0.5"
    assert "the paper's own MeADMM" in judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.2)}))[-1]
    assert judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.4)}))[-1] == "not reproduced"


def test_patches_lie_on_the_window_and_are_all_that_changed():
    from rankfold.experiments.reproduce.standins import windows

    photographs = windows()
    given, changed, truth = patched(photographs)
    for g, c, t in zip(given, changed, truth, strict=True):
        assert 0.005 < c.mean() < 0.2
        np.testing.assert_array_equal(g[c == 0], t[c == 0])


def test_the_distance_to_ones_own_is_zero_for_ones_own():
    from rankfold.experiments.reproduce.standins import masked_person

    person = masked_person(1)
    result = rf.align(list(person.images), method="rpca")
    free = np.array([h == "" for h in person.hidden])
    mixed = np.einsum("ij,jkl->ikl", np.full((13, 7), 1 / 7), result.aligned[free])
    assert (
        _distance_to_own(replace(result, low_rank=mixed), person, "scarf", slice(0.55, 1.0)) < 1e-10
    )
    assert (
        _distance_to_own(
            replace(result, low_rank=result.aligned), person, "scarf", slice(0.55, 1.0)
        )
        > 0.1
    )


def test_a_sheet_has_all_its_tiles():
    tile = np.linspace(0, 1, 20).reshape(4, 5)
    picture = sheet([[tile, tile, tile], [tile]], zoom=2)
    assert picture.shape == (2 * 8 + 3, 3 * 10 + 6)
    assert picture[11 + 3, -1] == 255


@pytest.mark.skipif(
    not (DATA / "ar").is_dir(),
    reason=f"needs the data sets in {DATA}; set RANKFOLD_DATA to their folder",
)
def test_the_page_in_the_documentation_is_what_the_command_gives(tmp_path):
    """One quick cell of two experiments, run again, to the last printed digit."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    (tmp_path / "pictures").mkdir()
    for name, cell in (
        ("ar", {"person": 4, "sparsity": 0.5, "method": "meadmm"}),
        ("usps", {"change": "euclidean", "digit": 1, "method": "rasl"}),
    ):
        experiment = experiments([name])[0]
        values = run_cell(experiment, cell, str(DATA), str(tmp_path))
        row = table(name, [{**cell, **values}])[1][0]
        assert "| " + " | ".join(row) + " |" in page
    for picture in re.findall(r"\]\((reproduction/[^)]+)\)", page):
        assert (DOCS / picture).stat().st_size < 200_000


def test_logs_are_read_in_the_order_of_the_declaration(tmp_path):
    experiment = replace(experiments(["ar"])[0], axes={"person": [1, 2], "method": ["rasl"]})
    (tmp_path / "logs").mkdir()
    lines = [
        '{"cell": {"person": 2, "method": "rasl"}, "values": {"x": 2}}',
        '{"cell": {"person": 1, "method": "rasl"}, "values": {"x": 1}}',
    ]
    (tmp_path / "logs" / "ar.jsonl").write_text("\n".join([*lines, '{"cell": {"per']))
    assert [r["x"] for r in records(tmp_path, experiment)] == [1, 2]
    assert len(read_log(tmp_path, experiment)) == 2
    (tmp_path / "logs" / "data.txt").write_text("real data")
    assert "not run" in write_pages(tmp_path, [experiment])
