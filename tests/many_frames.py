"""Align many frames by a sample: peak memory, time, and the error against known shifts.

    python tests/many_frames.py 2500 5000 10000 --out figures.json

The frames of CDnet's "traffic" (RANKFOLD_DATA/cdnet_traffic/input), whose camera shakes, are
repeated, each copy shifted by a known amount of up to 4 px, and written to a folder. The command
``rankfold align --sample`` runs on it in a process of its own. The shake is not known, but it is
the same in all copies of a frame: the error is how far the transform less the known shift is from
its mean over them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from scipy import ndimage

import rankfold as rf
from rankfold.io import read_picture, write_picture

# Unit: px. The known shift of a copy, at most, along each axis.
REACH = 4.0
# Seconds between two looks at the memory of the processes.
EVERY = 0.1
# Bytes that the processes may take together.
MOST_BYTES = 2**30


def frames_of(folder: Path, count: int, grey: bool) -> np.ndarray:
    """Write ``count`` frames and return their shifts (n, 2) as (x, y)."""
    data = Path(os.environ["RANKFOLD_DATA"]) / "cdnet_traffic" / "input"
    files = sorted(data.iterdir())
    rng = np.random.default_rng(0)
    shifts = rng.uniform(-REACH, REACH, (count, 2))
    folder.mkdir(parents=True)
    for k, (x, y) in enumerate(shifts):
        picture = read_picture(files[k % len(files)]).astype(np.float64)
        if grey:
            picture = picture @ [0.299, 0.587, 0.114]
        # The copy at p shows what the frame shows at p - shift.
        move = (y, x) if grey else (y, x, 0)
        moved = ndimage.shift(picture, move, order=3, mode="nearest")
        write_picture(folder / f"frame{k:06d}.jpg", moved)
    return shifts


class Meter:
    """The largest sum of the resident memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """End, and return the peak in bytes."""
        self._over.set()
        self._thread.join()
        return self.peak

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            self.peak = max(self.peak, sum(resident(pid) for pid in family_of(self.pid)))


def family_of(pid: int) -> list[int]:
    """A process and all its descendants."""
    family = [pid]
    for parent in family:
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except OSError:
            continue
        family += [int(child) for child in children.split()]
    return family


def resident(pid: int) -> int:
    """Resident bytes of a process; its own peak where it is alone; zero once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return 1024 * int(found[1]) if found else 0


def error_of(transforms: np.ndarray, shifts: np.ndarray, sources: int) -> np.ndarray:
    """Distance (n,) in px of each frame from the mean of the copies of the same source frame."""
    # T maps the frame to the copy: the copy's own shift is in it.
    rest = transforms[:, :2, 2] - shifts
    source = np.arange(len(rest)) % sources
    mean = np.stack([rest[source == k].mean(axis=0) for k in range(min(sources, len(rest)))])
    return np.linalg.norm(rest - mean[source], axis=1)


def measured(count: int, room: Path, options: argparse.Namespace) -> dict[str, object]:
    """Make frames, align them, and say how it went."""
    folder = room / f"frames{count}"
    shifts = frames_of(folder, count, options.grey)
    run = room / f"run{count}"
    command = [sys.executable, "-m", "rankfold", "align", str(folder), "-o", str(run)]
    command += ["--sample", str(options.sample), "-t", "translation", *options.further]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    meter = Meter(process.pid)
    said, complaints = process.communicate()
    seconds = time.perf_counter() - began
    peak = meter.stop()
    # 3: finished, but some pictures failed, which the figures say.
    if process.returncode not in (0, 3):
        raise SystemExit(f"exit code {process.returncode}\n{said}\n{complaints}")
    result = rf.load(run)
    error = error_of(result.transforms, shifts, 200)
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    return {
        "frames": count,
        "sample": result.options["sample"],
        "frame": list(result.frame.shape),
        "seconds": round(seconds, 1),
        "frames_a_second": round(count / seconds, 1),
        "peak_bytes": peak,
        "within_a_gibibyte": peak <= MOST_BYTES,
        "error_px": {
            "median": round(float(np.median(error)), 4),
            "p95": round(float(np.quantile(error, 0.95)), 4),
            "largest": round(float(error.max()), 4),
        },
        "verdict": result.verdict,
        "not_placed": int((result.verdicts != "placed").sum()),
        "run_bytes": size,
        "report_bytes": _size(run / "report.html"),
        "outcome": said.strip().splitlines()[0],
    }


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def main() -> None:
    """Measure batches of the given sizes, and the growth of time from one to the next."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", type=int, nargs="+", help="frames of each batch")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--colour", dest="grey", action="store_false", help="keep the colours")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--room", type=Path, help="keep frames and runs there")
    options, options.further = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        room = options.room or Path(temporary)
        figures = [measured(count, room, options) for count in options.counts]
    for one in figures:
        sys.stdout.write(json.dumps(one) + "\n")
    growth = None
    if len(figures) > 1:
        counts, seconds = (np.array([one[key] for one in figures]) for key in ("frames", "seconds"))
        growth = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
        sys.stdout.write(f"time grows with the number of frames to the power {growth:.2f}\n")
    if options.out:
        options.out.write_text(json.dumps({"batches": figures, "growth": growth}, indent=1))


if __name__ == "__main__":
    main()
