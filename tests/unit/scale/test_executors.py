import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info

from rankfold import InputError
from rankfold.scale import Serial, Threads, executor_for, shared_out
from rankfold.scale.executors import WORTH_A_THREAD


def add(slab, a, b):
    return slab, a + b


def test_results_come_back_in_order_with_the_shared_arguments():
    expected = [(k, 3) for k in range(6)]
    assert Serial().run(add, range(6), 1, 2) == expected
    with Threads(3) as threads:
        assert threads.run(add, range(6), 1, 2) == expected


def test_they_do_so_when_the_first_is_done_last():
    second_is_done = threading.Event()

    def first_waits(slab):
        if slab == 0:
            assert second_is_done.wait(60)
        else:
            second_is_done.set()
        return slab

    with Threads(2) as executor:
        assert executor.run(first_waits, range(2)) == [0, 1]


def test_an_error_in_a_slab_reaches_the_caller():
    with Threads(2) as threads, pytest.raises(ZeroDivisionError):
        threads.run(lambda slab: 1 // slab, [1, 0])


def test_small_tasks_stay_with_the_calling_thread():
    with executor_for(None, 2) as threads:
        assert shared_out(threads, WORTH_A_THREAD) is threads
        assert isinstance(shared_out(threads, WORTH_A_THREAD - 1), Serial)
    assert isinstance(shared_out(None, WORTH_A_THREAD), Serial)


def test_n_jobs_chooses_and_blas_is_held_to_one_thread_meanwhile():
    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    with executor_for(None, None) as executor:
        assert isinstance(executor, Serial)
    with executor_for(None, 2) as executor:
        # Passes only if two threads are in it at once, however busy the machine is.
        meeting = threading.Barrier(2)
        found = executor.run(lambda _: meeting.wait() is None or threading.get_ident(), range(8))
        assert len(set(found)) == 2
        assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {1}
    assert [
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    ] == before
    mine = Serial()
    with executor_for(mine, 5) as executor:
        assert executor is mine
    with pytest.raises(InputError, match="n_jobs=-3"), executor_for(None, -3):
        pass


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_overlapping_calls_share_the_limit_and_the_last_one_restores_it():
    before = blas_threads()
    first, second = executor_for(None, 1), executor_for(None, 1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_a_forked_child_can_use_threads_after_its_parent_did():
    script = """
import multiprocessing, os
import numpy as np
import rankfold as rf
X = np.random.default_rng(0).random((20, 300))
rf.decompose(X, n_jobs=2)
child = os.fork()
if child == 0:
    rf.decompose(X, n_jobs=2)
    os._exit(0)
_, status = os.waitpid(child, 0)
raise SystemExit(status)
"""
    outcome = subprocess.run([sys.executable, "-c", script], timeout=600, capture_output=True)
    assert outcome.returncode == 0, outcome.stderr.decode()
