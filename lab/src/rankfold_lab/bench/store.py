"""``bench.json``: the raw figures of every case, with when and on what they were measured."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankfold.errors import FormatError, InputError
from rankfold_lab.bench.machine import machine
from rankfold_lab.bench.setting import Rows, Setting

Record = dict[str, Any]
Records = dict[str, Record]  # by case


def read(out: Path) -> Records:
    """What is in a folder; nothing where there is no file."""
    path = out / "bench.json"
    if not path.is_file():
        return {}
    try:
        records: Records = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(f"{path} is not JSON ({error}); move it away") from error
    return records


def check_same_kind(out: Path, quick: bool) -> None:
    """A folder holds the figures of whole runs or of quick ones, never both."""
    kinds = {record["quick"] for record in read(out).values()}
    if kinds - {quick}:
        kind = "with" if quick else "without"
        raise InputError(f"{out} was not made {kind} --quick; use another folder")


def add(out: Path, case: str, rows: Rows, setting: Setting) -> Records:
    """Replace the figures of one case, and write all."""
    record = {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "repeats": setting.repeats,
        "quick": setting.quick,
        "machine": machine(),
        "rows": rows,
    }
    records = {**read(out), case: record}
    out.mkdir(parents=True, exist_ok=True)
    partial = out / "bench.json.part"  # a kill leaves the old file or the new one
    partial.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(out / "bench.json")
    return records
