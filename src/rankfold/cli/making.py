"""plate, restore, mask: what people came for, from a run and the originals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfold import runs
from rankfold.cli.app import Voice, app
from rankfold.cli.grouping import grouped
from rankfold.cli.options import Format, Reading, check_size
from rankfold.cli.parsing import one_of
from rankfold.io import Source

RunFolder = Annotated[Path, typer.Argument(help="The folder that align made.")]
Originals = Annotated[
    str | None,
    typer.Argument(help="The pictures that were aligned; where the run read them if left out."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a folder that is there, if rankfold wrote it.")
]


OverwriteFile = Annotated[
    bool, typer.Option("--overwrite", help="Replace a file that is there, but none of a run.")
]


@dataclass(frozen=True)
class Memory:
    """With what it is computed."""

    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")] = -1
    max_memory: Annotated[
        str | None,
        typer.Option(
            help="As 2G; what needs more is on disk meanwhile. 60 % of what is free if not given.",
            callback=check_size,
        ),
    ] = None
    scratch: Annotated[
        Path | None, typer.Option(help="The folder for arrays on disk; the system's if not given.")
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The same as arguments of the functions behind the commands."""
        return {"n_jobs": self.jobs, "memory_limit": self.max_memory, "scratch": self.scratch}


@app.command()
@grouped
def plate(
    run: RunFolder,
    pictures: Originals = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="The file.")] = Path("plate.tif"),
    light: Annotated[
        str | None, typer.Option(help="The picture whose light it shall have, by its name.")
    ] = None,
    area: Annotated[
        str,
        typer.Option(
            help="frame, common (what every picture covers) or union (what some picture covers).",
            callback=one_of("area", lambda: runs.AREAS),
        ),
    ] = "frame",
    scale: Annotated[
        float | None,
        typer.Option(min=0.01, help="Pixels for one of the frame; as many as the pictures have."),
    ] = None,
    confidence: Annotated[
        Path | None, typer.Option(help="Also write how many pictures agree: confidence.png.")
    ] = None,
    overwrite: OverwriteFile = False,
    *,
    reading: Reading,
    memory: Memory,
    voice: Voice,
) -> None:
    """Put one clean picture together from a run, at the resolution of the originals.

    Example: rankfold plate run photos -o plate.tif
    """
    source = _originals(run, pictures, reading, voice)
    with _watching(voice) as watch:
        made = runs.plate_run(
            run,
            source,
            out,
            light=light,
            area=area,
            scale=scale,
            confidence=confidence,
            overwrite=overwrite,
            watch=watch,
            **memory.keywords,
        )
    voice.result(made.as_dict(), f"{made.sentence}\n{made.place}")


@app.command()
@grouped
def restore(
    run: RunFolder,
    pictures: Originals = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder.")] = Path("restored"),
    masks: Annotated[
        Path | None,
        typer.Option(help="A folder of masks with the pictures' names, white where to replace."),
    ] = None,
    automatic: Annotated[
        bool | None,
        typer.Option(
            "--automatic/--masks-only",
            help="Also replace what does not belong; by default, if there are no masks.",
        ),
    ] = None,
    format: Format = None,
    overwrite: Overwrite = False,
    *,
    reading: Reading,
    memory: Memory,
    voice: Voice,
) -> None:
    """Replace in every picture what was in front by what the others show.

    Example: rankfold restore run photos -o restored
    """
    source = _originals(run, pictures, reading, voice)
    with _watching(voice) as watch:
        made = runs.restore_run(
            run,
            source,
            out,
            masks=masks,
            automatic=automatic,
            format=format,
            overwrite=overwrite,
            watch=watch,
            **memory.keywords,
        )
    voice.result(made.as_dict(), f"{made.sentence}\n{made.place}")


@app.command()
@grouped
def mask(
    pictures: Annotated[
        str, typer.Argument(help="A video or a folder of its frames; or a run folder.")
    ],
    originals: Annotated[
        str | None,
        typer.Argument(help="The pictures of that run; where it read them if left out."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder.")] = Path("masks"),
    camera: Annotated[
        str,
        typer.Option(
            help="Of a video: auto, still or moving.",
            callback=one_of("camera", lambda: ("auto", "still", "moving")),
        ),
    ] = "auto",
    sensitivity: Annotated[
        float, typer.Option(min=0.01, help="Above 1, smaller errors count.")
    ] = 1.0,
    min_area: Annotated[int, typer.Option(min=0, help="Leave out smaller pieces, pixels.")] = 0,
    shadows: Annotated[
        str,
        typer.Option(
            help="keep them in the masks, or drop them.",
            callback=one_of("shadows", lambda: ("keep", "drop")),
        ),
    ] = "keep",
    no_background: Annotated[
        bool, typer.Option("--no-background", help="Do not write what is behind.")
    ] = False,
    format: Format = None,
    overwrite: Overwrite = False,
    *,
    reading: Reading,
    memory: Memory,
    voice: Voice,
) -> None:
    """Say of every pixel of a video, or of the pictures of a run, whether it belongs.

    Example: rankfold mask street.mp4 -o masks
    """
    from rankfold.outputs.cut import exact

    if not exact():
        voice.remark(
            "PyMaxflow is not installed, so labels are only approximately the best ones; "
            "`pip install rankfold[mask]` gives the exact cut"
        )
    run = Path(pictures) if runs.is_run(pictures) else None
    if run is None:
        if originals is not None:
            raise typer.BadParameter(
                f"{pictures} is no run folder, so that {originals} has no effect; leave it out"
            )
        source = reading.open(pictures, voice)
    else:
        source = _originals(run, originals, reading, voice)
    with _watching(voice) as watch:
        made = runs.mask_run(
            source,
            out,
            run=run,
            camera=camera,
            background=not no_background,
            format=format,
            overwrite=overwrite,
            watch=watch,
            sensitivity=sensitivity,
            min_area=min_area,
            shadows=shadows,
            **memory.keywords,
        )
    share = made.figures["in_front_share"]
    voice.result(
        made.as_dict(), f"{made.sentence} {share:.1%} of what was judged is in front.\n{made.place}"
    )


def _originals(run: Path, pictures: str | None, reading: Reading, voice: Voice) -> Source:
    """The pictures that were named, or those that the run read."""
    if pictures is not None:
        return reading.open(pictures, voice)
    source = runs.originals_of_run(run)
    voice.remark(f"{len(source)} pictures from {source.path}")
    return source


@contextmanager
def _watching(voice: Voice) -> Iterator[Any]:
    """Show how far it is; the first Ctrl-C ends it, because half of it would be of no use."""
    from rankfold.cli.progress import Watcher

    class Ending(Watcher):
        """Ends when Ctrl-C was pressed, at the next step."""

        def advance(self) -> None:
            """One more of something counted."""
            super().advance()
            if self.stop:
                raise KeyboardInterrupt

    with Ending(voice.silent) as watch:
        yield watch
