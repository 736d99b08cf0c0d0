"""Who does the work, and with how much memory: executors, stores, and what gives memory back."""

from rankfold.scale.cluster import Dask
from rankfold.scale.executors import Executor, Serial, Threads, executor_for, shared_out
from rankfold.scale.limits import Needs, check_executor, store_for
from rankfold.scale.memory import give_back
from rankfold.scale.stores import MEMORY, Disk, Memory, Store, chunks, store_of, streamed

__all__ = [
    "MEMORY",
    "Dask",
    "Disk",
    "Executor",
    "Memory",
    "Needs",
    "Serial",
    "Store",
    "Threads",
    "check_executor",
    "chunks",
    "executor_for",
    "give_back",
    "shared_out",
    "store_for",
    "store_of",
    "streamed",
]
