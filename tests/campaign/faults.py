"""Attempts at writing while the system fails: errors, kills, power cuts at any call, little room.

A result or a file is replaced, and at one call something goes wrong. Afterwards the old or the new
one is there, complete; nobody else's file is touched; and the next start, or ``clean``, puts right
what was left.
"""

import ctypes
import os
import resource
import shutil
import signal
import sys
import warnings
import zlib
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

import rankfold as rf
from campaign.folders import FRAME, QUICK, THESIS, garden, same
from faulty import WAYS, Faults, in_child, names_in
from rankfold import runs
from rankfold.align.checkpoints import LOCK, NEWEST, write_head, write_packed
from rankfold.align.packing import Packed
from rankfold.locking import take
from rankfold.many import align_many
from rankfold.report import page, write_report
from rankfold.storage.marks import files_of, strangers_in
from rankfold.storage.places import restore_if_gone

# What may be raised where the system fails; the command line makes one sentence of each.
ALLOWED = (rf.RankfoldError, OSError, MemoryError, KeyboardInterrupt)


class Noting(runs.Unwatched):
    """Notes what a run remarks."""

    def __init__(self):
        self.said = []

    def remark(self, text):
        self.said.append(text)


def remembered(result):
    """What stands for ``align``: it keeps a checkpoint, and gives what was computed before."""

    def align(stack, *, checkpoint, **options):
        checkpoint.folder.mkdir(parents=True, exist_ok=True)
        with take(checkpoint.folder / LOCK, stays=True):
            write_head(checkpoint.folder, {})
            write_packed(checkpoint.folder / NEWEST, Packed({}, {"a": np.zeros(9)}), call=0)
        return result

    return align


def type_of_result(run):
    """What stands for the data of a page."""
    return type(run.result)


class Replacing:
    """Something that is replaced: the old one is in ``place``, and ``go`` writes the new one.

    Parameters
    ----------
    place : Path
    planted : Garden
    """

    # What is in the place before and after, besides things of somebody else.
    names = ("run",)

    def __init__(self, place, planted):
        self.place = place
        self.run = place / "run"
        self.garden = planted
        self.old = planted.originals["report"]
        self.new = planted.originals["unfinished"]

    def plant(self):
        """Put the old one there."""
        shutil.copytree(self.garden.place / "report" / "run", self.run)

    def go(self):
        """Write the new one; what was said of leftovers."""
        raise NotImplementedError

    def state(self):
        """Say whether the old or the new one is there, complete; refuse anything else."""
        found = runs.open_run(self.run)
        assert files_of(self.run) is not None, "the mark is gone"
        missing = {name for name in files_of(self.run) if not (self.run / name).is_file()}
        assert missing <= self.may_miss, f"{missing} are missing"
        assert strangers_in(self.run) == [], f"{strangers_in(self.run)} are not known as ours"
        return self.which(found.result)

    # Files that may be named as ours before they are there.
    may_miss = frozenset()

    def which(self, result):
        """Which of the two results it is."""
        if same(result, self.old):
            return "old"
        assert same(result, self.new), "it is neither the old nor the new one"
        return "new"


class Run(Replacing):
    """``align --overwrite``; what is computed was computed before."""

    pictures = True

    def go(self):
        watch = Noting()
        output = runs.Output(self.pictures, report=write_report, overwrite=True)
        align = remembered(self.new)
        with mock.patch("rankfold.runs.jobs.align", align), self._page():
            runs.run_align(
                self.run, self.garden.source, self.garden.choice, output=output, watch=watch,
                **QUICK,
            )  # fmt: skip
        return "\n".join(watch.said)

    def _page(self):
        """What is in the page does not matter here, and takes most of the time."""
        pages = self.garden.pages
        written = {"report_data": type_of_result, "render": pages.__getitem__}
        return mock.patch.multiple(page, **written)


class Computed(Replacing):
    """``align --overwrite``, really."""

    def go(self):
        watch = Noting()
        output = runs.Output(pictures=False, overwrite=True)
        garden_of = self.garden
        runs.run_align(
            self.run, garden_of.source, garden_of.choice, output=output, watch=watch, **QUICK
        )
        return "\n".join(watch.said)


