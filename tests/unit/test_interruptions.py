"""What Ctrl-C and SIGTERM do: at the start, at work, while cleaning up, and at the end."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from rankfold import interruptions
from rankfold.interruptions import Signals, Terminated, uninterrupted

LIMIT = 60.0  # seconds; only ends the wait for something that never comes
BOTH = [(signal.SIGINT, KeyboardInterrupt, 130), (signal.SIGTERM, Terminated, 143)]


@pytest.fixture
def signals(monkeypatch):
    # What takes long here is the machine, and not work that has swallowed its interruption.
    monkeypatch.setattr(interruptions, "SWALLOWED", float("inf"))
    return Signals()


def in_a_process(code):
    """Run code that has the signals of its process; its exit code and what it says."""
    begins = "import signal; from rankfold.interruptions import SIGNALS; SIGNALS.take_over(); "
    done = subprocess.run(
        [sys.executable, "-c", begins + code], capture_output=True, text=True, timeout=LIMIT
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_a_process_that_starts_ends_at_once(number, code):
    ended, said = in_a_process(f"signal.raise_signal({number}); print('goes on')")
    assert ended == code
    assert said.endswith("; nothing was written.\n")
    assert "goes on" not in said


def test_at_the_end_nothing_is_heeded():
    code = "SIGNALS.ignore(); signal.raise_signal(2); signal.raise_signal(15); print('done')"
    assert in_a_process(code) == (0, "done\n")


@pytest.mark.parametrize(("number", "exception", "code"), BOTH)
def test_the_first_signal_raises_and_what_follows_does_not(signals, number, exception, code):
    before = [signal.getsignal(one) for one, _, _ in BOTH]
    with signals.listening():
        with pytest.raises(exception) as raised:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert signals.cause_of(raised.value).code == code
    # A library may have made another error of it.
    assert signals.cause_of(ImportError("numpy")).code == code
    assert [signal.getsignal(one) for one, _, _ in BOTH] == before


def test_one_that_was_swallowed_does_not_make_the_process_deaf(signals, monkeypatch):
    monkeypatch.setattr(interruptions, "SWALLOWED", 0.0)
    with signals.listening():
        for _ in range(2):
            with pytest.raises(Terminated):
                signal.raise_signal(signal.SIGTERM)


def test_an_exception_that_nobody_raised_here_has_its_kind_too(signals):
    assert signals.cause_of(KeyboardInterrupt()).code == 130
    assert signals.cause_of(Terminated()).code == 143


class Interrupted:
    """Is interrupted while it goes."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


class Failing:
    """Fails while it goes."""

    def __del__(self):
        raise ZeroDivisionError("a mistake")


def lose_one_and_wait(kind):
    """Be interrupted where nobody can catch it, and work on until it comes again."""
    kind()
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        time.sleep(0.01)


def test_one_that_comes_in_a_destructor_comes_again(signals):
    with signals.listening(), pytest.raises(Terminated):
        lose_one_and_wait(Interrupted)


def test_one_that_comes_while_that_is_said_comes_again(signals, monkeypatch):
    """It was lost for good, and what came next was ignored."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: signal.raise_signal(signal.SIGTERM))
    with signals.listening(), pytest.raises(Terminated):
        lose_one_and_wait(Failing)


def test_one_that_is_sent_again_too_soon_comes_once_more(signals, monkeypatch):
    """On a busy machine it came before the hook that had sent it was left."""

    class Early(threading.Thread):
        def start(self):
            super().start()
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(interruptions.threading, "Thread", Early)
    with signals.listening(), pytest.raises(Terminated):
        lose_one_and_wait(Interrupted)


def test_what_else_fails_there_is_told_as_ever(signals, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with signals.listening():
        Failing()
    # Of other objects, another error may be told at any time.
    assert told.count(ZeroDivisionError) == 1


def test_a_block_in_the_block_changes_nothing(signals):
    with signals.listening():
        with signals.listening():
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_thread_does_not_listen(signals):
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work():
        with signals.listening():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_what_is_ignored_stays_so(signals, monkeypatch):
    """As after nohup, and in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals.listening():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_all_are_heard_though_one_comes_while_they_are_given_back(monkeypatch):
    """The others stayed put off for good."""
    heard = []

    def hear(number, _):
        heard.append(number)

    before = signal.signal(signal.SIGTERM, hear)
    given = signal.signal

    def interrupted(number, handler):
        given(number, handler)
        if handler is signal.default_int_handler:
            signal.raise_signal(signal.SIGINT)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(interruptions.signal, "signal", interrupted)
            with pytest.raises(KeyboardInterrupt), uninterrupted():
                pass
        assert signal.getsignal(signal.SIGTERM) is not hear
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is hear
    finally:
        signal.signal(signal.SIGTERM, before)


def put_off(steps):
    """Be interrupted where that is put off."""
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        steps.append("in the block")
    steps.append("after it")


def test_a_block_can_put_them_off(signals):
    steps = []
    with signals.listening(), pytest.raises(Terminated):
        put_off(steps)
    assert steps == ["in the block"]
