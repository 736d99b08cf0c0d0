"""How much memory a process has had, on systems that say so; tests skip on others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")

# What getrusage calls the peak is also that of the process from which this one was begun.
PEAK = """
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""


def peak_of(script, *words):
    """Run a script in a process of its own; return its peak besides imports, in bytes.

    The script has two parts, divided by a line ``---``: what is imported, and what is measured.
    """
    if not STATUS.exists():
        pytest.skip("this system does not say how much memory a process has had")
    before, measured = script.split("---\n")
    whole = f"import sys\n{PEAK}\n{before}\nfirst = peak()\n{measured}\nprint(peak() - first)\n"
    done = subprocess.run(
        [sys.executable, "-c", whole, *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return int(done.stdout.splitlines()[-1])
