"""Kill alignments at random moments, let them go on, and compare the results bit for bit.

    python tests/killing.py --times 30

Every run is a process of its own, and is killed (SIGKILL) once or twice: when so many calls are in
its checkpoint, when its draft is being written, or some time after it has begun. Then the same
command runs until it ends. The script ends with code 1, and a sentence, if a result differs from
that of a run that nobody killed, or if anything is left that the next run did not name or that
``rankfold clean`` does not remove.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rankfold as rf
from rankfold.align.checkpoints import HEAD, finished_calls
from rankfold.runs import leftovers, unfinished
from rankfold.storage import DRAFT

COMMAND = [sys.executable, "-m", "rankfold"]
OPTIONS = ["--frame", "40x38", "--no-report", "--no-pictures", "--jobs", "1"]
ARRAYS = ("transforms", "aligned", "low_rank", "sparse", "singular_values", "confirmed")

# Seconds after which a process is taken for one that hangs.
LIMIT = 300


def align(run: Path) -> list[str]:
    """The command that makes a run."""
    return [*COMMAND, "align", "heads", "-o", run.name, *OPTIONS]


def rankfold(*words: str, place: Path) -> str:
    """Run a command to its end; what it said on standard error."""
    done = subprocess.run(
        [*COMMAND, *words], cwd=place, capture_output=True, text=True, check=True, timeout=LIMIT
    )
    return done.stderr


def wait_for(process: subprocess.Popen[bytes], happened: Callable[[], bool]) -> bool:
    """Wait until something has happened; False if the process has ended without it."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if happened():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    raise TimeoutError(f"{process.args} hangs")


class Moment:
    """When to kill a run."""

    def __init__(self, rng: np.random.Generator, run: Path, calls: int, span: float) -> None:
        self.kind = str(rng.choice(["calls", "calls", "delay", "delay", "writing"]))
        self._run = run
        self._calls = int(rng.integers(1, calls + 1))
        self._delay = float(rng.uniform(0, span))

    def come(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait for it; False if the process ended before."""
        folder = unfinished(self._run)
        if self.kind == "calls":
            return wait_for(process, lambda: len(finished_calls(folder)) >= self._calls)
        if self.kind == "writing":
            drafts = f".{self._run.name}-*{DRAFT}/*"
            known = set(self._run.parent.glob(drafts))
            return wait_for(process, lambda: bool(set(self._run.parent.glob(drafts)) - known))
        if not wait_for(process, (folder / HEAD).exists):
            return False
        until = time.monotonic() + self._delay
        return wait_for(process, lambda: time.monotonic() > until)


def kill(run: Path, moment: Moment) -> bool:
    """Start a run and kill it at a moment; False if it ended before."""
    silent = subprocess.DEVNULL
    process = subprocess.Popen(align(run), cwd=run.parent, stdout=silent, stderr=silent)
    came = moment.come(process)
    process.kill()
    process.wait()
    return came and not run.exists()


def finish(run: Path) -> None:
    """Let the same command go on to the end; it must name every leftover that is no checkpoint."""
    drafts = [one for one in leftovers(run) if one.kind in ("draft", "replaced")]
    said = rankfold(*align(run)[3:], place=run.parent)
    for one in drafts:
        if one.path.name not in said:
            raise SystemExit(f"{one.path.name} was left and not named:\n{said}")
    if unfinished(run).exists():
        raise SystemExit(f"{unfinished(run)} is still there after the run")


def compare(run: Path, plain: rf.Alignment) -> None:
    """Refuse a result that has other bits than that of a run that nobody killed."""
    result = rf.load(run)
    for name in ARRAYS:
        if getattr(result, name).tobytes() != getattr(plain, name).tobytes():
            raise SystemExit(f"{run}: {name} has other bits")
    for name, column in plain.trace.outer.items():
        if result.trace.outer[name].tobytes() != column.tobytes():
            raise SystemExit(f"{run}: {name} of the trace has other bits")


def check_clean(place: Path, expected: set[str]) -> int:
    """Clean a folder, and refuse anything that stays; how many leftovers there were."""
    found = leftovers(place)
    named = {one.path.name for one in found}
    there = {path.name for path in place.iterdir()}
    if there - named != expected:
        raise SystemExit(f"left, and not known as a leftover: {sorted(there - named - expected)}")
    rankfold("clean", ".", place=place)
    if {path.name for path in place.iterdir()} != expected:
        raise SystemExit("rankfold clean has not removed every leftover")
    return len(found)


def time_alone(place: Path) -> tuple[rf.Alignment, int, float]:
    """The result of a run that nobody kills, its calls, and its seconds after it has begun."""
    run = place / "plain"
    silent = subprocess.DEVNULL
    process = subprocess.Popen(align(run), cwd=place, stdout=silent, stderr=silent)
    wait_for(process, (unfinished(run) / HEAD).exists)
    began = time.monotonic()
    calls = 0
    while process.poll() is None:
        calls = max(calls, len(finished_calls(unfinished(run))))
        time.sleep(0.002)
    return rf.load(run), max(calls, 1), time.monotonic() - began


def main() -> None:
    """Kill as often as was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=30, help="runs that are killed")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rankfold("datasets", "heads", "-o", "heads", "--images", "12", place=place)
        plain, calls, span = time_alone(place)
        for k in range(arguments.times):
            run = place / f"run-{k}"
            wanted = int(rng.integers(1, 3))
            while wanted > 0:
                moment = Moment(rng, run, calls, span)
                if kill(run, moment):
                    outcomes[moment.kind] += 1
                    wanted -= 1
                elif run.exists():
                    # It was faster than the kill: another one begins, which may leave a draft too.
                    shutil.rmtree(run)
            finish(run)
            compare(run, plain)
        runs = {f"run-{k}" for k in range(arguments.times)}
        left = check_clean(place, {"heads", "plain"} | runs)
    killed = ", ".join(f"{kind} {count}" for kind, count in sorted(outcomes.items()))
    sys.stdout.write(
        f"{arguments.times} runs with the same bits (a run: {calls} calls, {span:.1f} s); "
        f"killed by moment: {killed}; {left} leftovers, all named and removed\n"
    )


if __name__ == "__main__":
    main()