class Decomposed(Run):
    """``decompose --overwrite``."""

    def __init__(self, place, planted):
        super().__init__(place, planted)
        self.new = planted.originals["decompose"]

    def go(self):
        watch = Noting()
        lie = runs.choose_as_they_lie(self.garden.source)
        output = runs.Output(report=write_report, overwrite=True)
        with (
            mock.patch("rankfold.runs.decomposing.decompose", return_value=self.new),
            self._page(),
        ):
            runs.run_decompose(self.run, self.garden.source, lie, output=output, watch=watch)
        return "\n".join(watch.said)


class Saved(Replacing):
    """``Alignment.save(overwrite=True)``."""

    def go(self):
        self.new.save(self.run, overwrite=True)
        return ""

    def state(self):
        assert strangers_in(self.run) == []
        return self.which(rf.load(self.run))


class Reported(Run):
    """``report --overwrite``: of a run without a report, of one that has one, or elsewhere."""

    may_miss = frozenset({"report.html"})
    kind = "align"

    def __init__(self, place, planted):
        super().__init__(place, planted)
        self.old = planted.originals[self.kind]
        self.new = self.old

    def plant(self):
        shutil.copytree(self.garden.place / self.kind / "run", self.run)

    def go(self):
        with self._page():
            write_report(self.run, overwrite=True)
        return ""

    def state(self):
        super().state()
        report = self.run / "report.html"
        if not report.exists():
            assert self.kind == "align", "the report is gone"
            return "old"
        text = report.read_text()
        assert text.startswith("<!"), "the report has no beginning"
        assert text.rstrip().endswith("</html>"), "the report has no end"
        return "old" if self.kind == "report" else "new"


class ReportedAgain(Reported):
    """The same where there is a report."""

    kind = "report"


class Exported(Replacing):
    """``export --overwrite``."""

    names = ("run", "run.json")

    def plant(self):
        super().plant()
        self.old.export_transforms(self.place / "run.json")
        self.new.export_transforms(self.place / "new.json")
        self._new = (self.place / "new.json").read_bytes()
        (self.place / "new.json").unlink()
        self._old = (self.place / "run.json").read_bytes()

    def go(self):
        self.new.export_transforms(self.place / "run.json", overwrite=True)
        return ""

    def state(self):
        assert super().state() == "old"
        found = (self.place / "run.json").read_bytes()
        assert found in (self._old, self._new), "neither the old nor the new file"
        return "old" if found == self._old else "new"


class Applied(Replacing):
    """``apply --overwrite``."""

    def plant(self):
        # The old one has the pictures in another order.
        shutil.copytree(self.garden.place / "apply" / "run", self.run)
        self._after = self._read()
        self._before = dict(zip(self._after, [*self._after.values()][::-1], strict=True))
        for name, content in self._before.items():
            (self.run / "aligned" / name).write_bytes(content)

    def _read(self):
        return {path.name: path.read_bytes() for path in (self.run / "aligned").iterdir()}

    def go(self):
        run = self.garden.place / "align" / "run"
        runs.apply_run(run, self.garden.source, self.run, overwrite=True)
        return ""

    def state(self):
        # As every command does that reads a result, which this is none.
        restore_if_gone(self.run)
        assert strangers_in(self.run) == []
        found = self._read()
        assert found in (self._before, self._after), "neither the old nor the new pictures"
        return "old" if found == self._before else "new"


class AppliedAsArray(Applied):
    """The same with all pictures in one file."""

    kind = "array"

    def plant(self):
        self._apply(overwrite=False)
        self._after = self._read()
        self._before = {name: content[::-1] for name, content in self._after.items()}
        for name, content in self._before.items():
            (self.run / name).write_bytes(content)

    def _read(self):
        return {path.name: path.read_bytes() for path in self.run.glob("aligned.*")}

    def _apply(self, overwrite):
        run = self.garden.place / "align" / "run"
        source = self.garden.source
        runs.apply_run(run, source, self.run, format=self.kind, overwrite=overwrite)

    def go(self):
        self._apply(overwrite=True)
        return ""


class AppliedAsStack(AppliedAsArray):
    """And in a TIFF."""

    kind = "tiff"


