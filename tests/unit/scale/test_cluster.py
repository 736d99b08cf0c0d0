"""Workers that cannot be used, and what is said of them."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import rankfold as rf
from rankfold.errors import WorkerError, WorkerLost
from rankfold.scale import Dask, Serial, cluster

distributed = pytest.importorskip("distributed")


# Evaluated by a worker: how many states it holds.
held_by_worker = partial(eval, "len(__import__('rankfold.scale.cluster').scale.cluster._STATES)")


@pytest.fixture(scope="module")
def alone():
    """A scheduler with no workers."""
    with distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def two():
    with Dask(workers=2) as executor:
        yield executor


def test_one_has_to_say_where():
    with pytest.raises(rf.InputError, match="say where to compute"):
        Dask()
    with pytest.raises(rf.InputError, match="say where to compute"):
        Dask("tcp://here:1", workers=2)
    with pytest.raises(rf.InputError, match="workers=0 must be at least 1"):
        Dask(workers=0)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "ftp://here:1"])
def test_where_no_scheduler_answers(address, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with pytest.raises(WorkerError, match=f"no scheduler answers at {address}; start one with"):
        Dask(address)


def test_nothing_is_left_of_a_connection_that_failed(monkeypatch):
    """What the collector finds later would lock the start of the next client."""
    made = []
    start = distributed.Client.start

    def watched(client, **kwargs):
        made.append(client)
        return start(client, **kwargs)

    monkeypatch.setattr(distributed.Client, "start", watched)
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with pytest.raises(WorkerError, match="no scheduler answers"):
        Dask("tcp://127.0.0.1:9")
    assert [client.status for client in made] == ["closed"]


def test_a_cluster_without_workers(alone, monkeypatch):
    with distributed.Client(alone, set_as_default=False) as client:
        monkeypatch.setattr(cluster, "CONNECT", 0.2)
        with pytest.raises(WorkerError, match="the cluster has no workers; start some with"):
            Dask(client)


def test_a_worker_without_the_package(alone, tmp_path):
    """A real one: an interpreter that has all packages but this one."""
    packages = Path(distributed.__file__).parents[1]
    for entry in packages.iterdir():
        if not entry.name.startswith(("rankfold", "_editable", "__editable__")):
            (tmp_path / entry.name).symlink_to(entry)
    command = [sys._base_executable, "-m", "distributed.cli.dask_worker"]
    command += [alone.scheduler_address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, cwd=tmp_path)
        try:
            with distributed.Client(alone.scheduler_address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=120)
            with pytest.raises(WorkerError, match=r"does not have rankfold .*; install rankfold"):
                Dask(alone.scheduler_address)
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_a_worker_with_another_version(two, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "0.0.1")
    with pytest.raises(WorkerError, match=r"has rankfold 0\.\d.*, this is 0.0.1; install the same"):
        Dask(two.client)


def test_states_stay_with_their_workers_and_answer_in_order(two):
    addresses = two.addresses()
    assert len(addresses) == 2
    placed = two.place([dict, dict], addresses)
    assert placed.call(len) == [0, 0]
    placed.call(dict.update, each=[{"a": 1}, {"b": 2, "c": 3}])
    assert placed.call(len) == [1, 2]
    assert placed.ask(1, sorted) == ["b", "c"]
    placed.close()
    with pytest.raises(WorkerLost, match="has forgotten its state"):
        placed.call(len)


def test_nothing_is_done_twice_to_a_state(two):
    placed = two.place([dict], two.addresses()[:1])
    placed.call(dict.update, {"a": 1})
    placed._turn = iter([0])
    with pytest.raises(WorkerLost, match="asked twice"):
        placed.call(dict.update, {"b": 2})
    placed.close()


def test_what_cannot_be_made_leaves_nothing_behind(two):
    before = sum(two.client.run(held_by_worker).values())
    with pytest.raises(ZeroDivisionError):
        two.place([dict, partial(divmod, 1, 0)], two.addresses())
    assert sum(two.client.run(held_by_worker).values()) == before


def test_an_error_of_a_task_is_the_callers(two):
    placed = two.place([dict], two.addresses()[:1])
    with pytest.raises(KeyError, match="nothing"):
        placed.call(dict.__getitem__, "nothing")
    placed.close()


def test_what_is_small_stays_here(two):
    assert two.run(abs, [-1, 2]) == [1, 2]
    assert Dask(two.client, here=Serial()).store is Serial().store
