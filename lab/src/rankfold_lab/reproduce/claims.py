"""Every claim that the paper makes about its results, and the figure here that says whether it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HOLDS, NOT = "reproduced", "not reproduced"


@dataclass(frozen=True)
class Evidence:
    """Finished cells by experiment."""

    records: dict[str, list[dict[str, Any]]]

    def values(self, experiment: str, key: str, **where: Any) -> list[float]:
        """One number a cell; an error where there is none."""
        found = [
            r[key] for r in self.records[experiment] if all(r[k] == v for k, v in where.items())
        ]
        if not found:
            raise KeyError(key)
        return found

    def mean(self, experiment: str, key: str, **where: Any) -> float:
        """Mean over the cells."""
        return float(np.mean(self.values(experiment, key, **where)))

    def pair(self, experiment: str, key: str, **where: Any) -> tuple[float, float]:
        """RASL and MeADMM."""
        return tuple(self.mean(experiment, key, method=m, **where) for m in ("rasl", "meadmm"))  # type: ignore[return-value]


@dataclass(frozen=True)
class Claim:
    """A row of the summary."""

    what: str
    paper: str
    judge: Callable[[Evidence], tuple[str, str, str]]  # RASL here, MeADMM here, verdict


def _table2(e: Evidence) -> tuple[str, str, str]:
    """Mean eye errors of 0.16 and 0.14: below that, or within a twentieth of a pixel of it."""
    moderate, every = e.pair("table2", "mean", lights=50), e.pair("table2", "mean", lights=130)
    rounded = e.pair("table2", "whole_mean", lights=50)
    texts = [
        f"{m:.2f} moderate light, {a:.2f} all; {w:.2f} moderate in whole px"
        for m, a, w in zip(moderate, every, rounded, strict=True)
    ]
    published = np.array([0.16, 0.14]) + 0.05
    if (np.array(every) <= published).all():
        verdict = HOLDS
    elif (np.array(moderate) <= published).all():
        verdict = f"{HOLDS} only under moderate light"
    elif (np.array(rounded) <= published).all():
        verdict = f"{HOLDS} only under moderate light and with errors rounded to whole pixels"
    else:
        verdict = NOT
    return texts[0], texts[1], verdict


def _whole(e: Evidence) -> tuple[str, str, str]:
    """A std of 0.36 and a maximum of exactly 1.0 at a mean of 0.16 are what values of 0 and 1 have."""
    texts, fits = [], []
    for method in ("rasl", "meadmm"):
        std, top = (
            np.array(e.values("table2", f"whole_{k}", lights=50, method=method))
            for k in ("std", "max")
        )
        fits.append(bool((top <= 1).all()))
        held = f"max 1 on {int((top <= 1).sum())} of {len(top)}"
        texts.append(f"{std.mean():.2f} / {top.max():.0f} (moderate light, whole px; {held})")
    verdict = {
        (True, True): f"{HOLDS} only under moderate light and with errors rounded to whole pixels",
        (False, True): f"{HOLDS} under that condition for MeADMM, not for RASL",
    }.get((fits[0], fits[1]), NOT)
    return texts[0], texts[1], verdict


def _same(e: Evidence) -> tuple[str, str, str]:
    """Both about the same: within a fifth of each other."""
    moderate, every = e.pair("table2", "mean", lights=50), e.pair("table2", "mean", lights=130)
    texts = [f"{m:.2f} moderate light, {a:.2f} all" for m, a in zip(moderate, every, strict=True)]
    alike = [0.8 < own / rasl < 1.25 for rasl, own in (moderate, every)]
    verdict = HOLDS if all(alike) else f"{HOLDS} only under moderate light" if alike[0] else NOT
    better = (
        f"; under all lights MeADMM's error is {every[1] / every[0]:.2f} of RASL's"
        if not alike[1]
        else ""
    )
    return texts[0], texts[1], verdict + better


def _lower(
    experiment: str, key: str, style: str, axis: str, usual: list[Any]
) -> Callable[[Evidence], tuple[str, str, str]]:
    """MeADMM below RASL on average and in most cells: at the ``usual`` values of an axis, or only at others.

    Where ours is not, the paper's own MeADMM (its average, the nuclear norm, no stages) is asked too.
    """

    def judge(e: Evidence) -> tuple[str, str, str]:
        values = list(dict.fromkeys(r[axis] for r in e.records[experiment] if key in r))
        if not values:
            raise KeyError(key)
        texts: tuple[list[str], list[str]] = ([], [])
        holding: dict[str, list[Any]] = {"meadmm": [], "paper": []}
        for value in values:
            rasl = e.values(experiment, key, method="rasl", **{axis: value})
            texts[0].append(f"{np.mean(rasl):{style}} ({value})")
            for method, held in holding.items():
                own = e.values(experiment, key, method=method, **{axis: value})
                wins = sum(m < r for r, m in zip(rasl, own, strict=True))
                if np.mean(own) < np.mean(rasl) and wins > len(rasl) / 2:
                    held.append(value)
                if method == "meadmm":
                    texts[1].append(f"{np.mean(own):{style}} ({value})")
        return ", ".join(texts[0]), ", ".join(texts[1]), _verdict(holding, axis, usual)

    return judge


def _verdict(holding: dict[str, list[Any]], axis: str, usual: list[Any]) -> str:
    """Where a claim holds, in words."""
    if set(usual) <= set(holding["meadmm"]):
        return HOLDS
    if holding["meadmm"]:
        return f"{HOLDS} only with {axis} {', '.join(str(v) for v in holding['meadmm'])}"
    if holding["paper"]:
        return f"{HOLDS} only by the paper's own MeADMM, with {axis} {', '.join(str(v) for v in holding['paper'])}"
    return NOT


def _fails(digit: int) -> Callable[[Evidence], tuple[str, str, str]]:
    """MeADMM loses none, RASL some."""

    def judge(e: Evidence) -> tuple[str, str, str]:
        where = {"change": "euclidean", "digit": digit}
        rasl, helped, meadmm = (
            int(e.mean("usps", "failures", method=m, **where))
            for m in ("rasl", "rasl_coarse", "meadmm")
        )
        verdict = (
            HOLDS if rasl > 0 and meadmm == 0 else f"{HOLDS} in part" if meadmm < rasl else NOT
        )
        owed = f"; RASL with a coarse stage fails on {helped}" if meadmm < rasl else ""
        return f"{rasl} of 50", f"{meadmm} of 50", verdict + owed

    return judge


def _all_digits(e: Evidence) -> tuple[str, str, str]:
    """Fewer failures over all classes and changes."""
    rasl, helped, meadmm = (
        int(sum(e.values("usps", "failures", method=m))) for m in ("rasl", "rasl_coarse", "meadmm")
    )
    count = len(e.values("usps", "failures", method="rasl")) * 50
    verdict = HOLDS if meadmm < rasl else NOT
    return (
        f"{rasl} of {count}",
        f"{meadmm} of {count}",
        f"{verdict}; RASL with a coarse stage fails on {helped}",
    )


def _speed(e: Evidence) -> tuple[str, str, str]:
    """The numbers are on the page of timings: they change from run to run, the verdict should not."""
    rasl, meadmm = e.pair("speed", "iteration_ms")
    return (
        "see Speed",
        "see Speed",
        f"MeADMM is dearer by less than the paper's 2.2: {'yes' if meadmm / rasl < 2.2 else 'no'}",
    )


def _portraits(e: Evidence) -> tuple[str, str, str]:
    """Landmarks of people: who gathers them closer."""
    people = [r for r in e.records["real"] if r["set"] not in ("leuven", "graf")]
    after = {m: [r["after"] for r in people if r["method"] == m] for m in ("rasl", "meadmm")}
    failed = {m: sum(r["failed"] for r in people if r["method"] == m) for m in after}
    if not after["meadmm"]:
        raise KeyError("real")
    wins = sum(m < r for r, m in zip(after["rasl"], after["meadmm"], strict=True))
    texts = [f"{np.mean(after[m]):.2f}, {failed[m]} flagged" for m in after]
    before = np.mean([r["before"] for r in people])
    return (
        texts[0],
        texts[1],
        f"no claim; from {before:.2f}; MeADMM is closer on {wins} of {len(after['rasl'])} people",
    )


def _plane(name: str) -> Callable[[Evidence], tuple[str, str, str]]:
    """Corners of a plane against the true homographies."""

    def judge(e: Evidence) -> tuple[str, str, str]:
        before = e.mean("real", "before", set=name)
        rasl, meadmm = e.pair("real", "after", set=name)
        return f"{rasl:.2f}", f"{meadmm:.2f}", f"no claim; from {before:.2f}"

    return judge


CLAIMS = [
    Claim("Table 2: mean eye error, px", "RASL 0.16, MeADMM 0.14 (from 1.69)", _table2),
    Claim("Table 2: std and maximum, px", "0.36 / 1.0, 0.35 / 1.0", _whole),
    Claim("both align the faces about equally well", "0.16 against 0.14", _same),
    Claim(
        "Fig. 2: MeADMM removes more of the light (share still dark, by sparsity weight)",
        "picture",
        _lower("yale", "dark", ".1%", "sparsity", [1.0]),
    ),
    Claim(
        "Fig. 3: eyes behind sunglasses (distance to own, by sparsity weight)",
        "picture",
        _lower("ar", "sunglasses", ".3f", "sparsity", [1.0]),
    ),
    Claim(
        "Fig. 3: mouths behind scarves (same)",
        "picture",
        _lower("ar", "scarf", ".3f", "sparsity", [1.0]),
    ),
    Claim("Fig. 4: digit 1, failures", "RASL 3, MeADMM 0", _fails(1)),
    Claim("Fig. 4: digit 4, failures", "RASL 1, MeADMM 0", _fails(4)),
    Claim("digits with turns, shifts and affine changes: fewer failures", "claimed", _all_digits),
    Claim(
        "Fig. 5: windows, error on changed pixels",
        "picture",
        _lower("windows", "changed", ".4f", "kind", ["patched", "occluded"]),
    ),
    Claim("beyond the paper: spread of landmarks on portraits, px", "-", _portraits),
    Claim("beyond the paper: corners of leuven (light), px", "-", _plane("leuven")),
    Claim("beyond the paper: corners of graf (viewpoint), px", "-", _plane("graf")),
    Claim("speed on the windows", "102 ms, 220 ms: 2.2 x", _speed),
]
