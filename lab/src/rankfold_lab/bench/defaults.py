"""What people get who choose nothing: alignments, stacks, the first start and memory.

MeADMM as it comes is held against an earlier version of itself, and stacks against pystackreg.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.datasets import cells
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.inputs import heads, published
from rankfold_lab.bench.process import calm, check_ours, installed, run_worker
from rankfold_lab.bench.setting import Rows, Setting, Task
from rankfold_lab.readers.windows import FRAME, read_windows

OURS = "rankfold"
EARLIER = "rankfold, earlier"
STACKREG = "pystackreg"
COLD = "first start"

COMPILE = """
import json, time, warnings
warnings.simplefilter("ignore")
from rankfold.datasets import rendered_heads
heads = rendered_heads(30, seed=0)
began = time.perf_counter()
import rankfold
rankfold.align(heads.images, frame=heads.frame, init=heads.start)
print(json.dumps(time.perf_counter() - began))
"""
MEMORY = """
import json, sys
from pathlib import Path
from rankfold import runs
from rankfold.cli import app
from rankfold.io import open_pictures
pictures, out = sys.argv[1:]
source = open_pictures(pictures)
choice = runs.choose(source, None, "centred", None, "translation")
plan = runs.plan_run(source, choice, "meadmm", "translation")
try:
    app(["align", pictures, "-o", out, "-t", "translation", "--quiet"], standalone_mode=False)
except SystemExit:
    pass
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
print(json.dumps({"peak": peak, "planned": plan.memory}))
"""


def tasks(setting: Setting) -> list[Task]:
    """Sets and stacks in turns, round after round; the first start and the memory once."""
    table = declared()["defaults"]
    found: list[Task] = []
    batches = {name: cache(partial(_batch, name, setting)) for name in _sets(setting)}
    stacks = {n: cache(partial(_stack, n, setting)) for n in setting.pick(table, "stacks")}
    for turn, threads in product(range(setting.repeats), setting.threads):
        for name, batch in batches.items():
            for one in _versions(setting):
                label = f"round {turn + 1}: {name}, {one}, {threads}"
                found.append((label, partial(_align, setting, name, batch, one, threads)))
    for n, read in stacks.items():
        for one in (OURS, STACKREG):
            found.append((f"stack of {n}, {one}", partial(_register, setting, n, read, one)))
    for one in _versions(setting):
        found.append((f"{COLD}, {one}", partial(_compile, setting, one)))
    found.append(("memory", partial(_memory, setting)))
    return found


def _versions(setting: Setting) -> list[str]:
    """Ours, and an earlier one if there is one."""
    return [OURS] if setting.earlier is None else [OURS, EARLIER]


def _sets(setting: Setting) -> list[str]:
    """The sets that there are data for."""
    names: list[str] = declared()["defaults"]["sets"]
    return ["heads"] if setting.data is None else names


def _batch(name: str, setting: Setting) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and options of a set."""
    if name == "windows":
        assert setting.data is not None
        photographs = read_windows(setting.data)
        from rankfold.families import get_family

        start = photographs.points.transforms(get_family("homography"))
        options = {"family": "homography", "frame": list(FRAME.shape), "sparsity_weight": 1.0}
        images = photographs.clean
    else:
        count = setting.pick(declared()["iteration"]["heads"], "images")
        if name == "heads" or setting.data is None:
            batch = heads(count)
        else:
            batch = published(setting.data, name)
        options = {key: batch[key] for key in ("family", "frame", "sparsity_weight")}
        start = batch["start"]
        images = batch["images"]
    arrays = {f"image{k}": np.asarray(image) for k, image in enumerate(images)}
    return {"start": start, **arrays}, options


