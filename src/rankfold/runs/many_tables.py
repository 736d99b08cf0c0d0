"""The table of many runs as files.

``summary.json`` and ``summary.csv`` are replaced at once and as a whole, so that whoever reads
them, also after the program was killed, finds one that is true.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from pathlib import Path

from rankfold.errors import WriteError
from rankfold.runs.many import ManySummary

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
    text = json.dumps(summary.as_dict(), indent=1) + "\n"
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
        number, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written ({error.strerror}); choose a folder that you may write to"
        ) from error
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        # A temporary file is private to its user; this one is for whoever may see the folder.
        Path(draft).chmod(path.parent.stat().st_mode & 0o666)
        Path(draft).replace(path)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise WriteError(f"{path} cannot be written ({error.strerror}); make room there") from error
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _csv(summary: ManySummary) -> str:
    """Give the rows as CSV; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in summary.rows:
        writer.writerow(row.as_dict())
    return text.getvalue()
