"""A process that has imported everything, and forks one that runs a command whenever it is asked.

    PYTHONPATH=tests python -m campaign.warm

A request is a line of JSON on standard input: ``words`` (the command), ``place`` (the working
folder), ``said`` (where standard output and error go: this and ``.out`` or ``.err``), and
``signals`` (pairs of a moment and the number of the signal that the process then sends itself). The
moments of a process are counted: each file that is opened, each import and each call of the system
that the interpreter tells of is one. The first line is "ready"; the answers are two lines each: the
number of the process, and when it has ended its exit code (below zero for the signal that killed
it), its moments, and its memory.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

# What interrupts a fork, but not before it is ready.
BLOCKED = (signal.SIGINT, signal.SIGTERM)

# What counts as a moment, by the beginning of the name that the interpreter has for it.
COUNTED = ("open", "os.", "import", "shutil.", "tempfile.", "fcntl.", "subprocess.", "ctypes.")


@dataclass(frozen=True)
class End:
    """How a process has ended."""

    process: int
    # The exit code; below zero for the signal that killed it.
    code: int
    # How many moments it had.
    moments: int
    # Unit: seconds. From its beginning, and from the last signal that was sent after a delay.
    seconds: float
    after: float
    # Unit: bytes. At its peak; zero if nobody has measured it.
    memory: int = 0


class Warm:
    """The process, as whoever asks it sees it."""

    def __init__(self):
        # Its forks could not use threads that they do not have.
        alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        tests = {"PYTHONPATH": str(Path(__file__).parents[1])}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "campaign.warm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **alone, **tests},
            start_new_session=True,
        )
        # It may compile first, for as long as that takes.
        assert self._answer(None) == b"ready\n"

    def run(self, words, place, said, signals=(), delayed=(), limit=600):
        """Run a command to its end; returns an End.

        Parameters
        ----------
        words : list of str
        place : Path
            The working folder.
        said : Path
            Where it says something: this name and ``.out`` or ``.err``.
        signals : sequence of (int, int)
            At which moments it sends itself which signals.
        delayed : sequence of (float, int)
            After how many seconds each it is sent which signals.
        limit : float
            Seconds after which it hangs.
        """
        for ending in (".out", ".err"):
            Path(f"{said}{ending}").write_bytes(b"")
        request = {"words": words, "place": str(place), "said": str(said), "signals": signals}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        process = int(self._answer(limit))
        began = time.monotonic()
        sent = began
        for seconds, number in delayed:
            if not self._has_answered(seconds):
                # It has not been waited for, and so nobody else has its number.
                sent = time.monotonic()
                _signal(os.kill, process, number)
        if not self._has_answered(limit):
            _signal(os.killpg, process, signal.SIGKILL)
            self._answer(limit)
            raise AssertionError(f"{words} hangs")
        now = time.monotonic()
        code, moments, memory = json.loads(self._answer(limit))
        after = now - sent if delayed else 0.0
        return End(process, code, moments, now - began, after, memory)

    def _has_answered(self, seconds):
        """Whether there is an answer within some time; it is waited for if that is None."""
        with DefaultSelector() as selector:
            selector.register(self._process.stdout, EVENT_READ)
            return bool(selector.select(seconds))

    def _answer(self, seconds):
        """The next line."""
        assert self._has_answered(seconds), "the warm process does not answer"
        line = b""
        while not line.endswith(b"\n"):
            piece = os.read(self._process.stdout.fileno(), 1)
            assert piece, "the warm process has ended"
            line += piece
        return line


def _signal(send, process, number):
    """Send a signal to a process, or a group of them, that may be gone."""
    try:
        send(process, number)
    except ProcessLookupError:
        return


class Moments:
    """Counts the moments of this process, and sends it signals at some."""

    def __init__(self, signals):
        self._own = os.getpid()
        self._signals = dict(signals)
        self.count = 0

    def __call__(self, event, _):
        """Look at an event of the interpreter."""
        if os.getpid() != self._own or not event.startswith(COUNTED):
            return
        self.count += 1
        if self.count in self._signals:
            os.kill(self._own, self._signals[self.count])


def run_command(request, mouth):
    """Be the command: the life of a fork."""
    os.setsid()
    os.chdir(request["place"])
    for number, ending in ((1, ".out"), (2, ".err")):
        handle = os.open(request["said"] + ending, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.argv = ["rankfold", *request["words"]]
    # As a process that has just started, before the first signal can come.
    SIGNALS.take_over()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    moments = Moments(request["signals"])
    sys.addaudithook(moments)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    os.write(mouth, str(moments.count).encode())
    # Without taking everything down that was imported, which takes a second: nothing of rankfold
    # waits for that. The starts that are not warm end as processes do.
    os._exit(code)


def warm_up(app):
    """Load what commands need, by running some."""
    from typer.testing import CliRunner

    quick = ["-m", "rasl", "--max-outer", "1", "--jobs", "1", "--frame", "24x24", "--no-report"]
    with tempfile.TemporaryDirectory() as folder:
        views = f"{folder}/views"
        run = f"{folder}/run"
        for words in (
            ["datasets", "textures", "-o", views, "--images", "5"],
            ["align", views, "-o", run, *quick],
            ["report", run],
            ["plate", run, views, "-o", f"{folder}/plate.png"],
            ["restore", run, views, "-o", f"{folder}/restored"],
            ["mask", run, views, "-o", f"{folder}/masks"],
        ):
            outcome = CliRunner().invoke(app, words)
            assert outcome.exit_code != 2, outcome.output


def serve():
    """Fork whenever it is asked for."""
    # Its own answers, which no fork may write to.
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    os.write(answers, b"ready\n")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        ear, mouth = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(ear)
            run_command(request, mouth)
        os.close(mouth)
        os.write(answers, f"{process}\n".encode())
        _, status, usage = os.wait4(process, 0)
        moments = os.read(ear, 100)
        os.close(ear)
        code = os.waitstatus_to_exitcode(status)
        answer = json.dumps([code, int(moments or 0), 1024 * usage.ru_maxrss])
        os.write(answers, f"{answer}\n".encode())


if __name__ == "__main__":
    from rankfold.__main__ import main
    from rankfold.cli import app
    from rankfold.interruptions import SIGNALS

    # A fork gets them when it is ready; this process ends when nobody asks any more.
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    warm_up(app)
    threads = list(Path("/proc/self").glob("task/*"))
    assert len(threads) < 2, "a fork would miss its threads"
    # What is there stays where it is, so that forks need not copy it.
    gc.freeze()
    serve()
