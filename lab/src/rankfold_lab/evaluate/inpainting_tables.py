"""The log of ``inpainting`` as tables: how close the filled parts are to the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rankfold_lab.evaluate.inpainting import BRANCH, FACES, WINDOWS
from rankfold_lab.evaluate.inpainting_methods import LARGEST, METHODS, RADIUS
from rankfold_lab.evaluate.logs import Record
from rankfold_lab.evaluate.place_tables import markdown

Records = Sequence[Record]

NOTE = (
    "PSNR (dB, the range is 1) and SSIM on hidden pixels of which the truth is known; the hidden "
    "pixels of all pictures of a subject are counted together, and the mean is over subjects. "
    '"By picture" is the mean of the PSNR of each picture. "Nothing in front": without hidden '
    "pixels where the truth itself has a branch, that is, where the clean photograph differs by "
    f"more than {BRANCH:g} from the median of all clean ones. "
    '"Left": hidden pixels that a row leaves as they are. "Also replaced": visible pixels that it '
    'replaces. "Changed": pixels of all others that differ in any bit, which must be 0; the rows '
    f"below ours are pasted, so that it is 0 by itself. Radius of cv2.inpaint: {RADIUS} px, on "
    f"8 bits. Biharmonic: on copies with sides of at most {LARGEST} px. Median: of the pictures "
    "where our alignment has them, without hidden pixels. Seconds a picture are without aligning."
)


def page(records: Records) -> str:
    """Return all tables as markdown."""
    parts = [set_table(records)]
    on_faces = [record for record in records if record["set"] == FACES]
    if on_faces:
        parts += [f"PSNR of {FACES} by subject:", subject_table(on_faces)]
    return "\n\n".join([*parts, NOTE]) + "\n"


def psnr(squared: float, pixels: int) -> float:
    """Return the PSNR in dB of a sum of squared errors, for a range of 1; NaN of no pixels."""
    if pixels == 0:
        return float("nan")
    return float("inf") if squared == 0 else float(-10 * np.log10(squared / pixels))


def pooled(record: Record) -> float:
    """Return the PSNR of all hidden pixels of a trial together."""
    return psnr(sum(record["squared"]), sum(record["pixels"]))


def by_picture(record: Record) -> float:
    """Return the mean of the PSNR of every picture that has hidden pixels."""
    pairs = zip(record["squared"], record["pixels"], strict=True)
    return float(np.mean([psnr(squared, pixels) for squared, pixels in pairs if pixels]))


def set_table(records: Records) -> str:
    """Tell the measures of every row on every set, means over subjects and seeds."""
    heads = [
        "set", "row", "trials", "PSNR", "by picture", "nothing in front", "SSIM", "left",
        "also replaced", "changed", "s a picture",
    ]  # fmt: skip
    rows = []
    for name in (WINDOWS, FACES):
        for row in METHODS:
            some = [r for r in records if r["set"] == name and r["row"] == row]
            if some:
                rows.append([name, row, str(len(some)), *_measures(some, name)])
    return markdown(heads, rows)


def subject_table(records: Records) -> str:
    """Tell the PSNR of every row on every subject, the mean over the seeds."""
    subjects = sorted({record["subject"] for record in records})
    rows = []
    for row in METHODS:
        cells = []
        for subject in subjects:
            some = [r for r in records if r["row"] == row and r["subject"] == subject]
            cells.append(_decibels(pooled(record) for record in some))
        rows.append([row, *cells])
    return markdown(["row", *map(str, subjects)], rows)


def _measures(records: Records, name: str) -> list[str]:
    """Cells of one row on one set."""
    plain = "–"
    if name == WINDOWS:
        plain = _decibels(psnr(sum(r["plain_squared"]), sum(r["plain_pixels"])) for r in records)
    return [
        _decibels(pooled(record) for record in records),
        _decibels(by_picture(record) for record in records),
        plain,
        f"{np.mean([_share(record, 'ssim', 'pixels') for record in records]):.3f}",
        f"{np.mean([_share(record, 'left', 'pixels') for record in records]):.1%}",
        f"{np.mean([_share(record, 'touched', 'visible') for record in records]):.1%}",
        str(sum(sum(record["changed"]) for record in records)),
        f"{np.mean([record['seconds'] for record in records]):.3f}",
    ]


def _share(record: Record, part: str, whole: str) -> float:
    """What all pictures of a trial have of something, as a share; zero of nothing."""
    return float(sum(record[part]) / max(sum(record[whole]), 1))


def _decibels(values: Iterable[float]) -> str:
    """The mean of some PSNR with one digit; a dash where there are none."""
    some = [value for value in values if not np.isnan(value)]
    return f"{np.mean(some):.1f}" if some else "–"
