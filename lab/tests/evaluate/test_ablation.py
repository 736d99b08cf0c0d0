"""The ablation: resumable, and it refuses what it does not know."""

import pytest

import rankfold as rf
from rankfold_lab.evaluate import ablation, tables
from real_data import DATA, needs


@needs("extended_yale_b")
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    log = tmp_path / "log.jsonl"
    todo = ablation.cells(["P4"], [7], 1)
    rows = ["RASL", "MeADMM"]
    assert list(ablation.run(DATA, log, todo, rows[:1])) == [(1, 1)]
    first = log.read_text()
    log.write_text(first + '{"protocol": "P4", "subj')  # cut short by a kill
    assert list(ablation.run(DATA, log, todo, rows)) == [(1, 1)]
    assert log.read_text().startswith(first)
    assert list(ablation.run(DATA, log, todo, rows)) == []
    records = ablation.read_log(log)
    assert [r["row"] for r in records] == rows
    rasl, meadmm = records
    assert meadmm["eye"] < rasl["eye"]
    assert meadmm["rec_occ"] < 0.82 * rasl["rec_occ"]
    table = tables.page(records, ["P4"])
    assert f"| MeADMM | 1 | {meadmm['eye']:.3f} |" in table
    assert "1/1" in table


def test_unknown_names_are_refused_with_the_known_ones(tmp_path):
    with pytest.raises(rf.InputError, match="unknown protocol 'P9'; choose from P1"):
        ablation.cells(["P9"], [1], 1)
    with pytest.raises(rf.InputError, match="unknown row 'Magic'; choose from RASL"):
        next(ablation.run(tmp_path, tmp_path / "log", [], ["Magic"]))
