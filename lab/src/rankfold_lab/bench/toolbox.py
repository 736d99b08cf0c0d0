"""The published RASL toolbox under Octave, where there is a copy: its own scripts and clock.

It was written for MATLAB. ``octave/`` has what Octave lacks or means otherwise; the toolbox itself
is left as it is, but for its drawings, which would be most of the time.
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
# Octave's own is called by its packages, with more arguments than the toolbox's takes.
BUILT_IN = ("vec.m",)
# What a script draws, and what stands there instead.
DRAWINGS = (
    (r"(raslpara\.DISPLAY\s*=)\s*\d+", r"\1 0"),
    (r"(?m)^\s*rasl_plot\b.*$", ""),
)
# What the toolbox prints at the end; the objective after every outer iteration.
SAID = {
    "seconds": r"timeConsumed\s*=\s*(\S+)",
    "outer": r"number of outer loop:\s*(\S+)",
    "objective": r"current objective function:\s*(\S+)",
}


@dataclass(frozen=True)
class Toolbox:
    """A copy of it, and what runs it.

    Attributes
    ----------
    folder : path
    octave : str
        The program.
    version : str
        Of Octave and, because most of the time is spent there, of its BLAS.
    """

    folder: Path
    octave: str
    version: str

    @classmethod
    def at(cls, folder: Path) -> Toolbox:
        """The toolbox in a folder, which is only read."""
        octave = shutil.which("octave-cli") or shutil.which("octave")
        if octave is None:
            raise InputError(
                "there is no octave on the PATH; install it with its image package, "
                "or leave out --octave-rasl"
            )
        said = _run(octave, "disp(version()), disp(version('-blas'))", folder).stdout
        number, _, blas = said.strip().partition("\n")
        known = re.search(r"OpenBLAS [\d.]+", blas)
        return cls(folder, octave, f"{number} with {known[0] if known else blas}")

    def run(self, pictures: Path, calm: float = np.inf) -> Outcome:
        """Run its own script for ``pictures``, one thread; again if the machine was not calm.

        The seconds are those of its own clock: the main loop, without reading and smoothing the
        pictures.
        """
        quoted = f"'{pictures.name}'"
        scripts = [path for path in sorted(self.folder.glob("*.m")) if quoted in _text(path)]
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
    """Copy the toolbox to where it can run: with our functions, the pictures, no drawings."""
    leave = shutil.ignore_patterns(*BUILT_IN, "data", "results")
    # Without the modes of the files, which may be only to be read. That of the folder comes along.
    copy = partial(shutil.copytree, copy_function=shutil.copyfile)
    copy(toolbox, folder, ignore=leave, dirs_exist_ok=True)
    folder.chmod(0o700)
    copy(pictures, folder / "data" / pictures.name)
    (folder / "results").mkdir()
    # The folder that Octave runs in comes before all others.
    for shim in OURS.iterdir():
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
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = lines[0] if lines else f"exit code {done.returncode}"
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
