"""What is said before a run starts: what was chosen, what it will take, and whether it can fit."""

from __future__ import annotations

from rankfold import runs
from rankfold.align.plan import Plan
from rankfold.cli.app import Voice, table_of
from rankfold.cli.options import Computing
from rankfold.cli.parsing import shown_size
from rankfold.errors import InputError
from rankfold.io import Source
from rankfold.runs import Choice
from rankfold.scale.limits import limit_of

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


def say_plan(voice: Voice, plan: Plan, choice: Choice, computing: Computing) -> None:
    """Print what a run would take, in memory and on disk, beside what there is."""
    limit = limit_of(computing.max_memory)
    on_disk = limit is not None and plan.memory > limit
    memory = plan.least if on_disk else plan.memory
    value = {
        "images": plan.images,
        "frame": list(plan.frame.shape),
        "reduction": choice.reduction,
        "channels": plan.channels,
        "method": plan.method,
        "family": plan.family,
        "memory_bytes": round(memory),
        "disk_bytes": round(plan.disk) if on_disk else 0,
        "limit_bytes": None if limit is None else round(limit),
        "machine_bytes": runs.machine_memory(),
        "fits": computing.complaint(plan.needs) is None,
        "seconds": round(plan.seconds, 1),
    }
    # For people, in the order in which they ask.
    rows = [("frame", f"{shown_size(plan.frame.shape)} (height x width)")]
    rows += [("memory", shown_gib(memory))]
    if on_disk:
        rows += [("on disk", f"{shown_gib(plan.disk)}, instead of {shown_gib(plan.memory)} in all")]
    rows += [("may take", "unknown" if limit is None else shown_gib(limit))]
    rows += [("time", shown_duration(plan.seconds))]
    voice.result(value, table_of(("", ""), rows))


def check_memory(plan: Plan, computing: Computing, remedies: str) -> None:
    """Refuse a run that fits neither into memory nor on disk, unless it is forced."""
    complaint = computing.complaint(plan.needs)
    if complaint is None or computing.force:
        return
    raise InputError(
        f"{plan.images} pictures in a frame of {shown_size(plan.frame.shape)} do not fit: "
        f"{complaint}, use {remedies}, or --force to start all the same"
    )


def _count(source: Source) -> str:
    """Say how many pictures there are, and whether they have colour."""
    return f"{len(source)} {'colour' if source.channels > 1 else 'grey'} pictures"


def shown_gib(count: float) -> str:
    """Write a number of bytes as GiB."""
    return f"{count / 2**30:.2f} GiB"


def shown_duration(seconds: float) -> str:
    """Write a time that is a guess."""
    if seconds < SHOWN_IN_SECONDS:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min"
