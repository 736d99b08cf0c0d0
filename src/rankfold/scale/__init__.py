"""Who does the work, and with how much memory: executors, and what gives memory back."""

from rankfold.scale.executors import Executor, Serial, Threads, executor_for, shared_out
from rankfold.scale.memory import give_back

__all__ = ["Executor", "Serial", "Threads", "executor_for", "give_back", "shared_out"]
