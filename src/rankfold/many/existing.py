"""Whether a run folder that is there already is the one that would be made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankfold import runs
from rankfold.errors import FormatError, InputError
from rankfold.io import Source
from rankfold.many.batches import Batch
from rankfold.many.recipe import Recipe
from rankfold.runs import Run
from rankfold.runs.folder import has_names, pictures_of


def existing_run(folder: Path, batch: Batch, recipe: Recipe, source: Source) -> Run | None:
    """Open the run that is there, if it is the one that was asked for.

    Parameters
    ----------
    folder : Path
        The run folder.
    batch : Batch
    recipe : Recipe
    source : Source
        The pictures of the batch as they are now.

    Returns
    -------
    Run or None
        None if it has to be made again.
    """
    try:
        run = runs.open_run(folder)
    except FormatError as error:
        difference = str(error)
    else:
        difference = _difference(run, batch, recipe, source)
        if not difference:
            return run
    if recipe.overwrite:
        return None
    raise InputError(
        f"{folder} cannot be taken as it is ({difference}); "
        "replace it with overwrite=True, or choose another folder"
    )


def _difference(run: Run, batch: Batch, recipe: Recipe, source: Source) -> str:
    """Say in which way a run is not the one that was asked for; empty if it is."""
    described = run.config.get("batch", {})
    if "recipe" not in described:
        return "it was not made by align_many"
    earlier_path = pictures_of(run.config) or Path()
    if os.path.realpath(earlier_path) != os.path.realpath(batch.path):
        return f"it was made from {earlier_path}"
    if not has_names(source, run):
        return "its pictures are others by now"
    changed = _changed(json.loads(described["recipe"]), recipe.traced)
    return f"it was made with another {changed}" if changed else ""


def _changed(earlier: dict[str, Any], now: dict[str, Any]) -> str:
    """Name the first option that differs; empty if all are the same."""
    for name in sorted({*earlier, *now}):
        one = earlier.get(name)
        other = now.get(name)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            return _changed(one, other)
        return name
    return ""
