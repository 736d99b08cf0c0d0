"""clean: remove what killed runs have left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfold import runs
from rankfold.cli.app import FAILED, Voice, app
from rankfold.cli.grouping import grouped


@app.command()
@grouped
def clean(
    place: Annotated[
        Path, typer.Argument(help="A run folder, a folder with runs in it, or a checkpoint.")
    ] = Path(),
    plan: Annotated[bool, typer.Option("--plan", help="Only list what would be removed.")] = False,
    *,
    voice: Voice,
) -> None:
    """Remove what killed runs have left: drafts, locks, and what they would need to go on.

    Example: rankfold clean run
    """
    done = runs.clean(place, plan)
    total = sum(one.size for one in done if not (one.put_back or one.stays))
    value = {"cleaned": [one.as_dict() for one in done], "bytes": total, "plan": plan}
    lines = [f"would be {one.sentence}" if plan else one.sentence for one in done]
    if not done:
        lines = [f"nothing is left over in {place}"]
    else:
        lines.append(f"{total:,} bytes in all")
    voice.result(value, "\n".join(lines))
    if any(one.stays for one in done):
        raise typer.Exit(FAILED)
