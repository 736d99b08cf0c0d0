"""The kinds of attempts: in which module each one is, and its share of a campaign.

A module of this folder that makes attempts has KINDS, and ``attempt(kind, seed, place)``, which
says "fine" or "refused" (one of our own errors with one sentence) and raises anything else on what
should not be. What it does depends on the kind and the seed alone. ``place`` is an empty folder of
the attempt's own; the folder above it is shared by all attempts of a process.
"""

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Kind:
    """A kind of attempts.

    Parameters
    ----------
    module : str
        Where it is, below ``campaign``.
    share : float
        Attempts of every thousand of a campaign. Quick ones get more of them.
    least : int
        Attempts of the small campaign of the test suite.
    about : str
        What is tried, for docs/reliability.md.
    """

    module: str
    share: float
    least: int
    about: str


TABLE = {
    "damaged files": Kind(
        "files",
        410,
        250,
        "pictures, stacks, videos, arrays and tables of 38 formats and kinds, with bytes changed, "
        "cut off, left out, doubled or spliced",
    ),
    "impossible headers": Kind(
        "files",
        120,
        80,
        "headers, written with the right checksums, that ask for what nobody has",
    ),
    "decoded apart": Kind(
        "files", 10, 6, "one of both kinds, with `--isolate`: decoded in a process of its own"
    ),
    "damaged run folders": Kind(
        "folders",
        130,
        80,
        "files of a run or of a checkpoint damaged, removed, exchanged or forged; then load, "
        "export, report, apply, resume, clean",
    ),
    "faults while writing": Kind(
        "faults",
        60,
        40,
        "an error, a Ctrl-C or a kill at a call of the system while a run is replaced",
    ),
    "little room": Kind(
        "faults", 20, 10, "full disks, few descriptors and little memory while a run is written"
    ),
    "decompose": Kind("numbers", 70, 40, "`decompose` of odd arrays with odd options"),
    "align": Kind("numbers", 30, 15, "`align` of odd pictures with odd options"),
    "estimators": Kind("numbers", 30, 15, "`RobustPCA`, `RASL` and `MeADMM` on odd data"),
    "metrics": Kind("numbers", 80, 40, "metrics, points and frames of odd arrays"),
    "results": Kind("numbers", 35, 20, "methods of a result with odd arguments"),
    "signals": Kind(
        "signals", 5, 4, "commands interrupted or killed at random moments, once or twice"
    ),
}
"""All kinds, by their names."""


def attempt(kind, seed, place):
    """Make one attempt of a kind."""
    return _module_of(kind).attempt(kind, seed, place)


def prepare(kind, place):
    """Make what all attempts of a kind begin with, in a folder that they share, if it is needed."""
    made = getattr(_module_of(kind), "prepare", None)
    if made is not None:
        made(place)


def _module_of(kind):
    """Where attempts of a kind are made."""
    name = TABLE[kind].module if kind in TABLE else "habits"
    return import_module(f"campaign.{name}")
