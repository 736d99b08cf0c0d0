"""``performance.md``: wholly made from the records."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.figure import draw_growth
from rankfold_lab.bench.setting import Rows
from rankfold_lab.bench.store import Records
from rankfold_lab.bench.tables import TABLES, Table, verdict_table


def write_page(records: Records, out: Path, docs: Path | None = None) -> Path:
    """Write the page and its figure to ``out``, and to a documentation folder."""
    if records.get("growth", {}).get("rows"):
        draw_growth(records["growth"]["rows"], out / "performance" / "growth.png")
    text = page(records)
    (out / "performance.md").write_text(text, encoding="utf-8")
    if docs is not None:
        (docs / "performance").mkdir(parents=True, exist_ok=True)
        (docs / "performance.md").write_text(text, encoding="utf-8")
        for figure in sorted((out / "performance").glob("*.png")):
            shutil.copy(figure, docs / "performance" / figure.name)
    return out / "performance.md"


def page(records: Records) -> str:
    """The page as markdown."""
    quick = any(record["quick"] for record in records.values())
    rounds = " or ".join(
        str(count) for count in sorted({record["repeats"] for record in records.values()})
    )
    head = _text("quick" if quick else "head", rounds=rounds)
    blocks = ["# Performance", head, "## Bars", markdown(verdict_table(records))]
    for case, tables in TABLES.items():
        if case in records:
            record = records[case]
            for k, (title, build) in enumerate(tables):
                if k == 0:
                    blocks += [f"## {title}", _about(case, record["rows"])]
                else:
                    blocks.append(f"### {title}")
                blocks.append(markdown(build(record["rows"])))
            if case == "growth" and any(row.get("seconds") for row in record["rows"]):
                blocks.append(f"![{_text('figure')}](performance/growth.png)")
    return "\n\n".join([*blocks, "## Measured on", _machines(records)]) + "\n"


def markdown(content: Table) -> str:
    """A table in markdown; text that looks like its signs is set apart."""
    heads, rows = content
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines
    )


def _about(case: str, rows: Rows) -> str:
    """Return the text on a case, with that on the toolbox where it was measured or stated."""
    stated = {row["state"] == "stated" for row in rows if row.get("implementation") == TOOLBOX}
    texts = [_text(case)]
    for one in stated:
        texts.append(_text("toolbox_stated" if one else "toolbox_measured"))
    return "\n".join(texts)


def _text(name: str, **words: Any) -> str:
    """A declared text with its figures."""
    table = declared()
    words |= {
        "gap": table["bars"]["objective_gap"],
        "runs": table["runs"],
        "stated": ", ".join(f"{one['stated']:g}" for one in table["rasl"]["sets"]),
        "stated_rasl": ", ".join(f"{one['stated_rasl']:g}" for one in table["rasl"]["sets"]),
        "toolbox_end": ", ".join(f"{one['toolbox_end']:g}" for one in table["rasl"]["sets"]),
        "margin": table["rasl"]["margin"],
        "rank": table["growth"]["rank"],
        "corrupted": table["growth"]["corrupted"],
    }
    text: str = table["texts"][name]
    return text.strip().format(**words)


def _machines(records: Records) -> str:
    """When each case was run and on what."""
    heads = [
        "case",
        "when (UTC)",
        "rounds",
        "processor",
        "cores",
        "Python",
        "NumPy",
        "BLAS",
        "peers",
    ]
    rows = []
    for case in TABLES:
        if case in records:
            record = records[case]
            on = record["machine"]
            cells = [
                on["processor"],
                str(on["cores"]),
                on["python"],
                on["numpy"],
                on["blas"],
                _peers(record["rows"]),
            ]
            rows.append(
                [case, record["when"].removesuffix("+00:00"), str(record["repeats"]), *cells]
            )
    return markdown((heads, rows))


def _peers(rows: Rows) -> str:
    """Versions of the peers that took part."""
    names = {row["implementation"]: row["version"] for row in rows if "version" in row}
    found = {f"{name.split(', ρ')[0]} {version}" for name, version in names.items()}
    return ", ".join(sorted(found)) or "none"
