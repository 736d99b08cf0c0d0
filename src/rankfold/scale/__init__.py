"""Who does the work: executors that run tasks one after the other or on threads."""

from rankfold.scale.executors import Executor, Serial, Threads, executor_for, shared_out

__all__ = ["Executor", "Serial", "Threads", "executor_for", "shared_out"]
