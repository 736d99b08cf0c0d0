"""Work on other machines: state that stays with Dask workers, and calls that go to it.

A worker is sent what makes its state, keeps it, and is then called with small arguments. Every task
is pinned to the worker that has the state, and answers come back in the order of the states, so
that sums over them have the same bits whatever the number of workers.

No actors (a lost one stays lost), no scattered data (it cannot be made again), nothing summed in
the order in which it arrives. A worker that dies takes its state with it: the caller is told with a
:class:`~rankfold.errors.WorkerLost` and makes all of it anew on those that are left.
"""

from __future__ import annotations

import importlib.metadata
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from rankfold.errors import InputError, WorkerError, WorkerLost
from rankfold.scale.executors import Executor, Serial, single_blas
from rankfold.scale.stores import Store, store_of
from rankfold.version import __version__

S = TypeVar("S")
R = TypeVar("R")

# Unit: s. How long a scheduler may take to answer, and a cluster to have a worker.
CONNECT = 10.0
# Unit: s. After so long without an answer it is asked whether all workers are still there.
LOOK = 1.0

# What this process holds as a worker, by names that the caller chose.
_STATES: dict[str, Any] = {}


class Dask:
    """An executor whose large problems are solved on the workers of a Dask cluster.

    Bands of the frame live on the workers, which read the pictures themselves where these are
    files. Small problems, and all that is not the inner solver, are computed here. A context
    manager, which ends a cluster that it began.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler as "tcp://host:8786".
    workers : int, optional
        Begin a cluster of so many processes on this machine instead.
    here : Executor, optional
        Who computes what stays here; the calling thread by default.
    """

    def __init__(
        self, client: Any = None, *, workers: int | None = None, here: Executor | None = None
    ) -> None:
        if (client is None) == (workers is None):
            raise InputError(
                "say where to compute: a client or the address of a scheduler, or workers=2 for "
                "processes on this machine"
            )
        self._here = here or Serial()
        self._cluster: Any = None
        self._begun = False
        self.client: Any = None
        try:
            if workers is not None:
                self._cluster = _begin_cluster(workers)
            self._join(client if workers is None else self._cluster)
        except BaseException:
            self.close()
            raise

    def _join(self, client: Any) -> None:
        """Connect, unless that is done, and look at the workers."""
        if not _is_client(client):
            client = _connect(client)
            self._begun = True
        self.client = client
        self._check_workers()

    @property
    def store(self) -> Store:
        """Where large arrays are kept that stay here."""
        return store_of(self._here)

    def run(self, function: Callable[..., R], slabs: Sequence[S], *shared: object) -> list[R]:
        """Return ``[function(slab, *shared) for slab in slabs]``, computed here."""
        return self._here.run(function, slabs, *shared)

    def addresses(self) -> list[str]:
        """Return the addresses of the workers that are there, in a fixed order."""
        return sorted(there(self.client)) or self._wait_for_a_worker()

    def place(self, makers: Sequence[Callable[[], Any]], on: Sequence[str]) -> Placed:
        """Let workers make one state each, and return what calls them."""
        return Placed(self.client, makers, on)

    def _wait_for_a_worker(self) -> list[str]:
        """Wait until a worker is there: a new one may take the place of one that died."""
        try:
            self.client.wait_for_workers(1, timeout=3 * CONNECT)
            return sorted(there(self.client))
        except TimeoutError as error:
            raise WorkerError(
                "the cluster has no workers; start some with `dask worker ADDRESS`"
            ) from error

    def _check_workers(self) -> None:
        """Refuse workers that do not have this package, in this version."""
        self.addresses()
        # A function of the standard library: one of ours could not even be sent there.
        versions = self.client.run(importlib.metadata.version, "rankfold", on_error="return")
        for address, version in versions.items():
            if isinstance(version, BaseException):
                raise WorkerError(
                    f"the worker {address} does not have rankfold ({version!r}); install rankfold "
                    f"{__version__} there, in the environment of the worker"
                )
            if version != __version__:
                raise WorkerError(
                    f"the worker {address} has rankfold {version}, this is {__version__}; install "
                    "the same version on both, or results would differ"
                )

    def close(self) -> None:
        """End the connection and the cluster, if they were begun here."""
        if self._begun and self.client is not None:
            self.client.close()
        if self._cluster is not None:
            self._cluster.close()

    def __enter__(self) -> Dask:
        """Return the executor itself: its cluster is there already."""
        return self

    def __exit__(self, *error: object) -> None:
        """End what was begun."""
        self.close()