class Many(Replacing):
    """``align-many --overwrite``; what is computed was computed before."""

    def plant(self):
        shutil.copytree(self.garden.place / "many" / "run", self.run)

    def go(self):
        given = {**QUICK, "frame": FRAME, "pictures": False, "report": False, "n_jobs": 1}
        batches = str(self.garden.place / "pictures" / "batches" / "*")
        with mock.patch("rankfold.runs.jobs.align", remembered(self.new)):
            summary = align_many(batches, self.run, overwrite=True, **given)
        errors = [row.error for row in summary.rows if row.error]
        if errors:
            raise rf.WriteError(errors[0])
        return "\n".join(remark for row in summary.rows for remark in row.remarks)

    def state(self):
        for name in ("a", "b"):
            assert runs.open_run(self.run / name).result.names
            assert strangers_in(self.run / name) == []
        for name in ("summary.json", "summary.csv"):
            assert (self.run / name).read_bytes()[-1:] == b"\n", f"{name} is cut"
            assert name in files_of(self.run)
        inside = {"a", "b", "summary.json", "summary.csv", ".rankfold"}
        assert names_in(self.run) - inside <= _leftovers_in(self.run)
        return "new"


def _leftovers_in(folder):
    """What rankfold knows as left behind in a folder."""
    return {one.path.name for one in runs.leftovers(folder)}


class Cleaned(Replacing):
    """``clean`` where a run was killed between two renames, and its checkpoint is there."""

    def plant(self):
        super().plant()
        aside = self.place / ".run-abcd1234.rankfold-old"
        aside.mkdir()
        self.run.rename(aside / "it")
        unfinished = self.garden.place / "unfinished" / "run.unfinished"
        shutil.copytree(unfinished, self.place / "run.unfinished")
        shutil.copytree(
            self.garden.place / "apply" / "run", self.place / ".run-00000000.rankfold-draft"
        )

    def go(self):
        runs.clean(self.run)
        return ""


OPERATIONS = (
    *(Run, Decomposed, Saved, Reported, ReportedAgain) * 3,
    *(Exported, Applied, Cleaned) * 3,
    *(AppliedAsArray, AppliedAsStack) * 2,
    *(Many, Computed),
)


def prepare(shared):
    """Make the good folders, and count the calls of every operation."""
    for exchange in (True, False):
        for kind in dict.fromkeys(OPERATIONS):
            count_of(kind, str(shared), exchange)


def planted(rng, place):
    """Something to be replaced, and a thing of somebody else beside it."""
    kind = OPERATIONS[int(rng.integers(len(OPERATIONS)))]
    one = kind(place, garden(str(place.parent / "garden-of-folders")))
    one.plant()
    (place / "thesis.txt").write_bytes(THESIS)
    return one


def check_thesis(place):
    """The thing of somebody else is as it was."""
    assert (place / "thesis.txt").read_bytes() == THESIS


def check_afterwards(one, rng):
    """Whatever happened: the old or the new one is there, and the next start puts things right."""
    before = one.state()
    check_thesis(one.place)
    if rng.random() < 0.5:
        left = [left.path.name for left in runs.leftovers(one.run) if left.kind == "draft"]
        with Faults(one.place):
            said = one.go()
        assert one.state() == "new" or isinstance(one, ReportedAgain | Cleaned)
        # What the run does not go on from is named by it, or gone.
        for name in left:
            gone = not (one.place / name).exists()
            named = not isinstance(one, Run | Computed) or name in said
            assert gone or named, f"{name} was not named"
    else:
        runs.clean(one.run)
        assert one.state() == before
    runs.clean(one.place)
    runs.clean(one.run)
    assert names_in(one.place) <= {*one.names, "thesis.txt"}, f"left: {names_in(one.place)}"
    inside = [path.name for path in one.run.rglob(".*") if path.name != ".rankfold"]
    assert inside == [], f"left in it: {inside}"
    one.state()
    check_thesis(one.place)


@cache
def count_of(kind, place, exchange):
    """How many calls an operation makes."""
    where = Path(place) / f"count-{kind.__name__}-{exchange}"
    where.mkdir()
    one = kind(where, garden(str(where.parent / "garden-of-folders")))
    one.plant()

    def counted():
        with Faults(where, exchange=exchange) as faults:
            one.go()
        return len(faults.calls)

    calls = int(in_child(counted))
    shutil.rmtree(where)
    return calls


def tried_here(one):
    """Do it; whether it was "fine" or "refused"."""
    said = ""
    outcome = "fine"
    try:
        one.go()
    except ALLOWED as error:
        said = str(error)
        outcome = "refused"
    assert "\n" not in said, f"more than one line: {said}"
    return outcome


