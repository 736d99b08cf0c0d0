"""The published RASL toolbox under Octave, where there is a copy of it: its own scripts, settings and clock.

It was written for MATLAB. ``octave/`` has what Octave lacks or means otherwise; the toolbox itself is left as it is,
but for its drawings, which would be most of the time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np

from rankfold.errors import InputError
from rankfold_lab.bench import worker
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.process import Outcome, environment

OURS = resources.files("rankfold_lab.bench") / "octave"
BUILT_IN = (
    "vec.m",
)  # Octave's own is called by its packages, with more arguments than the toolbox's takes
DRAWINGS = ((r"(raslpara\.DISPLAY\s*=)\s*\d+", r"\1 0"), (r"(?m)^\s*rasl_plot\b.*$", ""))
SAID = {  # what the toolbox prints at the end, the objective after every outer iteration
    "seconds": r"timeConsumed\s*=\s*(\S+)",
    "outer": r"number of outer loop:\s*(\S+)",
    "objective": r"current objective function:\s*(\S+)",
}


@dataclass(frozen=True)
class Toolbox:
    """A copy of it, and what runs it."""

    folder: Path
    octave: str
    version: str  # of Octave and, because most of the time is spent there, of its BLAS

    @classmethod
    def at(cls, folder: Path) -> Toolbox:
        """The toolbox in a folder, which is only read."""
        octave = shutil.which("octave-cli") or shutil.which("octave")
        if octave is None:
            raise InputError(
                "there is no octave on the PATH; install it with its image package, or leave out --octave-rasl"
            )
        number, _, blas = (
            _run(octave, "disp(version()), disp(version('-blas'))", folder)
            .stdout.strip()
            .partition("\n")
        )
        known = re.search(r"OpenBLAS [\d.]+", blas)
        return cls(folder, octave, f"{number} with {known[0] if known else blas}")

    def run(self, pictures: Path, calm: float = np.inf) -> Outcome:
        """Run its own script for a folder of ``pictures``, one thread; again if the machine was not calm.

        The seconds are those of its own clock: the main loop, without reading and smoothing the pictures.
        """
        scripts = [
            path for path in sorted(self.folder.glob("*.m")) if f"'{pictures.name}'" in _text(path)
        ]
        if not scripts:
            return Outcome(f"no script names {pictures.name}")
        with tempfile.TemporaryDirectory() as name:
            _lay_out(Path(name), self.folder, pictures, scripts[0])
            measured: list[Outcome] = []
            for _ in range(worker.TRIES):
                worker.wait_until(calm, worker.PATIENCE)
                outcome = _once(self.octave, scripts[0].stem, Path(name))
                if outcome.state == "measured":
                    measured.append(outcome)
                if outcome.state != "measured" or not worker.restless(calm):
                    break
        return min(measured, key=lambda one: one.seconds, default=outcome)


def _lay_out(folder: Path, toolbox: Path, pictures: Path, script: Path) -> None:
    """A copy of the toolbox that runs here: with our functions, the pictures where it looks for them, no drawings."""
    leave = shutil.ignore_patterns(*BUILT_IN, "data", "results")
    copy = partial(
        shutil.copytree, copy_function=shutil.copyfile
    )  # without the modes: they may be only to be read
    copy(toolbox, folder, ignore=leave, dirs_exist_ok=True)
    folder.chmod(0o700)  # that of a folder comes along all the same
    copy(pictures, folder / "data" / pictures.name)
    (folder / "results").mkdir()
    for shim in OURS.iterdir():  # the folder that it runs in comes before all others
        (folder / shim.name).write_text(shim.read_text(encoding="utf-8"), encoding="utf-8")
    text = _text(script)
    for pattern, instead in DRAWINGS:
        text = re.sub(pattern, instead, text)
    (folder / script.name).write_text(text, encoding="latin-1")


def _once(octave: str, script: str, folder: Path) -> Outcome:
    """One run of a script."""
    patience = declared()["timeout"]
    try:
        done = _run(octave, f"pkg load image; {script}", folder, patience)
    except subprocess.TimeoutExpired:
        return Outcome(f"given up after {patience:.0f} s")
    said = {key: re.findall(pattern, done.stdout) for key, pattern in SAID.items()}
    if done.returncode != 0 or not all(said.values()):
        reason = next(
            (line for line in done.stderr.splitlines() if line.strip()),
            f"exit code {done.returncode}",
        )
        return Outcome(f"failed: {reason}")
    found = {key: np.array(float(values[-1])) for key, values in said.items()}
    return Outcome("measured", (float(found.pop("seconds")),), found=found)


def _run(
    octave: str, words: str, folder: Path, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Octave with one thread and nothing of the user's."""
    return subprocess.run(
        [octave, "--no-gui", "--no-init-file", "--no-history", "--eval", words],
        cwd=folder,
        env=environment(1),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


def _text(path: Path) -> str:
    """A script, in whatever encoding its comments are."""
    return path.read_text(encoding="latin-1")
