"""The table of many runs as files.

``summary.json`` and ``summary.csv`` are replaced at once and as a whole, so that whoever reads
them, also after the program was killed, finds one that is true.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from rankfold.errors import WriteError
from rankfold.neutral import cell, encodable
from rankfold.runs.many import ManySummary
from rankfold.storage import whole_file

SUMMARY = "summary.json"
TABLE = "summary.csv"

# Columns of the table, in order; each is a key of ``BatchRow.as_dict``.
COLUMNS = (
    "name",
    "folder",
    "state",
    "pictures",
    "verdict",
    "placed",
    "doubtful",
    "failed",
    "rank",
    "status",
    "seconds",
    "error",
)


def write_tables(summary: ManySummary) -> None:
    """Write ``summary.json`` and ``summary.csv`` into the folder of many runs.

    Parameters
    ----------
    summary : ManySummary
    """
    text = json.dumps(encodable(summary.as_dict()), indent=1) + "\n"
    replace_text(summary.folder / SUMMARY, text)
    replace_text(summary.folder / TABLE, _csv(summary))


def replace_text(path: Path, text: str) -> None:
    """Write a file such that it has the old text or the new one, never a part.

    Parameters
    ----------
    path : Path
    text : str
        Bytes of a file name that are no text become question marks.
    """
    try:
        with whole_file(path, overwrite=True, ours=True, begin=True) as draft:
            draft.write_text(text, encoding="utf-8", errors="replace", newline="")
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(f"{path} cannot be written ({error.strerror}); make room there") from error


def _csv(summary: ManySummary) -> str:
    """Give the rows as CSV; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in summary.rows:
        writer.writerow({name: _cell(value) for name, value in row.as_dict().items()})
    return text.getvalue()


def _cell(value: object) -> object:
    """A value of a row; text is made harmless."""
    return cell(value) if isinstance(value, str) else value
