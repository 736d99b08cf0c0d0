"""The grid: declared, resumable, and never real data and stand-ins together."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold_lab.reproduce import experiments, run, write_pages
from rankfold_lab.reproduce.grid import read_log, records
from rankfold_lab.reproduce.methods import METHODS
from rankfold_lab.reproduce.tables import NAMES, table
from sessions import left_in, lines_in, wait_until

SMALL = """
import sys
from dataclasses import replace
from rankfold_lab.reproduce import experiments, run, write_pages
if __name__ == "__main__":
    digits = experiments(["usps"])[0]
    people = experiments(["ar"])[0]
    one = {"change": ["euclidean"], "digit": [1], "method": ["rasl", "meadmm"]}
    other = {"person": [1], "sparsity": [0.5], "method": ["rasl"]}
    chosen = [replace(digits, axes=one), replace(people, axes=other)]
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
        wait_until(process, lambda lines=lines: lines_in(log) >= lines)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
        assert not left_in(process.pid)
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
    _, rows = write_pages(tmp_path, [experiment])
    assert rows[0][-1] == "not run"
