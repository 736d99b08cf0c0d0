"""Long commands of the lab that are interrupted while their processes work."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from real_data import DATA, needs
from sessions import LIMIT, left_in, lines_in, wait_until

REPRODUCE = ["reproduce", "ar", "-o", "out", "--jobs", "2"]
EVALUATE = [
    "evaluate",
    "-o",
    "out",
    "--data",
    str(DATA),
    "--protocol",
    "P1",
    "--row",
    "RASL",
    "--jobs",
    "2",
]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize(
    ("words", "log", "number"),
    [
        (REPRODUCE, "out/logs/ar.jsonl", signal.SIGINT),
        (REPRODUCE, "out/logs/ar.jsonl", signal.SIGTERM),
        pytest.param(EVALUATE, "out/log.jsonl", signal.SIGINT, marks=needs("extended_yale_b")),
    ],
)
def test_it_ends_with_all_its_processes(tmp_path, words, log, number):
    """They hung: the processes went on, and the command waited for them."""
    environment = {name: value for name, value in os.environ.items() if name != "RANKFOLD_DATA"}
    process = subprocess.Popen(
        [sys.executable, "-m", "rankfold_lab", *words],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            # One job is done, and others are under way in processes of their own.
            wait_until(process, lambda: lines_in(tmp_path / log) > 0)
            process.send_signal(number)
            _, said = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    words = "Stopped" if number == signal.SIGINT else "Ended by SIGTERM"
    last = said.splitlines()[-1]
    assert last.startswith(f"{words}; what is done is in out")
    assert "Traceback" not in said
    # What is done stays, line by line.
    assert all(json.loads(line) for line in (tmp_path / log).read_text().splitlines())
    assert not left_in(process.pid)