def _align(
    setting: Setting, name: str, read: Callable[[], Any], version: str, threads: int
) -> Rows:
    """MeADMM as it comes on one set."""
    arrays, options = read()
    jobs = 1 if threads == 1 else -1
    earlier = setting.earlier if version == EARLIER else None
    outcome = run_worker(
        "meadmm",
        arrays,
        {**options, "n_jobs": jobs, "calm": calm(setting)},
        threads,
        earlier=earlier,
    )
    check_ours(version, outcome)
    row = {"kind": "sets", "set": name, "implementation": version, "threads": threads}
    return [{**row, **outcome.figures}]


def _stack(n: int, setting: Setting) -> tuple[Any, Any, Any]:
    """A drifting stack with dust: pictures (n, h, w), true transforms and starts."""
    side = setting.pick(declared()["defaults"], "side")
    batch = cells(n, frame=(side, side), seed=0)
    return np.stack(batch.images).astype(np.float32), batch.truth, batch.start


def _register(setting: Setting, n: int, read: Callable[[], Any], one: str) -> Rows:
    """Register a stack; the error is that of the shifts without their mean."""
    row = {"kind": "stacks", "set": f"stack of {n}", "implementation": one, "threads": 1}
    if one == STACKREG and (setting.quick or STACKREG not in installed(setting.peers, [STACKREG])):
        return [] if setting.quick else [{**row, "state": "not installed"}]
    images, truth, start = read()
    side = setting.pick(declared()["defaults"], "side")
    limit = declared()["defaults"]["timeout"]
    options = {"side": side, "calm": calm(setting)}
    call = "stack" if one == OURS else "stackreg"
    python = sys.executable if one == OURS else setting.peers
    arrays = {"images": images, "start": start}
    outcome = run_worker(call, arrays, options, 1, python, timeout=limit)
    if one == OURS:
        check_ours(one, outcome)
    if outcome.found is None:
        return [{**row, **outcome.figures}]
    off = outcome.found["transforms"][:, :2, 2] - truth[:, :2, 2]
    distance = np.linalg.norm(off - off.mean(axis=0), axis=1)
    errors = {"error": float(distance.mean()), "largest": float(distance.max())}
    return [{**row, **outcome.figures, **errors}]


def _compile(setting: Setting, version: str) -> Rows:
    """Seconds of a first alignment with an empty cache of compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        # A trial does not wait for the compiler.
        where = {} if setting.quick else {"NUMBA_CACHE_DIR": folder}
        seconds = _run(COMPILE, setting.earlier if version == EARLIER else None, where)
    return [{"kind": COLD, "set": COLD, "implementation": version, "threads": 1, **_timed(seconds)}]


def _timed(seconds: float) -> dict[str, Any]:
    """One measured time as a row has it."""
    return {"state": "measured", "seconds": [seconds], "median": seconds, "memory": None}


def _memory(setting: Setting) -> Rows:
    """Peak of the command on many colour pictures, and what the plan says."""
    from PIL import Image

    if not Path("/proc/self/status").is_file():
        return []
    table = declared()["defaults"]
    count, height, width = setting.pick(table, "colour")
    rng = np.random.default_rng(0)
    scene = rng.random((height // 8 + 8, width // 8 + 8, 3))
    large = np.asarray(
        Image.fromarray((255 * scene).astype(np.uint8)).resize(
            (width + 64, height + 64), Image.Resampling.BICUBIC
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder) / "pictures"
        pictures.mkdir()
        for k in range(count):
            x, y = rng.integers(0, 64, 2)
            cut = large[y : y + height, x : x + width]
            Image.fromarray(cut).save(pictures / f"{k:03d}.png", compress_level=1)
        found = _run(MEMORY, None, {}, str(pictures), str(Path(folder) / "run"))
    return [{"kind": "memory", "pictures": [count, height, width], **found}]


def _run(code: str, earlier: Path | None, more: dict[str, str], *words: str) -> Any:
    """Run code in a fresh interpreter; it prints JSON last."""
    environment = {**os.environ, **more}
    if earlier is not None:
        environment["PYTHONPATH"] = str(earlier / "src")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])
