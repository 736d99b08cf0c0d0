"""Experiments declared in TOML, run cell by cell.

A finished cell is one line of JSON in a log, so that a killed run goes on where it was.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from rankfold.errors import ConvergenceWarning, InputError
from rankfold.io import write_picture
from rankfold_lab.processes import call_all

Cell = dict[str, Any]


# The experiments, in the order in which they are run and shown.
ORDER = ("table2", "yale", "ar", "usps", "windows", "real", "speed")


@dataclass(frozen=True)
class Experiment:
    """One file of ``cases``.

    Attributes
    ----------
    name, title, text : str
        What it is called in commands, and what the page says.
    measure : str
        A row of MEASURES.
    data : str
        What it needs below the data folder.
    axes : dict of lists
        The values that are combined to cells.
    timed : bool
        Whether it runs alone; its numbers change from run to run.
    """

    name: str
    title: str
    text: str
    measure: str
    data: str
    axes: dict[str, list[Any]]
    timed: bool = False

    @property
    def cells(self) -> list[Cell]:
        """Every combination, in the order of the file."""
        return [
            dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())
        ]


def experiments(names: list[str] | None = None) -> list[Experiment]:
    """The declared experiments, all or some."""
    folder = resources.files("rankfold_lab.reproduce").joinpath("cases")
    unknown = [name for name in names or () if name not in ORDER]
    if unknown:
        raise InputError(f"unknown experiment {unknown[0]!r}; choose from {', '.join(ORDER)}")
    found = []
    for name in ORDER:
        if not names or name in names:
            content = tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
            found.append(Experiment(name=name, **content))
    return found


def run(
    chosen: list[Experiment], data: str | Path | None, out: str | Path, jobs: int = 2
) -> Generator[tuple[int, int], None, None]:
    """Run what is not in the logs yet; yields (done, of) after every cell.

    Parameters
    ----------
    chosen : list of Experiment
    data : path or None
        The folder of the data sets; None for generated stand-ins.
    out : path
        The folder for logs and pictures.
    jobs : int
        Cells at a time.
    """
    folder = Path(out)
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "pictures").mkdir(exist_ok=True)
    source = "" if data is None else str(data)
    _check_same_data(folder, source)
    work = [(e, cell) for e in chosen for cell in e.cells if _key(cell) not in read_log(folder, e)]
    together = [(e, cell) for e, cell in work if not e.timed]
    alone = [(e, cell) for e, cell in work if e.timed]
    done = 0
    calls = [(e, cell, source, str(folder)) for e, cell in together]
    with closing(call_all(run_cell, calls, jobs)) as ended:
        for k, values in ended:
            _append(folder, *together[k], values)
            done += 1
            yield done, len(work)
    for e, cell in alone:
        _append(folder, e, cell, run_cell(e, cell, source, str(folder)))
        done += 1
        yield done, len(work)


def run_cell(experiment: Experiment, cell: Cell, data: str, out: str) -> dict[str, Any]:
    """Measure one cell; pictures go to ``out``/pictures."""
    from rankfold_lab.reproduce.measures import MEASURES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        values, picture = MEASURES[experiment.measure](cell, Path(data) if data else None)
    if picture is not None:
        write_picture(Path(out) / "pictures" / picture_name(experiment, cell), picture)
    return values


def picture_name(experiment: Experiment, cell: Cell) -> str:
    """Return the name of the file with the picture of a cell."""
    words = [experiment.name, *(str(value) for value in cell.values())]
    return "-".join(words) + ".jpg"


def read_log(out: Path, experiment: Experiment) -> dict[str, dict[str, Any]]:
    """The finished cells by key; a last line that a kill cut short is passed over."""
    path = out / "logs" / f"{experiment.name}.jsonl"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[_key(record["cell"])] = {**record["cell"], **record["values"]}
    return found


def records(out: str | Path, experiment: Experiment) -> list[dict[str, Any]]:
    """The finished cells in the order of the declaration, whenever they were finished."""
    log = read_log(Path(out), experiment)
    return [log[_key(cell)] for cell in experiment.cells if _key(cell) in log]


def _append(out: Path, experiment: Experiment, cell: Cell, values: dict[str, Any]) -> None:
    """One line; on a line of its own also after a kill."""
    path = out / "logs" / f"{experiment.name}.jsonl"
    torn = path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + json.dumps({"cell": cell, "values": values}) + "\n")


def _check_same_data(out: Path, source: str) -> None:
    """A folder belongs to real data or to stand-ins, never to both."""
    mark = out / "logs" / "data.txt"
    kind = "real data" if source else "generated stand-ins"
    before = mark.read_text(encoding="utf-8") if mark.is_file() else kind
    if before != kind:
        raise InputError(f"{out} was made with {before}, not with {kind}; use another folder")
    mark.write_text(kind, encoding="utf-8")


def _key(cell: Cell) -> str:
    """Return a cell as text, whatever the order of its axes."""
    return json.dumps(cell, sort_keys=True)
