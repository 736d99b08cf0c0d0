"""Corresponding points in a CSV file: a start that a person has clicked."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from rankfold.errors import InputError
from rankfold.families import Floats
from rankfold.neutral import from_cell
from rankfold.stack import Points

FRAME_ROW = "frame"  # the row with the places of the points in the frame
HEADING = "name"  # first cell of an optional heading


def read_points_csv(path: str | Path, names: tuple[str, ...]) -> Points:
    """Read points from rows ``name,x1,y1,x2,y2,...``.

    Parameters
    ----------
    path : str or Path
        A CSV file with a row for every picture and one row named ``frame``, which has the places
        of the same points in the frame. Coordinates count from 0. A heading is skipped.
    names : tuple of str
        The pictures, in the order in which their points are wanted.

    Returns
    -------
    Points
        ``canonical`` (k, 2) in the frame and ``sources`` (n, k, 2) in the pictures.
    """
    table = _read_table(path)
    _check_complete(path, table, names)
    return Points(table[FRAME_ROW], np.stack([table[name] for name in names]))


def _read_table(path: str | Path) -> dict[str, Floats]:
    """Read the points (k, 2) of every row by the name in its first cell."""
    try:
        # Spreadsheets put a byte order mark before the first cell; utf-8-sig takes it away.
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            filled = [row for row in csv.reader(file) if row]
        # The heading is optional: whoever has a spreadsheet has one.
        rows = [row for row in filled if row[0].strip().lower() != HEADING]
        found = [(from_cell(row[0].strip()), _coordinates(row[1:])) for row in rows]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name") from error
    except (ValueError, csv.Error) as error:
        raise InputError(
            f"{path} has a row that is not name,x1,y1,x2,y2,... ({error}); correct it"
        ) from error
    table = dict(found)
    if len(table) < len(found):
        names = [name for name, _ in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path} has more than one row of {twice}; keep one of them")
    return table


def _coordinates(cells: list[str]) -> Floats:
    """Turn x1, y1, x2, y2, ... into points (k, 2)."""
    return np.array([float(cell) for cell in cells]).reshape(-1, 2)


def _check_complete(path: str | Path, table: dict[str, Floats], names: tuple[str, ...]) -> None:
    """Refuse a table that lacks a row or whose rows have different numbers of points."""
    if FRAME_ROW not in table:
        raise InputError(
            f"{path} has no row named frame, with the points' places in the frame; add it"
        )
    missing = [name for name in names if name not in table]
    if missing:
        raise InputError(f"{path} has no row for {missing[0]}; add it")
    if len({len(points) for points in table.values()}) > 1:
        raise InputError(
            f"the rows of {path} have different numbers of points; give the same to every picture"
        )
