"""How long it takes to start: the import, and a first small alignment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np

from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.setting import Rows, Setting, Task

IMPORT = """
import json, sys, time
began = time.perf_counter()
import rankfold
seconds = time.perf_counter() - began
modules = [name for name in sys.argv[1:] if name in sys.modules]
print(json.dumps({"seconds": seconds, "modules": modules}))
"""
ALIGN = """
import json, time
began = time.perf_counter()
import rankfold
from rankfold.datasets import rendered_heads
heads = rendered_heads(6, frame=(20, 20), seed=0)
ready = time.perf_counter()
words = {"frame": heads.frame, "init": heads.start, "max_outer": 2, "outer_tol": 10.0}
rankfold.align(heads.images, "rasl", **words)
done = time.perf_counter()
print(json.dumps({"seconds": done - ready, "with_import": done - began}))
"""


def tasks(setting: Setting) -> list[Task]:
    """The import, and the alignments."""
    return [
        ("import", partial(_import, setting)),
        ("first alignment", partial(_first_alignment, setting)),
    ]


def _import(setting: Setting) -> Rows:
    """Median of fresh interpreters, and what they imported that they should not have."""
    table = declared()["start"]
    runs = [
        _run(IMPORT, *table["forbidden"])
        for _ in range(1 if setting.quick else table["repeats"] + 1)
    ]
    timed = runs[1:] or runs  # the first one reads the files from the disk
    seconds = [run["seconds"] for run in timed]
    row = {"kind": "import", "seconds": seconds, "median": float(np.median(seconds))}
    return [{**row, "imported": sorted({name for run in runs for name in run["modules"]})}]


def _first_alignment(setting: Setting) -> Rows:
    """The first process of all compiles; the second one finds what the first has compiled."""
    with tempfile.TemporaryDirectory() as cache:
        # A trial does not wait for the compiler.
        where = {} if setting.quick else {"NUMBA_CACHE_DIR": cache}
        first = _run(ALIGN, **where)
        second = _run(ALIGN, **where)
    return [{"kind": "alignment", "first": first["seconds"], "second": second["seconds"]}]


def _run(code: str, *words: str, **environment: str) -> dict[str, Any]:
    """Run code in a fresh interpreter; it prints JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
