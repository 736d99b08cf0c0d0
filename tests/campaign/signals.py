"""Attempts at interrupting: commands that get signals at random moments, once or twice.

Most commands run in a fork of a process that has imported everything (see warm.py); some begin
anew, and are interrupted while they import. A signal comes at a moment that is counted, so that the
same seed does the same again, or after a delay.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from functools import cache
from pathlib import Path

import numpy as np

import rankfold as rf
from campaign.crew import MOST_MEMORY
from campaign.warm import End, Warm
from rankfold import runs
from sessions import left_in

THESIS = b"the only copy\n"
QUICK = ["-m", "rasl", "--max-outer", "2", "--jobs", "1", "--frame", "24x24"]
RESULT_ONLY = ["--no-report", "--no-pictures"]

# What is run, by a name: the words of the command, and what it writes. All of them run in a folder
# with "views", "run" (an alignment of them) and what an earlier command of the same kind has made.
COMMANDS = {
    "export": (["export", "run", "-o", "run.json", "--overwrite"], "run.json"),
    "export csv": (["export", "run", "-o", "new.csv"], "new.csv"),
    "apply": (["apply", "run", "views", "-o", "applied", "--overwrite"], "applied"),
    "apply anew": (["apply", "run", "views", "-o", "new"], "new"),
    "align": (["align", "views", "-o", "run", "--overwrite", *QUICK, *RESULT_ONLY], "run"),
    "align with pictures": (["align", "views", "-o", "new", "--no-report", *QUICK], "new"),
    "align many": (["align-many", "views", "-o", "many", *QUICK, *RESULT_ONLY], "many"),
    "decompose": (["decompose", "views", "-o", "run", "--overwrite", *RESULT_ONLY], "run"),
    "report": (["report", "run", "-o", "run.html", "--overwrite"], "run.html"),
    "datasets": (["datasets", "textures", "-o", "drawn", "--images", "3"], "drawn"),
    "plate": (["plate", "run", "views", "-o", "plate.png"], "plate.png"),
    "restore": (["restore", "run", "views", "-o", "restored"], "restored"),
    "mask": (["mask", "run", "views", "-o", "masks"], "masks"),
    "clean": (["clean", "."], None),
    "settings": (["settings", "--json"], None),
}
# Those that take longer get fewer attempts.
WEIGHTS = {"report": 0.2, "align many": 0.5, "plate": 0.3, "restore": 0.3, "mask": 0.3}
# Of so many attempts, one is a process that begins anew.
COLD = 10
# Unit: seconds. After which a process hangs; it says so if the system is busy with others, too.
LIMIT = 60.0
# Unit: seconds. From a signal that ends a command to its end.
FAREWELL = 10.0
# Of the lines that may be said: a screen.
SCREEN = 24

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}


class Garden:
    """What every attempt begins with, and what becomes of commands that nobody interrupts."""

    def __init__(self, place):
        self.warm = Warm()
        self.base = place / "base"
        self.base.mkdir(parents=True)
        self._place = place
        self._plain = {}
        for words in (
            ["datasets", "textures", "-o", "views", "--images", "5"],
            ["align", "views", "-o", "run", *QUICK, *RESULT_ONLY],
            ["apply", "run", "views", "-o", "applied"],
            ["export", "run", "-o", "run.json"],
            ["report", "run", "-o", "run.html"],
        ):
            end = self.warm.run(words, self.base, place / "said")
            assert end.code != 2, words
        for foreign in ("thesis.txt", "others/thesis.txt"):
            path = self.base / foreign
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(THESIS)

    def plain(self, name):
        """What becomes of a command."""
        if name not in self._plain:
            words, target = COMMANDS[name]
            folder = self._place / f"plain {name}"
            shutil.copytree(self.base, folder)
            # Once before, so that what it compiles is not counted.
            self.warm.run(words, folder, self._place / "said")
            shutil.rmtree(folder)
            shutil.copytree(self.base, folder)
            end = self.warm.run(words, folder, self._place / "said")
            self._plain[name] = (end, content(folder / target) if target else None)
        return self._plain[name]


@cache
def garden(place):
    """The Garden in a folder."""
    return Garden(Path(place))


def prepare(shared):
    """Make what attempts begin with, and see what becomes of every command."""
    planted = garden(str(shared / "garden-of-signals"))
    for name in COMMANDS:
        planted.plain(name)


def attempt(kind, seed, place):
    """Interrupt a command; "fine" if it has ended nevertheless, or "refused"."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    planted = garden(str(place.parent / "garden-of-signals"))
    names = list(COMMANDS)
    weights = np.array([WEIGHTS.get(name, 1.0) for name in names])
    name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    numbers = [int(number) for number in rng.choice(list(CODES), size=2, p=[0.45, 0.35, 0.2])]
    numbers = numbers[: int(rng.choice([1, 2], p=[0.65, 0.35]))]
    is_cold = rng.random() < 1 / COLD
    plain, new = planted.plain(name)
    shutil.copytree(planted.base, place, dirs_exist_ok=True)
    said = place.parent / f"{place.name}-said"
    words, target = COMMANDS[name]
    old = content(place / target) if target else None
    try:
        if is_cold:
            how = f"a new process, {numbers}"
            end = run_cold(words, place, said, numbers, rng)
        elif rng.random() < 0.7:
            first = int(rng.integers(1, plain.moments + 2))
            moments = [first, first + int(rng.integers(1, 80))]
            how = list(zip(moments, numbers, strict=False))
            end = planted.warm.run(words, place, said, how, limit=LIMIT)
        else:
            delays = [rng.uniform(0, 1.05 * plain.seconds), rng.uniform(0, 0.02)]
            how = list(zip(delays, numbers, strict=False))
            end = planted.warm.run(words, place, said, delayed=how, limit=LIMIT)
    except AssertionError as error:
        error.add_note(f"{name} with {numbers}")
        raise
    try:
        sayings = Path(f"{said}.err").read_text()
        check_end(end, plain, numbers, sayings)
        check_left(end, place, planted.base, target, signal.SIGKILL in numbers)
        # The first Ctrl-C keeps what there is, and of many batches those that are done stay.
        stops = signal.SIGINT in numbers and words[0] in ("align", "decompose")
        partial = stops or words[0] == "align-many"
        check_target(place, target, old, new, partial, sayings)
        if rng.random() < 0.1 and "--overwrite" in words:
            again = planted.warm.run(words, place, said, limit=LIMIT)
            assert again.code == plain.code, f"again, it ends with {again.code}"
    except Exception as error:
        error.add_note(f"{name} with {how}: exit code {end.code}, said:\n{sayings}")
        raise
    finally:
        for ending in (".out", ".err"):
            Path(f"{said}{ending}").unlink(missing_ok=True)
    return "fine" if end.code == plain.code else "refused"


