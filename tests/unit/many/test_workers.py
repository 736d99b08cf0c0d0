"""Processes that run jobs: what is survived, and what is left behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

import jobs
from rankfold.many.workers import Died, Worker, run_jobs, serve

LIMIT = 120.0  # seconds; only ends the wait for something that never comes


def nothing(k):
    pass


def waited_for(condition):
    """Wait until something holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        os.sched_yield()
    return True


def is_running(process):
    """Whether a process is there and not only waits for its parent to take note of its end."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


def test_every_job_has_its_result_and_processes_are_used_again():
    begun = []
    results = dict(run_jobs(range(6), jobs.process_of, 2, begun.append))
    assert sorted(results) == sorted(begun) == list(range(6))
    assert len(set(results.values())) == 2
    assert os.getpid() not in results.values()


def test_a_job_that_kills_its_process_costs_no_other():
    results = dict(run_jobs([2, 3, 4, 6], jobs.killed_at_odd, 2, nothing))
    assert results == {0: 4, 1: Died(-9), 2: 8, 3: 12}
    assert results[1].was_killed


def test_a_job_is_tried_once_more(tmp_path):
    begun = []
    results = dict(run_jobs([str(tmp_path / "mark")], jobs.killed_once, 2, begun.append))
    assert begun == [0, 0]
    assert isinstance(results[0], int)


def test_a_mistake_is_not_tried_again_and_is_no_kill(capfd):
    begun = []
    results = dict(run_jobs([1], jobs.raising, 2, begun.append))
    assert results == {0: Died(1)}
    assert not results[0].was_killed
    assert begun == [0]
    assert "RuntimeError: a mistake in 1" in capfd.readouterr().err


def test_whoever_stops_leaves_no_process_and_lets_it_clean_up(tmp_path):
    marks = [str(tmp_path / name) for name in "ab"]
    busy = []

    def interrupt(k):
        busy.append(k)
        if len(busy) == 2:
            assert waited_for(lambda: all(Path(mark).exists() for mark in marks))
            raise KeyboardInterrupt

    with (
        closing(run_jobs(marks, jobs.busy_forever, 2, interrupt, LIMIT)) as ended,
        pytest.raises(KeyboardInterrupt),
    ):
        next(ended)
    assert not any(tmp_path.iterdir())


class TestThoseThatDoNotListen:
    PATIENCE = 2.0  # seconds

    @pytest.fixture
    def ended(self, tmp_path):
        """Three processes, and Ctrl-C when all of them are at work."""
        marks = [tmp_path / name for name in "abc"]

        def interrupt(k):
            if k == len(marks) - 1:
                assert waited_for(lambda: all(mark.exists() and mark.read_text() for mark in marks))
                raise KeyboardInterrupt

        def end():
            work = [str(mark) for mark in marks]
            with (
                closing(run_jobs(work, jobs.deaf, 3, interrupt, self.PATIENCE)) as ended,
                pytest.raises(KeyboardInterrupt),
            ):
                next(ended)
            assert not any(is_running(mark.read_text()) for mark in marks)

        return end

    def test_they_are_waited_for_together(self, ended, monkeypatch):
        """They were waited for one after the other: Ctrl-C took as long as all of them."""
        given = []
        real = Worker.end

        def end(worker, patience):
            given.append(patience)
            real(worker, patience)

        monkeypatch.setattr(Worker, "end", end)
        ended()
        # The first takes all of the time, and leaves none to the others.
        assert len(given) == 3
        assert given[0] <= self.PATIENCE
        assert given[1:] == [0.0, 0.0]

    def test_another_interruption_does_not_keep_them(self, ended, monkeypatch):
        """After it nobody ended them, and the process waited for them for ever."""
        real = Worker.leave

        def leave(worker, busy):
            signal.raise_signal(signal.SIGINT)
            real(worker, busy)

        monkeypatch.setattr(Worker, "leave", leave)
        ended()


def test_a_result_that_nobody_takes_is_no_error(capfd):
    """Ctrl-C while one was on its way ended the process with a traceback."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, jobs.doubled))
    process.start()
    theirs.close()
    ours.send(2)
    assert ours.poll(LIMIT)
    # The system tells the other end that something was left unread.
    ours.close()
    process.join(LIMIT)
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    mark = tmp_path / "mark"
    script = tmp_path / "script.py"
    script.write_text(
        "import jobs\n"
        "from rankfold.many.workers import run_jobs\n"
        "if __name__ == '__main__':\n"
        f"    list(run_jobs([{str(mark)!r}], jobs.busy_forever, 2, print))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, script], env=environment) as process:
        waited_for(lambda: mark.exists() and mark.read_text())
        worker = mark.read_text()
        assert is_running(worker)
        process.kill()
    assert waited_for(lambda: not mark.exists() and not is_running(worker))