class Placed:
    """States on workers, one each.

    Parameters
    ----------
    client : distributed.Client
    makers : sequence of callables
        What is sent; each returns the state that stays.
    on : sequence of str
        The address of the worker of each.
    """

    def __init__(self, client: Any, makers: Sequence[Callable[[], Any]], on: Sequence[str]) -> None:
        self._client = client
        self._on = list(on)
        self._names = [f"rankfold-{uuid.uuid4().hex}" for _ in makers]
        # Calls are numbered, so that none is made twice on a state that it changes.
        self._turn = count()
        tasks = [(_make, name, maker) for name, maker in zip(self._names, makers, strict=True)]
        try:
            self._gather(tasks, self._on)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Count the states."""
        return len(self._names)

    def call(
        self, function: Callable[..., R], *shared: object, each: Sequence[object] | None = None
    ) -> list[R]:
        """Return ``function(state, *shared)`` of every state, in order.

        ``each`` has one more argument for every state, which goes to that one alone.
        """
        turn = next(self._turn)
        own = [()] * len(self) if each is None else [(one,) for one in each]
        tasks = [
            (_call, name, turn, function, (*mine, *shared))
            for name, mine in zip(self._names, own, strict=True)
        ]
        found: list[R] = self._gather(tasks, self._on)
        return found

    def ask(self, index: int, function: Callable[..., R], *shared: object) -> R:
        """Return ``function(state, *shared)`` of one state."""
        task = (_call, self._names[index], next(self._turn), function, shared)
        found: R = self._gather([task], [self._on[index]])[0]
        return found

    def close(self) -> None:
        """Let the workers forget their states; those that are gone have forgotten already."""
        # Whatever ends here, its own error counts, or its result is complete.
        with suppress(WorkerError):
            alive = there(self._client)
            left = [one for one in zip(self._names, self._on, strict=True) if one[1] in alive]
            self._gather([(_forget, name) for name, _ in left], [at for _, at in left])

    def _gather(self, tasks: Sequence[tuple[Any, ...]], on: Sequence[str]) -> list[Any]:
        """Run tasks, each on its own worker alone, and return their answers in order."""
        import dask

        # Matrices of n x n are sent on purpose: they are what a pass needs.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GiB"}):
            futures = [
                self._client.submit(
                    *task, key=f"rankfold-{uuid.uuid4().hex}", workers=[address], pure=False
                )
                for task, address in zip(tasks, on, strict=True)
            ]
        return [self._answer(future, on) for future in futures]

    def _answer(self, future: Any, on: Sequence[str]) -> Any:
        """Wait for an answer, and now and then ask whether all workers are still there."""
        from distributed import CancelledError, KilledWorker
        from distributed.client import FutureCancelledError

        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                # A task, or an answer, whose worker is gone would be waited for without end.
                lost = set(on) - there(self._client)
                if lost:
                    raise WorkerLost(f"the worker {min(lost)} is gone") from None
            except (KilledWorker, CancelledError, FutureCancelledError) as error:
                raise WorkerLost(f"a worker of {', '.join(on)} is gone") from error


def there(client: Any) -> set[str]:
    """Return the addresses of the workers that are there."""
    try:
        return set(client.nthreads())
    except (OSError, TimeoutError) as error:
        raise WorkerError(
            f"the scheduler does not answer any more ({error}); start it again, and then the run"
        ) from error


# -- what runs on a worker ------------------------------------------------------------------------


def _make(name: str, maker: Callable[[], Any]) -> None:
    """Make a state and keep it, with the number of the last call."""
    with single_blas():
        _STATES[name] = (maker(), -1)


def _call(name: str, turn: int, function: Callable[..., R], arguments: tuple[object, ...]) -> R:
    """Call a function on a state that is here."""
    if name not in _STATES:
        # A new process took the place and the address of one that died.
        raise WorkerLost("a worker began anew and has forgotten its state")
    state, last = _STATES[name]
    if turn <= last:
        # Its answer was lost on the way. The state has changed, so it cannot be made again.
        raise WorkerLost("a worker was asked twice for the same thing")
    _STATES[name] = (state, turn)
    with single_blas():
        return function(state, *arguments)


def _forget(name: str) -> None:
    """Let go of a state."""
    _STATES.pop(name, None)


# -- how a cluster is reached ---------------------------------------------------------------------


def _is_client(client: object) -> bool:
    """Whether an object is a client already, and not an address or a cluster."""
    return hasattr(client, "submit") and hasattr(client, "nthreads")


def _connect(address: Any) -> Any:
    """Connect to a scheduler."""
    Client = _distributed().Client
    # Made in two steps, so that there is something to close if the second one fails. Left to the
    # garbage collector, a client that did not connect takes the lock under which the next one
    # starts its loop, and if the collector runs in that loop's thread, neither goes on.
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=CONNECT, set_as_default=False)
        return client
    except (OSError, TimeoutError, ValueError) as error:
        client.close()
        raise WorkerError(
            f"no scheduler answers at {address}; start one with `dask scheduler`, and give its "
            "address as tcp://host:8786"
        ) from error


def _begin_cluster(workers: int) -> Any:
    """Begin a cluster of processes on this machine."""
    if workers < 1:
        raise InputError(f"workers={workers} must be at least 1")
    LocalCluster = _distributed().LocalCluster
    # Bands are memory that Dask knows nothing of: a limit of its own would only stop a worker.
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address=":0",
    )


def _distributed() -> Any:
    """The package for clusters, which is an extra."""
    try:
        import distributed
    except ImportError as error:
        raise InputError("Dask is not installed; run `pip install rankfold[scale]`") from error
    return distributed