def go_wrong(one, faults):
    """Do it in a child, with a call that goes wrong; it was "fine", "refused" or "killed"."""

    def tried():
        warnings.simplefilter("ignore")
        with faults:
            return tried_here(one)

    ended = in_child(tried)
    return "killed" if ended is None else ended


def faults_while_writing(rng, place):
    """One or two calls go wrong."""
    one = planted(rng, place)
    exchange = bool(rng.random() < 0.5)
    calls = count_of(type(one), str(place.parent), exchange)
    outcome = "fine"
    # The second one, where there is one, is in what comes after the first.
    for _ in range(int(rng.choice([1, 1, 1, 2]))):
        at = int(rng.integers(1, calls + 1))
        way = WAYS[int(rng.integers(len(WAYS)))]
        faults = Faults(place, at, way, int(rng.integers(100)), exchange)
        ended = go_wrong(one, faults)
        outcome = "fine" if ended == "fine" else "refused"
    try:
        check_afterwards(one, rng)
    except BaseException as error:
        error.add_note(f"{type(one).__name__}, call {at} of {calls}, {way}, exchange {exchange}")
        raise
    return outcome


CLONE_NEWNS = 0x20000
MS_REMOUNT = 32
MS_PRIVATE = 1 << 18
MS_REC = 16384


def _mount(target, size, flags=0):
    """Mount a small disk in memory; False where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={size}".encode()
    return libc.mount(b"none", os.fsencode(target), b"tmpfs", flags, options) == 0


def _own_mounts():
    """What this process mounts from now on is seen by nobody else; False where it cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not sys.platform.startswith("linux") or libc.unshare(CLONE_NEWNS) != 0:
        return False
    return libc.mount(b"none", b"/", None, MS_PRIVATE | MS_REC, None) == 0


def _with_limit(which, limit):
    """Set a limit of this process."""
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (limit, hard))


def _memory():
    """Bytes of addresses that this process has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmSize"):
            return int(line.split()[1]) * 1024
    return 0


def _limited(kind, rng):
    """Limit this process."""
    if kind == "file":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _with_limit(resource.RLIMIT_FSIZE, int(rng.integers(0, 20_000)))
    elif kind == "descriptors":
        highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        _with_limit(resource.RLIMIT_NOFILE, highest + int(rng.integers(0, 6)))
    else:
        _with_limit(resource.RLIMIT_AS, _memory() + int(rng.integers(0, 6_000_000)))


def _on_a_full_disk(rng, place):
    """Everything on a disk with hardly any room, in a child; None where none can be mounted."""
    seed = int(rng.integers(2**31))

    def work():
        warnings.simplefilter("ignore")
        disk = place / "disk"
        disk.mkdir()
        if not _own_mounts() or not _mount(disk, "20m"):
            return ""
        random = np.random.default_rng(seed)
        inside = disk / "work"
        inside.mkdir()
        kind = OPERATIONS[int(random.integers(len(OPERATIONS)))]
        one = kind(inside, garden(str(place.parent / "garden-of-folders")))
        one.plant()
        (inside / "thesis.txt").write_bytes(THESIS)
        status = os.statvfs(disk)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        assert _mount(disk, used + 4096 * int(random.integers(0, 40)), MS_REMOUNT)
        outcome = tried_here(one)
        check_thesis(inside)
        one.state()
        assert _mount(disk, "20m", MS_REMOUNT)
        check_afterwards(one, random)
        return outcome

    return in_child(work) or None


def little_room(rng, place):
    """A full disk, files that may not grow, few descriptors, or little memory."""
    kind = str(rng.choice(["disk", "disk", "file", "descriptors", "memory"]))
    if kind == "disk":
        outcome = _on_a_full_disk(rng, place)
        if outcome is not None:
            return outcome
        kind = "file"
    one = planted(rng, place)

    def work():
        warnings.simplefilter("ignore")
        _limited(kind, rng)
        return tried_here(one)

    try:
        outcome = in_child(work)
        check_afterwards(one, rng)
    except BaseException as error:
        error.add_note(f"{type(one).__name__}, little {kind}")
        raise
    return outcome


ATTEMPTS = {"faults while writing": faults_while_writing, "little room": little_room}
KINDS = tuple(ATTEMPTS)


def attempt(kind, seed, place):
    """Let one thing go wrong; "fine" if it was written all the same, or "refused"."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        return ATTEMPTS[kind](rng, place)
