"""Processes that make attempts, and the one that watches over them.

An attempt that hangs or brings its process down costs that process; another one takes its place and
goes on behind it.
"""

import gc
import multiprocessing
import os
import re
import resource
import shutil
import signal
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from campaign.kinds import attempt, prepare

# Unit: bytes. No attempt may need more memory, and none may print more.
MOST_MEMORY = 2 * 2**30
MOST_SAID = 4000

# Seconds that a process may take to write where it stands; only ends the wait.
SAYING = 5.0

# Attempts that are given to a process at a time.
AT_ONCE = 40


@dataclass(frozen=True)
class Outcome:
    """What became of one attempt."""

    kind: str
    seed: int
    # "fine", "refused", or "bad".
    end: str
    seconds: float
    # Unit: bytes, at its peak.
    memory: int
    # What went wrong.
    about: str = ""


def run_crew(jobs, scratch, count, limit, memory=MOST_MEMORY, kept=None):
    """Make attempts in some processes; yields the Outcome of each.

    Parameters
    ----------
    jobs : iterable of (kind, first seed, number of seeds)
    scratch : Path
        A folder for what they write.
    count : int
        Processes.
    limit : float
        Seconds after which an attempt hangs.
    memory : int
        Bytes that an attempt may take.
    kept : Path, optional
        Where the folders of bad attempts go.
    """
    waiting = list(jobs)[::-1]
    crew = [_Member(scratch / f"member-{k}", memory, kept) for k in range(count)]
    try:
        while True:
            for member in crew:
                if member.is_idle and waiting:
                    member.give(waiting.pop())
            busy = [member for member in crew if not member.is_idle]
            if not busy:
                return
            ready = wait([member.ear for member in busy], timeout=0.2)
            for member in busy:
                yield from member.heard() if member.ear in ready else member.looked_at(limit)
    finally:
        for member in crew:
            member.dismiss()


