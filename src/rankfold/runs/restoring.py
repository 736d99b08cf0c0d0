"""Every picture of a run without what was in front of it, in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import InputError
from rankfold.io import Source, write_picture, write_pictures
from rankfold.io.file_names import are_distinct, inside
from rankfold.io.isolated import decoder_for, is_foreign
from rankfold.io.source import Picture, unit_of
from rankfold.outputs import Restored
from rankfold.runs.apart import check_apart
from rankfold.runs.display import Array
from rankfold.runs.folder import load_alignment
from rankfold.runs.made import BLACK, WHITE, WRITABLE, Made, plain_names, stepping
from rankfold.runs.watch import Unwatched, Watch
from rankfold.stack import Bools
from rankfold.storage import whole_or_nothing
from rankfold.verdicts import listed

# Formats in which a picture is not the same after it was written and read again.
LOSSY = (".jpg", ".jpeg")


def restore_run(
    run: str | Path,
    source: Source,
    folder: str | Path,
    *,
    masks: str | Path | None = None,
    automatic: bool | None = None,
    format: str | None = None,
    overwrite: bool = False,
    watch: Watch | None = None,
    **options: Any,
) -> Made:
    """Replace in every picture what was in front of it, and write the pictures.

    Parameters
    ----------
    run : str or Path
        The folder of an alignment.
    source : Source
        The originals.
    folder : str or Path
        A new folder, in which the pictures are called ``restored``, and ``left`` what should have
        been replaced but is not known.
    masks : str or Path, optional
        A folder of painted masks with the names of the pictures, white where a picture shall be
        replaced; whoever has none keeps all.
    automatic : bool, optional
        Whether to look for what does not belong; by default, if there are no masks.
    format : str, optional
        A row of FORMATS; that of the source by default.
    overwrite : bool
        Whether a folder that rankfold wrote earlier is replaced.
    watch : Watch, optional
        Follows the work.
    **options
        Further arguments of :meth:`rankfold.Alignment.restore`.
    """
    check_apart(folder, source, run, masks)
    watching = watch or Unwatched()
    hidden = None if masks is None else painted_masks(masks, source)
    with whole_or_nothing(folder, overwrite) as draft:
        restoration = load_alignment(run).restore(
            source,
            hidden=hidden,
            automatic=automatic,
            progress=stepping(watching, "learning what the pictures show"),
            **options,
        )
        watching.say("restoring", len(source))
        tally = _Tally()

        def restored() -> Iterator[Restored]:
            for name, one in zip(plain_names(source), restoration, strict=True):
                tally.add(one)
                if one.left.any():
                    picture = np.where(one.left, WHITE, BLACK).astype(np.uint8)
                    file = draft / "left" / f"{name}.png"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_picture(file, picture)
                yield one
                watching.advance()

        written = _write_restored(draft / "restored", restored(), source, format)
    return Made(Path(folder) / written.name, tally.sentence(source, format), tally.figures)


def _write_restored(
    path: Path, pictures: Iterator[Restored], source: Source, format: str | None
) -> Path:
    """Write restored pictures as they came, with what their files said of them."""
    if format not in (None, "pictures") or source.format != "pictures" or not source.files:
        values = (_transparent(one) for one in pictures)
        return write_pictures(path, source.names, values, source, format)
    path.mkdir()
    for k, (one, name) in enumerate(zip(pictures, lossless_names(source), strict=True)):
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_picture(target, _transparent(one), one.picture.dtype, source.metadata(k))
    return path


def lossless_names(source: Source) -> list[str]:
    """What restored pictures are called, so that every pixel not replaced can stay as it is."""
    names = [inside(name) for name in source.names]
    is_lossy = [name.lower().endswith(LOSSY) for name in names]
    for rename in (_as_png, _with_png):
        changed = [
            rename(name) if lossy else name for name, lossy in zip(names, is_lossy, strict=True)
        ]
        if are_distinct(changed):
            return changed
    raise InputError(
        f"{source.path} has pictures whose names differ in their endings only; rename them"
    )


def _as_png(name: str) -> str:
    """Another ending in the place of the first."""
    return str(Path(name).with_suffix(".png"))


def _with_png(name: str) -> str:
    """Another ending behind the first: there is a PNG of that name besides the JPEG."""
    return f"{name}.png"


def _transparent(one: Restored) -> Array:
    """The values of a restored picture, NaN where it still has a hole."""
    if not one.missing.any():
        # As it is, because the largest integers are no floats.
        return one.picture
    values = one.picture.astype(np.result_type(one.picture.dtype, np.float64))
    values[one.missing] = np.nan
    return values


class _Tally:
    """How much was replaced, and how much was left."""

    def __init__(self) -> None:
        self.count = 0
        self.replaced = 0
        self.touched = 0
        self.left: list[str] = []
        self.doubted: list[str] = []
        self.pixels = 0

    def add(self, one: Restored) -> None:
        """Count a picture."""
        self.count += 1
        self.pixels += one.replaced.size
        self.replaced += int(one.replaced.sum())
        self.touched += bool(one.replaced.any())
        if one.left.any():
            self.left.append(one.name)
        if one.doubted:
            self.doubted.append(one.name)

    @property
    def figures(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "images": self.count,
            "touched": self.touched,
            "replaced_share": self.replaced / max(self.pixels, 1),
            "left_in": self.left,
            "doubted": self.doubted,
        }

    def sentence(self, source: Source, format: str | None) -> str:
        """How it went, for a person."""
        share = self.replaced / max(self.pixels, 1)
        parts = [
            f"{self.count} pictures; in {self.touched} of them {share:.1%} of all was replaced."
        ]
        if self.left:
            names = listed(self.left)
            parts.append(f"Nobody knows all that is behind in {names}: see the folder left.")
        if self.doubted:
            parts.append(
                f"So much seems to be in front of {listed(self.doubted)} that their light is not "
                "known, and nothing that was found there was replaced: paint it and use --masks."
            )
        kept = format in (None, "pictures") and source.format == "pictures"
        if kept and any(file.suffix.lower() in LOSSY for file in source.files):
            parts.append("JPEG pictures became PNG, which keeps what was not replaced as it is.")
        if (format or source.format) == "video":
            parts.append(
                "A video is compressed again, with even sides: use --format pictures to keep every "
                "bit."
            )
        return " ".join(parts)


def painted_masks(folder: str | Path, source: Source) -> Callable[[int], Bools | None]:
    """Return what reads the painted mask of a picture, by its name without ending.

    Parameters
    ----------
    folder : str or Path
    source : Source
        The pictures. A mask that belongs to none of them is refused.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is not a folder; give one with a mask for each picture")
    files: dict[str, Path] = {}
    for file in sorted(place.rglob("*")):
        if _is_picture(file):
            stem = file.relative_to(place).with_suffix("").as_posix()
            if stem in files:
                raise InputError(
                    f"{place} has two masks of one picture, {files[stem].name} and {file.name}; "
                    "move one of them away"
                )
            files[stem] = file
    stems = plain_names(source)
    strangers = sorted(set(files) - set(stems))
    if strangers or not files:
        what = f"{files[strangers[0]].name} belongs to none" if strangers else "has masks of none"
        raise InputError(
            f"{place}: {what} of the pictures; a mask has the name of its picture, as "
            f"{stems[0]}.png"
        )

    apart = source.opened_with.get("isolate")
    if apart is None:
        # They may be in folders in the folder, so each is asked whose it is.
        apart = any(is_foreign(one) for one in (place, *files.values()))
    decoder = decoder_for(apart)

    def painted(index: int) -> Bools | None:
        file = files.get(stems[index])
        return None if file is None else _painted(file, decoder.load(file))

    return painted


def _painted(file: Path, picture: Picture) -> Bools:
    """Where (h, w) a mask is white; what is transparent is not."""
    values = picture.values
    grey = values if values.ndim == 2 else values.max(axis=2)
    white = np.asarray(grey > unit_of(grey.dtype) / 2)
    if picture.mask is not None:
        white &= picture.mask
    elif grey.any() and not white.any():
        raise InputError(
            f"{file} has no pixel that is white ({unit_of(grey.dtype):g}), though some are not "
            "black; paint what shall be replaced in white, or remove the file"
        )
    return white


def _is_picture(file: Path) -> bool:
    """Whether a file can be a mask."""
    return file.suffix.lower() in WRITABLE and not file.name.startswith(".")
