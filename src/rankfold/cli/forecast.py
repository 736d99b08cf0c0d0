"""What is said before a run starts: what was chosen, what it will take, and whether it can fit."""

from __future__ import annotations

from rankfold import runs
from rankfold.align.plan import Plan
from rankfold.cli.app import Voice, table_of
from rankfold.cli.parsing import shown_size
from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.runs import Choice

SHOWN_IN_SECONDS = 120  # longer times are shown in minutes


def say_choice(voice: Voice, source: Source, choice: Choice, method: str, family: str) -> None:
    """Say what the pictures are and how they will be aligned."""
    sizes = {shown_size(shape) for shape in source.shapes}
    size = sizes.pop() if len(sizes) == 1 else f"{len(sizes)} sizes"
    voice.remark(f"{_count(source)} of {size}, {source.dtype}")
    frame = f"frame {shown_size(choice.frame.shape)}"
    if choice.reduction > 1:
        frame += f", the pictures read {choice.reduction} times coarser (--frame, --reduce)"
    init = choice.init if isinstance(choice.init, str) else "given"
    voice.remark(f"method {method}, family {family}, {frame}, init {init}")


def say_sizes(voice: Voice, source: Source, choice: Choice) -> None:
    """Say what the pictures are that will be decomposed."""
    text = f"{_count(source)}, {shown_size(choice.frame.shape)}"
    if choice.reduction > 1:
        text += f", read {choice.reduction} times coarser (--reduce)"
    voice.remark(text)


def say_plan(voice: Voice, plan: Plan, choice: Choice) -> None:
    """Print what a run would take, beside what this machine has."""
    memory = runs.machine_memory()
    value = {
        "images": plan.images,
        "frame": list(plan.frame.shape),
        "reduction": choice.reduction,
        "channels": plan.channels,
        "method": plan.method,
        "family": plan.family,
        "memory_bytes": round(plan.memory),
        "machine_bytes": memory,
        "fits": runs.fits(plan, memory),
        "seconds": round(plan.seconds, 1),
    }
    # For people, in the order in which they ask.
    rows = [("frame", f"{shown_size(plan.frame.shape)} (height x width)")]
    rows += [("memory", _gib(plan.memory))]
    rows += [("of this machine", "unknown" if memory is None else _gib(memory))]
    rows += [("time", _duration(plan.seconds))]
    voice.result(value, table_of(("", ""), rows))


def check_memory(plan: Plan, force: bool, remedies: str) -> None:
    """Refuse a run that needs more memory than this machine has, unless it is forced."""
    # All that is built in, not what is free: other programs may give theirs back.
    memory = runs.machine_memory()
    if force or memory is None or runs.fits(plan, memory):
        return
    raise InputError(
        f"{plan.images} pictures in a frame of {shown_size(plan.frame.shape)} need about "
        f"{_gib(plan.memory)} of memory, and this machine has {_gib(memory)}; "
        f"use {remedies}, or --force to start all the same"
    )


def _count(source: Source) -> str:
    """Say how many pictures there are, and whether they have colour."""
    return f"{len(source)} {'colour' if source.channels > 1 else 'grey'} pictures"


def _gib(count: float) -> str:
    """Write a number of bytes as GiB."""
    return f"{count / 2**30:.2f} GiB"


def _duration(seconds: float) -> str:
    """Write a time that is a guess."""
    if seconds < SHOWN_IN_SECONDS:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min"
