"""warmup: compile ahead of time what the first run would compile."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from rankfold.cli.app import Voice, app
from rankfold.cli.grouping import grouped
from rankfold.errors import WriteError


@app.command()
@grouped
def warmup(
    cache: Annotated[
        Path | None,
        typer.Option(help="The folder to keep it in; by default beside the installed package."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at a time; as many as cores if left out.")
    ] = None,
    *,
    voice: Voice,
) -> None:
    """Compile once what runs need, for an image, a cluster or a classroom.

    Example: rankfold warmup --cache /opt/rankfold-cache
    """
    from rankfold.cli.compiling import ABOUT, can_be_kept, compile_all
    from rankfold.compiled import FOLDER

    if cache is None and not can_be_kept():
        raise WriteError(
            "there is no folder that can be written in which rankfold would find it again; name "
            f"one with --cache DIR, and set {FOLDER}=DIR wherever it runs"
        )
    voice.remark(f"compiling once, about {ABOUT} s")
    began = time.perf_counter()
    parts = {}
    with closing(compile_all(cache, jobs or os.cpu_count() or 1)) as done:
        for part, seconds in done:
            parts[part] = round(seconds, 1)
            voice.remark(f"{part}: {seconds:.0f} s")
    took = time.perf_counter() - began
    facts = {
        "seconds": round(took, 1),
        "parts": parts,
        "cache": None if cache is None else str(cache),
    }
    voice.result(facts, f"Compiled in {took:.0f} s.")
    if cache is not None and not voice.silent:
        typer.echo(f"To use it, set {FOLDER}={cache.resolve()} before rankfold starts.")