class _Member:
    """A process of the crew, as the watching process knows it."""

    def __init__(self, scratch, memory, kept):
        self._scratch = scratch
        self._memory = memory
        self._kept = kept
        self._process = None
        self.ear = None
        self._kind = ""
        self._next = 0
        self._end = 0
        self._since = 0.0

    @property
    def is_idle(self):
        return self._next >= self._end

    def give(self, job):
        """Have some attempts made."""
        self._kind, self._next, count = job
        self._end = self._next + count
        self._start()

    def _start(self):
        """Let the process make what is left, and start one if there is none."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self.ear, mouth = context.Pipe()
            arguments = (mouth, str(self._scratch), self._memory, self._kept)
            self._process = context.Process(target=_work, args=arguments)
            self._process.start()
            mouth.close()
            # It is not the attempt that takes the time of the imports.
            self.ear.recv()
        self.ear.send((self._kind, self._next, self._end))
        # Nor the time of what all of them begin with, for which kernels may have to be compiled.
        self.ear.recv()
        self._since = time.monotonic()

    def heard(self):
        """Take what the process says; it says nothing any more where an attempt brought it down."""
        try:
            outcome = self.ear.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            yield from self._replaced(f"the process ended with code {self._process.exitcode}")
            return
        self._since = time.monotonic()
        self._next = outcome.seed + 1
        yield outcome

    def looked_at(self, limit):
        """End the process if an attempt takes too long."""
        if time.monotonic() - self._since > limit:
            stack = _stack_of(self._process.pid, self._scratch)
            self._process.kill()
            self._process.join()
            yield from self._replaced(f"it took more than {limit:g} s\n{stack}")

    def _replaced(self, about):
        """Blame the attempt under way, and let another process go on behind it."""
        seconds = time.monotonic() - self._since
        yield Outcome(self._kind, self._next, "bad", seconds, 0, about)
        _keep(self._scratch / str(self._next), self._kept, self._kind, self._next)
        self._next += 1
        self._process = None
        if not self.is_idle:
            self._start()

    def dismiss(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _stack_of(pid, scratch):
    """Where a process stands, as faulthandler writes it on SIGUSR1."""
    said = scratch / "said"
    before = said.stat().st_size
    os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + SAYING
    while said.stat().st_size == before and time.monotonic() < until:
        time.sleep(0.01)
    return said.read_text(errors="replace")[-3000:]


def _keep(place, kept, kind, seed):
    """Keep the folder of a bad attempt, and remove it here."""
    if kept is not None and place.exists():
        target = Path(kept) / f"{kind.replace(' ', '-')}-{seed}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(place, target, symlinks=True, ignore=_no_pipes)
    shutil.rmtree(place, ignore_errors=True)


def _no_pipes(folder, names):
    """Names in a folder that are neither files nor folders; to read them could take for ever."""
    paths = [Path(folder, name) for name in names]
    return [one.name for one in paths if not (one.is_file() or one.is_dir() or one.is_symlink())]


def _work(mouth, scratch, memory, kept):
    """Make attempts as long as somebody wants them: what a process of the crew does."""
    import faulthandler

    place = Path(scratch)
    place.mkdir(parents=True, exist_ok=True)
    said = (place / "said").open("w+b", buffering=0)
    # What is printed, by libraries in C too, ends up in a file.
    for number in (1, 2):
        os.dup2(said.fileno(), number)
    faulthandler.enable(said)
    faulthandler.register(signal.SIGUSR1, said, all_threads=True)
    os.chdir(place)
    mouth.send("ready")
    while True:
        kind, first, end = mouth.recv()
        prepare(kind, place)
        mouth.send("prepared")
        for seed in range(first, end):
            mouth.send(_one(kind, seed, place, said, memory, kept))


def _one(kind, seed, place, said, most, kept):
    """Make one attempt, and look at what it left."""
    own = place / str(seed)
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    said.seek(0)
    said.truncate()
    _forget_peak()
    children_before = _peak_of_children()
    before = _descriptors()
    began = time.perf_counter()
    about = ""
    try:
        end = attempt(kind, seed, own)
    except BaseException:
        end = "bad"
        about = traceback.format_exc()
    seconds = time.perf_counter() - began
    # Of children, the system knows only the largest that there ever was.
    children = _peak_of_children()
    memory = max(_peak(), children if children > children_before else 0)
    if end != "bad":
        about = _complaint(said, memory, most, before)
        end = "bad" if about else end
    if end == "bad":
        _keep(own, kept, kind, seed)
    shutil.rmtree(own, ignore_errors=True)
    return Outcome(kind, seed, end, seconds, memory, about)


def _complaint(said, memory, most, before):
    """What is wrong beside the result, or nothing."""
    said.seek(0)
    text = said.read().decode(errors="replace")
    if "Traceback" in text or len(text) > MOST_SAID:
        return f"it printed {len(text)} characters:\n{text[:3000]}"
    if memory > most:
        return f"it took {memory / 2**30:.2f} GiB of memory"
    if not _left_open(before):
        return ""
    # What only a cycle of references keeps open is no leak.
    gc.collect()
    left = _left_open(before)
    return f"it left open: {sorted(left)}" if left else ""


def _left_open(before):
    """What is open that was not open before."""
    return {one for one in _descriptors() - before if not _stays(one[1])}


def _descriptors():
    """What is open, as (number, where it leads)."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.add((int(link.name), str(link.readlink())))
        except OSError:
            # The one by which they are listed.
            continue
    return found


def _stays(target):
    """Whether something is open for all attempts: of libraries, or what attempts begin with."""
    # Matplotlib keeps fonts open that it has looked at for its list of them; results whose arrays
    # are mapped are in the gardens.
    is_known = "/site-packages/" in target or "/garden" in target
    return is_known or target.startswith(("/dev/", "pipe:", "socket:", "anon_inode:", "/proc/"))


def _forget_peak():
    """Let the system count the peak of this process's memory anew."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak():
    """The peak since then, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1])


def _peak_of_children():
    """The largest peak of any process that this one has started, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
