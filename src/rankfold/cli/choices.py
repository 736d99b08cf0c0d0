"""What can be chosen for align and for decompose, as groups of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from rankfold.cli.options import Family, Method, Projector, Schedule, Shared, Start, Surrogate
from rankfold.cli.parsing import one_of, settings_of

# How config.toml, which has no word for None, says that a part of a method is not used.
SWITCHED_OFF = {"features": "off", "projector": "none", "sample": "none"}


def _check_gauge(value: str) -> str:
    """Refuse what is neither a rule nor the number of a picture."""
    if not value.isdecimal() and value not in ("mean", "none"):
        raise typer.BadParameter(
            f"--gauge {value} is unknown; use mean, none, or the number of a picture"
        )
    return value


def _check_sample(value: str) -> str:
    """Refuse what is neither a word nor a number of pictures."""
    if not value.isdecimal() and value not in ("auto", "none"):
        raise typer.BadParameter(
            f"--sample {value} is unknown; use auto, none, or a number of pictures"
        )
    return value


@dataclass(frozen=True)
class Aligning:
    """How pictures are aligned."""

    method: Method = "meadmm"
    family: Family = "similarity"
    frame: Annotated[
        str | None,
        typer.Option(help="Height x width of the common grid; from the pictures if not given."),
    ] = None
    init: Annotated[
        str, typer.Option(help="centred, identity, a points.csv, or an earlier run.")
    ] = "centred"
    start: Start = None
    coarse: Annotated[
        bool | None,
        typer.Option("--coarse/--no-coarse", help="Earlier names of --start coarse and given."),
    ] = None
    frame_of: Annotated[
        str | None,
        typer.Option(
            help="The picture, by name or number from 0, whose view is the frame; the others "
            "are matched to it."
        ),
    ] = None
    features: Annotated[
        bool | None, typer.Option("--features/--no-features", help="Align contrast first.")
    ] = None
    rescue: Annotated[
        bool | None, typer.Option("--rescue/--no-rescue", help="Look for lost pictures.")
    ] = None
    shared: Shared = None
    sample: Annotated[
        str,
        typer.Option(
            help="Align so many pictures and place the others against them; auto: 200 of more "
            "than 500; none: all together.",
            callback=_check_sample,
        ),
    ] = "auto"
    sparsity_weight: Annotated[float, typer.Option(help="Below one where much is hidden: 0.6.")] = (
        1.0
    )
    projector: Projector = None
    neighbors: Annotated[int | None, typer.Option(min=1, help="K of the projector.")] = None
    rank_surrogate: Surrogate = None
    gauge: Annotated[
        str,
        typer.Option(
            help="mean, none, or the number of the picture that is held.", callback=_check_gauge
        ),
    ] = "mean"
    channels: Annotated[
        str,
        typer.Option(
            help="luminance or joint: where transforms come from.",
            callback=one_of("channels", lambda: ["luminance", "joint"]),
        ),
    ] = "luminance"
    max_outer: Annotated[int, typer.Option(min=1, help="Linearisations a stage at most.")] = 50
    schedule: Schedule = "auto"
    crop: Annotated[
        str | None,
        typer.Option(
            help="common: cut to what all pictures cover.",
            callback=one_of("crop", lambda: ["common"]),
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(help="A number of `rankfold settings`, as features.smooth=1.0."),
    ] = None

    def recorded(self) -> dict[str, Any]:
        """What was chosen, as config.toml has it; what was left open is not in it."""
        # --features and --no-features are words here, and silence leaves it to the method.
        features = None
        if self.features is not None:
            features = "contrast" if self.features else SWITCHED_OFF["features"]
        return _given(
            method=self.method,
            family=self.family,
            start=self.start,
            coarse=self.coarse,
            frame_of=self.frame_of,
            rescue=self.rescue,
            features=features,
            shared=self.shared,
            sparsity_weight=self.sparsity_weight,
            projector=self.projector,
            n_neighbors=self.neighbors,
            rank_surrogate=self.rank_surrogate,
            gauge=int(self.gauge) if self.gauge.isdecimal() else self.gauge,
            schedule=self.schedule,
            channels=self.channels,
            max_outer=self.max_outer,
            sample=int(self.sample) if self.sample.isdecimal() else self.sample,
            set=self.set or None,
        )

    def keywords(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """The same as arguments of :func:`rankfold.align`, where None switches a part off.

        ``names`` are those of the pictures.
        """
        from rankfold import AlignSettings

        keywords = {
            name: None if value == SWITCHED_OFF.get(name) else value
            for name, value in self.recorded().items()
        }
        if self.frame_of is not None:
            keywords["frame_of"] = _picture(self.frame_of, names)
        changes = keywords.pop("set", None)
        if changes:
            keywords["settings"] = AlignSettings().changed(settings_of(changes))
        return keywords


@dataclass(frozen=True)
class Decomposing:
    """How pictures are decomposed."""

    method: Method = "rpca"
    sparsity_weight: Annotated[
        float, typer.Option(help="Larger keeps more in the clean picture.")
    ] = 1.0
    rank_surrogate: Surrogate = None
    shared: Shared = None
    tol: Annotated[
        float | None,
        typer.Option(help="How far above the optimum to stop, proved; MeADMM: the residual."),
    ] = None
    schedule: Schedule = "auto"

    def keywords(self) -> dict[str, Any]:
        """The same as arguments of :func:`rankfold.decompose`."""
        return _given(
            method=self.method,
            sparsity_weight=self.sparsity_weight,
            rank_surrogate=self.rank_surrogate,
            shared=self.shared,
            tol=self.tol,
            schedule=self.schedule,
        )


def _picture(text: str, names: Sequence[str]) -> str | int:
    """A picture by its name, or else by its number; frames of a video are named by numbers."""
    return int(text) if text not in names and text.isdecimal() else text


def _given(**options: Any) -> dict[str, Any]:
    """Keep what is not None."""
    return {name: value for name, value in options.items() if value is not None}