def check_end(end, plain, numbers, sayings):
    """It has ended as it may, with a sentence and no more."""
    allowed = {plain.code, *(CODES[number] for number in numbers)}
    assert end.code in allowed, f"it ended with {end.code}"
    for word in ("Traceback", "Exception ignored", "Error:"):
        assert word not in sayings, f"{word} was said"
    assert len(sayings.splitlines()) <= SCREEN, "more than a screen was said"
    if end.code in (130, 143):
        begins = "Ended by SIGTERM;" if end.code == 143 else "Stopp"
        assert any(line.startswith(begins) for line in sayings.splitlines()), "nothing was said"
    assert end.memory < MOST_MEMORY, f"it took {end.memory / 2**30:.2f} GiB"
    assert end.after < FAREWELL, f"it ended {end.after:.1f} s after the signal"
    assert not left_in(end.process), "a process was left behind"


def check_left(end, place, base, target, was_killed):
    """Nothing is lost, and only a kill leaves something that is not a checkpoint."""
    known = {path.name for path in base.iterdir()} | ({target} if target else set())
    there = {path.name for path in place.iterdir()}
    assert known - there <= {target}, f"lost: {known - there}"
    if not was_killed:
        left = there - known - {f"{target}.unfinished"}
        assert not left, f"left behind: {left}"
    runs.clean(place)
    if target == "many" and (place / target).is_dir():
        runs.clean(place / target)
    left = {path.name for path in place.iterdir()} - known
    assert not left, f"left behind after cleaning: {left}"
    for foreign in (place / "thesis.txt", place / "others" / "thesis.txt"):
        assert foreign.read_bytes() == THESIS, "somebody else's file was changed"


def check_target(place, target, old, new, partial, sayings):
    """The old result is there or the new one, and what was said of it is true."""
    if target is None:
        return
    found = content(place / target)
    if not partial:
        assert found in (old, new), f"{target} is neither the old one nor the new one"
    if "nothing was written" in sayings:
        assert found == old, "something was written"
    if f"{target} was written" in sayings and not partial:
        assert found == new, "it was not written"


def content(path):
    """What is in a result, as something to compare; None if it is not there."""
    if not path.exists():
        return None
    if path.suffix == ".json":
        return json.loads(path.read_text())
    if path.suffix == ".html":
        assert path.read_text().rstrip().endswith("</html>")
        return "a page"
    if path.is_file():
        return path.read_bytes()
    if (path / "result.json").exists():
        result = rf.load(path)
        runs.open_run(path)
        return [result.low_rank.tobytes(), result.sparse.tobytes()]
    if path.name == "many":
        summary = path / "summary.json"
        rows = json.loads(summary.read_text())["batches"] if summary.exists() else []
        found = [content(one) for one in sorted(path.glob("[a-z]*")) if one.is_dir()]
        return [len(rows), *found]
    files = sorted(one for one in path.rglob("*") if one.is_file())
    pictures = [one.read_bytes() for one in files if one.suffix in (".png", ".csv")]
    return [[str(one.relative_to(path)) for one in files], pictures]


def run_cold(words, place, said, numbers, rng):
    """Run a command in a process that begins anew, and send it signals while it stands still."""
    kind = "import" if rng.random() < 0.5 else "write"
    number = 1 if kind == "import" else int(rng.integers(1, 12))
    marks = place.parent / f"{place.name}-marks"
    marks.mkdir()
    script = Path(__file__).parents[1] / "moments.py"
    command = [sys.executable, str(script), str(marks), kind, str(number), "rankfold", *words]
    with Path(f"{said}.out").open("wb") as out, Path(f"{said}.err").open("wb") as err:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=place,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while process.poll() is None and not (marks / "here").exists():
                time.sleep(0.002)
                assert time.monotonic() - began < LIMIT, "it hangs"
            sent = time.monotonic()
            for number in numbers:
                if process.poll() is None:
                    process.send_signal(number)
            (marks / "go").touch()
            code = process.wait(LIMIT)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            shutil.rmtree(marks)
    return End(process.pid, code, 0, time.monotonic() - began, time.monotonic() - sent)


KINDS = ("signals",)
